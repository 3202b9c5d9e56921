// SPDX-License-Identifier: Apache-2.0
#include "ssh/security.hpp"

#include <algorithm>
#include <array>

namespace nb::ssh {
namespace {

struct Named {
  Security security;
  std::string_view name;
};

constexpr auto k_names = std::to_array<Named>(
    {{Security::encrypted, "encrypted"}, {Security::integrity, "integrity"}, {Security::off, "off"}});

bool is_no_mac(std::string_view mac) { return mac.empty() || mac == k_none; }

// Nothing tells a changed packet from the one that was sent.
bool is_forgeable(std::string_view cipher, std::string_view mac) {
  return !authenticates_itself(cipher) && is_no_mac(mac);
}

std::string both_ways(const std::string& out, const std::string& in) { return out == in ? out : out + "/" + in; }

std::string obstacle(const SwitchRequest& request, const AlgorithmNames& known) {
  if (request.trust != HostKeyTrust::verified) return "nobody has verified the host's key yet";
  if (!has(known.ciphers, k_none)) return "this program's libssh has no cipher none";
  if (request.security == Security::off && !has(known.macs, k_none)) return "this program's libssh has no MAC none";
  if (only_known(request.macs, known.macs).empty()) return "this program's libssh has none of the MACs that are named";
  return {};
}

struct Direction {
  std::string_view name;
  std::string_view cipher;
  std::string_view mac;
};

Status check_direction(const Direction& direction, Security allowed) {
  const bool readable = direction.cipher == k_none;
  const bool forgeable = is_forgeable(direction.cipher, direction.mac);
  const bool permitted =
      readable ? allowed != Security::encrypted && (!forgeable || allowed == Security::off) : !forgeable;
  if (permitted) return {};
  const auto shown = [](std::string_view name) { return name.empty() ? std::string("unknown") : std::string(name); };
  return fail(Errc::insecure, "--ssh-security=" + std::string(security_name(allowed)) + " does not allow the cipher " +
                                  shown(direction.cipher) + " and the MAC " + shown(direction.mac) + " for what is " +
                                  std::string(direction.name));
}

}  // namespace

std::string_view security_name(Security security) {
  const auto* found =
      std::find_if(k_names.begin(), k_names.end(), [&](const Named& n) { return n.security == security; });
  return found == k_names.end() ? "unknown" : found->name;
}

std::optional<Security> security_from_name(std::string_view name) {
  const auto* found = std::find_if(k_names.begin(), k_names.end(), [&](const Named& n) { return n.name == name; });
  return found == k_names.end() ? std::nullopt : std::optional(found->security);
}

std::string describe(const Negotiated& negotiated) {
  std::string text =
      negotiated.kex + ", " + negotiated.host_key_type + ", " + both_ways(negotiated.cipher_out, negotiated.cipher_in);
  const std::string macs = both_ways(negotiated.mac_out, negotiated.mac_in);
  return macs.empty() ? text : text + ", " + macs;
}

SwitchPlan plan_switch(const SwitchRequest& request, const AlgorithmNames& known) {
  SwitchPlan plan;
  if (request.security == Security::encrypted) return plan;
  plan.obstacle = obstacle(request, known);
  if (!plan.obstacle.empty()) return plan;
  std::vector<std::string> macs = only_known(request.macs, known.macs);
  for (const std::string& used : {request.before.mac_out, request.before.mac_in}) {
    if (!is_no_mac(used) && !has(macs, used)) macs.push_back(used);
  }
  const std::string none(k_none);
  const std::string real_macs = *as_list(macs);
  plan.lists = SwitchLists{none + "," + request.before.cipher_in, none + "," + request.before.cipher_out,
                           request.security == Security::off ? none + "," + real_macs : real_macs};
  return plan;
}

Status check_allowed(const Negotiated& negotiated, Security allowed) {
  NB_TRY(check_direction({"sent", negotiated.cipher_out, negotiated.mac_out}, allowed));
  return check_direction({"received", negotiated.cipher_in, negotiated.mac_in}, allowed);
}

Security security_of(const Negotiated& negotiated) {
  if (is_forgeable(negotiated.cipher_out, negotiated.mac_out)) return Security::off;
  if (is_forgeable(negotiated.cipher_in, negotiated.mac_in)) return Security::off;
  const bool readable = negotiated.cipher_out == k_none || negotiated.cipher_in == k_none;
  return readable ? Security::integrity : Security::encrypted;
}

std::string shortfall(const Negotiated& negotiated, Security asked) {
  if (asked == Security::encrypted) return {};
  const bool sends_plain = negotiated.cipher_out == k_none;
  if (sends_plain != (negotiated.cipher_in == k_none)) {
    return std::string("the server has cipher none one way only: what is ") +
           (sends_plain ? "sent is readable, what is received" : "received is readable, what is sent") +
           " stays encrypted";
  }
  if (!sends_plain) return "the server offers no cipher none; the connection stays encrypted";
  const bool all_off = is_no_mac(negotiated.mac_in) && is_no_mac(negotiated.mac_out);
  return asked == Security::off && !all_off
             ? "the server offers no MAC none; the connection keeps " + negotiated.mac_out
             : "";
}

}  // namespace nb::ssh
