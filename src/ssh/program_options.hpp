// SPDX-License-Identifier: Apache-2.0
// What nbackup asks of an ssh program, as words of its command line: the algorithms and the policy that libssh is given
// by calls (algorithms.hpp, security.hpp). Pure; transport/ssh_select asks the program what it knows and starts it.
#pragma once

#include <string>
#include <vector>

#include "ssh/algorithms.hpp"
#include "ssh/carrier_choice.hpp"
#include "ssh/security.hpp"

namespace nb::ssh {

// Whether this command line runs an ssh, by the name of its program: only such a one is given options of ours.
bool is_ssh_program(const std::vector<std::string>& words);

// Which word of such a command line is a host ("ssh gateway ssh"): what is added to it goes elsewhere. The number of
// words where none is.
std::size_t host_word(const std::vector<std::string>& words);
bool names_host(const std::vector<std::string>& words);

struct ProgramRequest {
  Security security = Security::encrypted;
  AlgorithmLists demanded;
  EffectiveConfig effective;  // what `ssh -G` says for the host
  bool leads_on = false;      // the program's words name a host, and what they start there is none of ours to ask
};

struct ProgramOptions {
  std::vector<std::string> words;  // "-oCiphers=...", ...; to be the first of the program's: it takes the first value
  std::string obstacle;            // why the connection stays encrypted against what was asked for; else empty
  Security granted = Security::encrypted;  // what the words ask for
};

// PostAuthNone is the option of our own build of OpenSSH (nssh/); a program that has it says so in `ssh -G`, any other
// would refuse it. It is always set, so that no configuration gives up more than nbackup was told to. What would make
// the program stay encrypted against that, sharing and forwarding, is turned off. Such a program is trusted
// to check what it negotiates. It is asked only where it also refuses a host key that nobody has verified
// (StrictHostKeyChecking yes or ask).
ProgramOptions program_options(const ProgramRequest& request);

// "-oCiphers=^aes128-gcm@openssh.com" where both ends have AES instructions, the fastest where it was measured, else
// nothing: the program's own order begins with chacha20-poly1305. Only for a configuration that names no ciphers.
std::vector<std::string> program_preferences(const CpuPair& cpus, const AlgorithmLists& measured);

}  // namespace nb::ssh
