// SPDX-License-Identifier: Apache-2.0
// Arrivals: the stage log of each committed transaction, kept as .nbackup/arrivals/<generation> until a scrub has read
// it. It says of every file that came with that generation what its content is, which a push has computed anyway; so a
// scrub knows, and a push pays with a rename.
//
// Hints: nothing here is made durable, and the oldest go when there are too many. What is not known is read by the
// next scrub and believed from then on.
#pragma once

#include <functional>
#include <vector>

#include "fs/directory.hpp"
#include "txn/records.hpp"

namespace nb::txn {

inline constexpr std::string_view k_arrivals_name = "arrivals";
// More than that is not kept for long: it is looked for after a large list, and every so many generations.
inline constexpr std::size_t k_most_arrival_lists = 4096;
inline constexpr std::uint64_t k_most_arrival_bytes = std::uint64_t{256} << 20;

// Of the transaction that has made `generation`, and whose stage this is. A log without records is left where it is.
Status keep_arrivals(fs::Directory& control, fs::Directory& stage, std::uint64_t generation);

// The generations of which there is a list, rising.
Result<std::vector<std::uint64_t>> arrival_lists(const fs::Directory& control);
// Every file of the list, in the order in which they came; of several about one path the last holds. A torn end is
// passed over. An error of `visit` ends it.
Status for_each_arrival(const fs::Directory& control, std::uint64_t generation,
                        const std::function<Status(const StagedRecord&)>& visit);
Status drop_arrivals(fs::Directory& control, std::uint64_t generation);

}  // namespace nb::txn
