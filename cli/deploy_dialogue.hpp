// SPDX-License-Identifier: Apache-2.0
// The client's half of the conversation in cli/deploy_script.hpp, over any carrier. One thread; the calls come in this
// order. After an error nothing more is said: the other side ends when the stream does, with the old program in place.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "transport/byte_stream.hpp"

namespace nb::cli {

// What a program that has been sent does there, before it takes its name.
struct ProgramTrial {
  bool runs = false;
  std::string version;                         // the first line of its --version
  std::string protocol;                        // the second
  std::vector<std::string> missing_libraries;  // where it does not run; may be empty
};

class DeployDialogue {
 public:
  // `stream` outlives the dialogue; `inactivity` is how long an answer may take, `first` how long the first one: until
  // the login is done, for which an ssh program may ask its user for a password.
  DeployDialogue(transport::ByteStream& stream, std::chrono::milliseconds inactivity, std::chrono::milliseconds first)
      : m_stream(stream), m_inactivity(inactivity), m_first(first) {}

  // The lines that parse_host_facts() reads. Errc::unsupported where no shell answers.
  Result<std::vector<std::string>> facts();
  // Whether something else was printed before: nbackup's own protocol would break over it.
  [[nodiscard]] bool login_prints() const { return m_login_prints; }

  Status begin_receiving();
  Result<ProgramTrial> send_program(ByteView program, const std::string& sum);
  // It takes its name. Returns which nbackup a command over ssh finds now; empty: none.
  Result<std::string> keep_program();
  Status send_package(ByteView package, const std::string& sum);

  // Nothing more will come. Waits for the other side's end.
  void end();

 private:
  Result<std::string> read_line(std::chrono::milliseconds inactivity);
  Result<std::string> read_answer();
  Status await_greeting();
  Status send_content(const std::string& verb, ByteView content, const std::string& sum);
  Error no_shell();

  transport::ByteStream& m_stream;
  std::chrono::milliseconds m_inactivity;
  std::chrono::milliseconds m_first;
  std::string m_unread;  // received, not yet returned
  bool m_login_prints = false;
};

}  // namespace nb::cli
