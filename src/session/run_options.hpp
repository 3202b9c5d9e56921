// SPDX-License-Identifier: Apache-2.0
// From the options of a run to those of its two ends; the one place where flags are translated.
#pragma once

#include "session/sink.hpp"
#include "session/source.hpp"
#include "session/source_setup.hpp"

namespace nb::session {

SinkMode mode_of(std::uint64_t flags);

Result<filter::Rules> rules_of(const std::vector<std::string>& encoded);

// What a listing depends on beside the tree; both outlive the run.
struct ListingKey {
  const filter::Rules& rules;
  const hash::Secret& secret;
};
SourceOptions source_options(const SourceSetup& setup, std::uint64_t flags, const Limits& limits,
                             const wire::Hello& peer, const ListingKey& key);

}  // namespace nb::session
