// SPDX-License-Identifier: Apache-2.0
#include "ssh/program_options.hpp"

#include <array>

namespace nb::ssh {
namespace {

constexpr std::string_view k_post_auth_none = "postauthnone";

// A connection that carries, or may carry, anything else stays encrypted; one that is shared is as its owner made it.
constexpr auto k_nothing_beside = std::to_array<const char*>(
    {"-oControlMaster=no", "-oControlPath=none", "-oForwardAgent=no", "-oForwardX11=no", "-oClearAllForwardings=yes"});

// ssh(1): the options that take a value, in the same word or in the next.
constexpr std::string_view k_valued_letters = "BDEFIJLOPQRSWbceilmopw";

bool has_post_auth_none(const EffectiveConfig& effective) {
  return effective.find(k_post_auth_none) != effective.end();
}

const char* post_auth_none(Security security) {
  if (security == Security::encrypted) return "no";
  return security == Security::off ? "cipher-and-mac" : "cipher";
}

std::string obstacle(const ProgramRequest& request) {
  const EffectiveConfig& effective = request.effective;
  if (request.leads_on) return "-e leads over another host";
  if (!has_post_auth_none(effective)) {
    return "this ssh program has no option PostAuthNone (that of nssh has: -e /opt/nssh/bin/ssh)";
  }
  const std::string checking = first_value(effective, "stricthostkeychecking");
  // As `ssh -G` prints yes and ask.
  if (checking != "true" && checking != "ask") return "StrictHostKeyChecking lets unknown host keys pass";
  return {};
}

}  // namespace

bool is_ssh_program(const std::vector<std::string>& words) {
  return !words.empty() && (words.front() == "ssh" || words.front().ends_with("/ssh"));
}

std::size_t host_word(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") return i + 1;
    if (word.size() < 2 || word.front() != '-') return i;
    const std::size_t valued = word.find_first_of(k_valued_letters, 1);
    if (valued == word.size() - 1) ++i;
  }
  return words.size();
}

bool names_host(const std::vector<std::string>& words) { return host_word(words) < words.size(); }

ProgramOptions program_options(const ProgramRequest& request) {
  ProgramOptions options;
  const auto add = [&](const char* option, const std::optional<std::string>& value) {
    if (value) options.words.push_back(option + *value);
  };
  add("-oCiphers=", request.demanded.ciphers);
  add("-oMACs=", request.demanded.macs);
  add("-oKexAlgorithms=", request.demanded.kex);
  add("-oHostKeyAlgorithms=", request.demanded.host_keys);
  if (request.security != Security::encrypted) options.obstacle = obstacle(request);
  if (options.obstacle.empty()) options.granted = request.security;
  if (has_post_auth_none(request.effective)) add("-oPostAuthNone=", post_auth_none(options.granted));
  if (options.granted == Security::encrypted) return options;
  options.words.insert(options.words.end(), k_nothing_beside.begin(), k_nothing_beside.end());
  return options;
}

std::vector<std::string> program_preferences(const CpuPair& cpus, const AlgorithmLists& measured) {
  if (!measured.ciphers && !both_have_aes(cpus)) return {};
  return {"-oCiphers=^" + preferred_algorithms(cpus, measured).ciphers.front()};
}

}  // namespace nb::ssh
