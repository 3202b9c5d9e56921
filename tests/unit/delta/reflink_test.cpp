// SPDX-License-Identifier: Apache-2.0
// The same edits on file systems that share blocks, mounted from images. Skipped, with the reason, where that cannot be
// done: only root mounts, and the programs that make these file systems may be missing.
#include "support/mounted.hpp"
#include "unit/delta/rig.hpp"

using namespace nb;
using namespace nb::delta;
using namespace nb::delta::test;

TEST_CASE("deltas on file systems that share blocks", "[delta][mount]") {
  for (const char* make : {"mkfs.xfs -m reflink=1", "mkfs.btrfs"}) {
    INFO(make);
    const nb::test::Mounted mounted(make);
    if (!mounted.ok()) continue;
    const auto root = good(fs::open_user_directory(mounted.path()));
    const Bytes basis = joined({random_bytes(8 * k_mib, 1), Bytes(2 * k_mib), random_bytes(6 * k_mib + 123, 2)});
    const ByteView all = basis;
    Bytes edited = basis;
    edited[k_mib] ^= std::byte{1};
    const std::vector<Bytes> contents = {basis,
                                         edited,
                                         joined({all, all.first(300'000)}),
                                         joined({random_bytes(1000, 3), all}),
                                         joined({all.subspan(8192), all.first(8192)}),
                                         joined({all.first(k_mib), Bytes(k_mib), all.subspan(k_mib)}),
                                         Bytes(all.begin(), all.begin() + 5 * k_mib + 1)};
    for (const Bytes& content : contents) check_delta(*root, basis, content, Zeros::left_out);

    // Shared, not copied: what is free hardly changes.
    const auto file = store(*root, "basis", basis, Zeros::left_out);
    const auto changed = store(*root, "new", edited, Zeros::left_out);
    const auto output = good(root->create_file("out"));
    good(root->sync_file_system());
    const std::uint64_t before = good(root->space()).free_bytes;
    HeldSignature signature = HeldSignature::of(*file);
    const Outcome outcome = good(run_delta(*changed, *file, signature, *output));
    CHECK(outcome.source == outcome.sink);
    CHECK(outcome.totals.literal_bytes == k_page_bytes);
    good(root->sync_file_system());
    CHECK(before - good(root->space()).free_bytes < 4 * k_mib);
  }
}
