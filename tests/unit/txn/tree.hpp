// SPDX-License-Identifier: Apache-2.0
// Trees as values, for the transaction tests: written down, read back from a Directory by a walk of its own, and a
// small sink that plans and stages the change from what is live to what is wanted. None of it uses code of src/txn
// beyond the interface under test.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "txn/transaction.hpp"

namespace nb::txn::test {

struct Entry {
  fs::FileType type = fs::FileType::regular;
  std::uint32_t mode = 0644;
  std::int64_t mtime = 1000;
  std::string content;  // of a file; the target of a symlink
  std::string xattr;    // value of user.t; none if empty
  friend bool operator==(const Entry&, const Entry&) = default;
};
using Tree = std::map<std::string, Entry>;  // by path; "" is the root

Entry file(std::string content, std::uint32_t mode = 0644, std::int64_t mtime = 1000);
Entry dir(std::uint32_t mode = 0755, std::int64_t mtime = 2000);
Entry symlink(std::string target, std::int64_t mtime = 3000);

// The whole tree below `root` without the control directory. Modes of directories are opened up where they must be.
Tree read_tree(fs::Directory& root);
std::string show(const Tree& tree);

// Directories whose metadata the small sink leaves alone: they have no end operation.
using Untouched = std::set<std::string>;
// read_tree, with the mtime of these directories taken from `like`: renames in them set it to now.
Tree read_tree(fs::Directory& root, const Tree& like, const Untouched& untouched);

// Plans and stages in `transaction` what turns the live tree into `wanted`.
Status plan(Transaction& transaction, FileSet& set, const Tree& wanted, const Untouched& untouched);

TxId tx_id(std::uint8_t number);
LockNote note_for(const TxId& id);
hash::Secret test_secret();

// A clock that moves only by pause(), so that waiting costs no time.
class StepClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return WallTime(std::chrono::seconds(1'700'000'000)); }
  [[nodiscard]] SteadyTime steady() const override { return m_now; }
  void pause(std::chrono::milliseconds duration) override;
  std::function<void()> on_pause;

 private:
  SteadyTime m_now{};
};

// Opens the set at `root`, makes it `wanted` in one transaction, and cleans up.
Result<CommitOutcome> run(std::unique_ptr<fs::Directory> root, const Tree& wanted, const Untouched& untouched,
                          const TxId& id, const CommitOptions& options = {});
// The same without cleaning up, with which a set ends that goes with its run.
Result<CommitOutcome> commit(std::unique_ptr<fs::Directory> root, const Tree& wanted, const Untouched& untouched,
                             const TxId& id);
// A recovered set: its generation.
Result<std::uint64_t> recover_at(std::unique_ptr<fs::Directory> root);

// What an idle set's control directory may hold.
bool is_clean(fs::Directory& root, std::string& what);

// One old and one new tree that need every kind of operation.
Tree rich_old();
Tree rich_new();
Untouched rich_untouched();

std::unique_ptr<fs::Directory> make_set(std::unique_ptr<fs::Directory> root, const Tree& tree,
                                        const Untouched& untouched, Lifetime lifetime = Lifetime::permanent);

}  // namespace nb::txn::test
