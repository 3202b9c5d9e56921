// SPDX-License-Identifier: Apache-2.0
// From the options of a run to those of its two ends; the one place where flags are translated.
#pragma once

#include "session/sink.hpp"
#include "session/source.hpp"
#include "session/source_setup.hpp"

namespace nb::session {

SinkMode mode_of(std::uint64_t flags);

// From their encoded form (session::Options::filter_rules, wire::Open); an error is that of the rule it stands in.
Result<filter::Rules> rules_of(const std::vector<std::string>& encoded);

// What a listing depends on beside the tree; both outlive the run.
struct ListingKey {
  const filter::Rules& rules;
  const hash::Secret& secret;
};
// `flags` are wire::OpenFlag bits, `limits` ours, `peer` what the other side said in its hello.
SourceOptions source_options(const SourceSetup& setup, std::uint64_t flags, const Limits& limits,
                             const wire::Hello& peer, const ListingKey& key);
// Direction, deletion limit and waiting time are the caller's to set.
SinkOptions sink_options(std::uint64_t flags, const wire::Hello& peer, const ListingKey& key);

}  // namespace nb::session
