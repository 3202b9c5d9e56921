// SPDX-License-Identifier: Apache-2.0
#include "session/command.hpp"

#include <algorithm>

#include "session/handshake.hpp"

namespace nb::session {
namespace {

constexpr std::size_t k_piece_bytes = std::size_t{64} << 10;

// Output as messages. What waits for a full piece goes out before anything else is said.
class SentOutput final : public CommandOutput {
 public:
  explicit SentOutput(Connection& connection) : m_connection(connection) { m_piece.reserve(k_piece_bytes); }

  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), k_piece_bytes - m_piece.size());
      m_piece += bytes.substr(0, count);
      bytes.remove_prefix(count);
      if (m_piece.size() == k_piece_bytes) NB_TRY(send_piece());
    }
    return {};
  }
  Status problem(const Error& error) override {
    NB_TRY(send_piece());
    return m_connection.send(wire::Problem{error.code, static_cast<std::uint64_t>(error.sys_errno), error.context});
  }
  Status notice(const std::string& text) override {
    NB_TRY(send_piece());
    NB_TRY(m_connection.send(wire::Notice{text}));
    // It may say what is waited for.
    return m_connection.flush();
  }
  Status send_piece() {
    if (m_piece.empty()) return {};
    const Status sent = m_connection.send(wire::Text{as_bytes(m_piece)});
    m_piece.clear();
    return sent;
  }

 private:
  Connection& m_connection;
  std::string m_piece;
};

// The other side's messages until CommandEnd.
Result<int> pass_on(Connection& connection, CommandOutput& output) {
  using enum wire::MessageType;
  while (true) {
    NB_TRY_ASSIGN(const auto raw, receive_one_of(connection, {text, problem, notice, command_end}));
    if (raw.type == text) {
      NB_TRY_ASSIGN(const auto message, wire::decode_message<wire::Text>(raw.body));
      NB_TRY(output.write(as_text(message.bytes)));
    } else if (raw.type == problem) {
      NB_TRY_ASSIGN(const auto message, wire::decode_message<wire::Problem>(raw.body));
      NB_TRY(output.problem({message.code, static_cast<int>(message.sys_errno), message.context}));
    } else if (raw.type == notice) {
      NB_TRY_ASSIGN(const auto message, wire::decode_message<wire::Notice>(raw.body));
      NB_TRY(output.notice(message.text));
    } else {
      NB_TRY_ASSIGN(const auto message, wire::decode_message<wire::CommandEnd>(raw.body));
      return message.exit_code;
    }
  }
}

Result<int> converse(Connection& connection, const wire::Command& command, const CommandOptions& options,
                     CommandOutput& output) {
  NB_TRY_ASSIGN(const wire::Hello peer, exchange_hello(connection, {}, Side::client));
  if (options.on_hello) options.on_hello(peer);
  if ((peer.features & wire::k_feature_commands) == 0) {
    return fail(Errc::protocol_version, peer.software + " there cannot do this yet");
  }
  NB_TRY(connection.send(command));
  NB_TRY(connection.flush());
  return pass_on(connection, output);
}

}  // namespace

Status answer_command(Connection& connection, const wire::Command& command, const CommandHandler& handler,
                      const std::function<void()>& on_client_gone) {
  if (!handler) return fail(Errc::unsupported, "commands are not answered here");
  SentOutput output(connection);
  Result<int> exit_code = [&] {
    const PeerWatch watch(connection, on_client_gone);
    return handler(command, output);
  }();
  // What was written before an error is part of the answer.
  NB_TRY(output.send_piece());
  NB_TRY(exit_code);
  NB_TRY(connection.send(wire::CommandEnd{static_cast<std::uint8_t>(*exit_code)}));
  return connection.flush();
}

Result<int> run_command(const wire::Command& command, const Connector& connect, const CommandOptions& options,
                        CommandOutput& output) {
  NB_TRY(wire::check_command(command));
  NB_TRY_ASSIGN(const auto stream, connect());
  Connection connection(*stream, {std::chrono::duration_cast<std::chrono::milliseconds>(options.inactivity)});
  Result<int> exit_code = converse(connection, command, options, output);
  if (exit_code) say_goodbye(connection);
  // Where the command failed there the other side has nothing more to hear, and otherwise it sees us hang up.
  return exit_code;
}

}  // namespace nb::session
