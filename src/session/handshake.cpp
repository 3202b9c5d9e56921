// SPDX-License-Identifier: Apache-2.0
#include "session/handshake.hpp"

#include <algorithm>

#include "base/cpu.hpp"
#include "base/version.hpp"

namespace nb::session {
namespace {

// How long the other side may take to wind up after its last message.
constexpr std::chrono::seconds k_wind_up{60};

// How often something is sent, at least: in time for the other side's patience, also where one is late or two are lost
// in a queue.
std::chrono::milliseconds keep_alive_interval(const wire::Hello& peer) {
  constexpr std::uint64_t k_usual_ms = 10'000;
  constexpr std::uint64_t k_least_ms = 100;
  if (peer.inactivity_ms == 0) return std::chrono::milliseconds(k_usual_ms);
  return std::chrono::milliseconds(std::clamp(peer.inactivity_ms / 3, k_least_ms, k_usual_ms));
}

wire::Hello our_hello(const Connection& connection, const Limits& limits, Side side) {
  wire::Hello hello;
  hello.software = std::string("nbackup ") + k_version;
  hello.features = wire::k_feature_zstd;
  if (side == Side::server) hello.features |= wire::k_feature_commands;
  if (codec::affordable_windows() == codec::Windows::large) hello.features |= wire::k_feature_large_windows;
  hello.cpu_flags = cpu_flags();
  hello.listing_credit_bytes = limits.listing_credit_bytes;
  hello.want_credit = limits.want_credit;
  hello.inline_limit_bytes = limits.inline_limit_bytes;
  hello.inactivity_ms = static_cast<std::uint64_t>(connection.inactivity().count());
  return hello;
}

}  // namespace

void compress(Connection& connection, const wire::Hello& peer, const codec::Compression& wish) {
  if ((peer.features & wire::k_feature_zstd) == 0) return;
  const bool accepts_large = (peer.features & wire::k_feature_large_windows) != 0;
  connection.compress(wish, accepts_large ? codec::affordable_windows() : codec::Windows::ordinary);
}

void say_goodbye(Connection& connection) {
  connection.close_after(k_wind_up);
  if (!connection.send(wire::Goodbye{}) || !connection.flush()) return;
  connection.finish_sending();
  for (auto message = connection.receive(); message && *message;) message = connection.receive();
}

Result<wire::RawMessage> receive_one_of(Connection& connection, std::initializer_list<wire::MessageType> types) {
  NB_TRY_ASSIGN(const auto message, connection.receive());
  if (!message) return fail(Errc::connection_lost, "the other side ended the connection");
  if (message->type == wire::MessageType::error) {
    NB_TRY_ASSIGN(const auto error, wire::decode_message<wire::ErrorMessage>(message->body));
    return tl::make_unexpected(from_message(error));
  }
  if (std::find(types.begin(), types.end(), message->type) == types.end()) {
    return fail(Errc::protocol, "message of an unexpected type");
  }
  return *message;
}

Result<wire::Hello> exchange_hello(Connection& connection, const Limits& limits, Side side) {
  const auto say = [&]() -> Status {
    NB_TRY(connection.send(our_hello(connection, limits, side)));
    return connection.flush();
  };
  if (side == Side::client) NB_TRY(say());
  NB_TRY_ASSIGN(wire::Hello peer, receive<wire::Hello>(connection));
  if (side == Side::server) NB_TRY(say());
  if (std::max(peer.version_min, wire::k_version_min) > std::min(peer.version_max, wire::k_version_max)) {
    return fail(Errc::protocol_version, peer.software + " speaks versions " + std::to_string(peer.version_min) +
                                            " to " + std::to_string(peer.version_max) + "; update the older side");
  }
  connection.start_keep_alive(keep_alive_interval(peer));
  return peer;
}

}  // namespace nb::session
