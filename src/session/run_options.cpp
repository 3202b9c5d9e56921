// SPDX-License-Identifier: Apache-2.0
#include "session/run_options.hpp"

#include <algorithm>

namespace nb::session {

SinkMode mode_of(std::uint64_t flags) {
  if ((flags & wire::k_flag_verify) != 0) return SinkMode::verify;
  return (flags & wire::k_flag_dry_run) != 0 ? SinkMode::dry_run : SinkMode::commit;
}

Result<filter::Rules> rules_of(const std::vector<std::string>& encoded) {
  filter::Rules rules;
  for (const std::string& rule : encoded) NB_TRY(rules.add_filter(rule));
  return rules;
}

SourceOptions source_options(const SourceSetup& setup, std::uint64_t flags, const Limits& limits,
                             const wire::Hello& peer, const ListingKey& key) {
  SourceOptions options;
  const bool contents = (flags & (wire::k_flag_verify | wire::k_flag_checksum)) != 0;
  options.lister = {
      setup.view, contents ? scan::Compare::content : scan::Compare::stat, &key.rules, &key.secret, nullptr, nullptr};
  options.limits = limits;
  options.damage = &setup.held.damage;
  options.one_file_system = (flags & wire::k_flag_one_file_system) != 0;
  // Each side may be given less than it would like; never nothing, or it could not go on at all.
  options.limits.listing_credit_bytes =
      std::max<std::uint64_t>(1, std::min(peer.listing_credit_bytes, limits.listing_credit_bytes));
  return options;
}

// Each is held in memory until its file has come, whatever the source allows.
static constexpr std::uint64_t k_most_wants = 65'536;

SinkOptions sink_options(std::uint64_t flags, const wire::Hello& peer, const ListingKey& key) {
  SinkOptions options;
  options.mode = mode_of(flags);
  options.flags = flags;
  options.rules = &key.rules;
  options.secret = &key.secret;
  options.want_credit = std::clamp<std::uint64_t>(peer.want_credit, 1, k_most_wants);
  options.inline_limit_bytes = peer.inline_limit_bytes;
  return options;
}

}  // namespace nb::session
