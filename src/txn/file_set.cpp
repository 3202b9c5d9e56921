// SPDX-License-Identifier: Apache-2.0
#include "txn/file_set.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/failpoint.hpp"
#include "base/random.hpp"
#include "fs/metadata.hpp"
#include "fs/path_root.hpp"
#include "txn/arrivals.hpp"
#include "txn/conflicts.hpp"
#include "txn/damage.hpp"
#include "txn/history.hpp"
#include "txn/journal.hpp"
#include "txn/live_tree.hpp"
#include "txn/orphans.hpp"
#include "txn/scrub_record.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"
#include "txn/spare.hpp"
#include "txn/stage.hpp"
#include "txn/thin.hpp"

namespace nb::txn {
namespace {

// Everything that a control directory may hold: a temporary one with anything else in it is not ours to remove.
constexpr std::array k_known_names{
    k_arrivals_name, k_beside_name,  k_conflict_name, k_damage_name,  k_format_name,       k_head_name,
    k_history_name,  k_journal_name, k_lock_name,     k_orphans_name, k_past_name,         k_policy_name,
    k_scrub_name,    k_secret_name,  k_spare_name,    k_stages_name,  k_journal_undo_name,
};
// And what SQLite and its users keep beside them.
constexpr std::array k_known_databases{std::string_view("manifest.db"), std::string_view("contents.db"),
                                       std::string_view("kept.db")};

// Of one that is being written, and of one that was mended.
std::string_view without_suffix(std::string_view name) {
  for (const std::string_view suffix : {std::string_view(".new"), std::string_view(".damaged")}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

bool is_known(std::string_view name) {
  const auto begins = [name](std::string_view database) { return name.starts_with(database); };
  return std::any_of(k_known_databases.begin(), k_known_databases.end(), begins) ||
         std::find(k_known_names.begin(), k_known_names.end(), without_suffix(name)) != k_known_names.end();
}

// A record without which nothing goes. The error says which, and what may help.
template <class Decode>
auto needed(const fs::Directory& control, std::string_view name, Decode decode) -> decltype(decode(ByteView())) {
  const Result<Bytes> data = read_small_file(control, name);
  const bool is_missing = !data && data.error().code == Errc::not_found;
  if (!data && !is_missing) return tl::make_unexpected(data.error());
  auto record = is_missing ? decltype(decode(ByteView()))(fail(Errc::bad_set, "missing")) : decode(*data);
  if (record || record.error().code != Errc::bad_set) return record;
  const auto place =
      control.kernel_path() ? fs::real_path_of(control) : Result<std::string>(std::string(k_control_name));
  return wrap(record.error(), place.value_or(std::string(k_control_name)) + "/" + std::string(name));
}

struct Records {
  SetFormat format;
  hash::Secret secret;
  Head head;
};

Result<Records> read_records(const fs::Directory& control) {
  NB_TRY_ASSIGN(const SetFormat format, needed(control, k_format_name, decode_format));
  NB_TRY_ASSIGN(const hash::Secret secret, needed(control, k_secret_name, decode_secret));
  NB_TRY_ASSIGN(Head head, needed(control, k_head_name, decode_head));
  return Records{format, secret, std::move(head)};
}

tl::unexpected<Error> gone() { return fail(Errc::locked, "the file set was removed meanwhile", ESTALE); }

// Whether the root has `held` under `name`.
Result<bool> holds(const fs::Directory& root, std::string_view name, const fs::Directory& held) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(root, name));
  NB_TRY_ASSIGN(const fs::Stat stat, held.stat());
  return there && same_inode(*there, stat);
}

Status check_same(const fs::Directory& root, const fs::Directory& control) {
  NB_TRY_ASSIGN(const bool is_there, holds(root, k_control_name, control));
  if (is_there) return {};
  return gone();
}

tl::unexpected<Error> being_made() { return fail(Errc::locked, "another process is making a file set here"); }

// What two who make a set at one place do to each other: the directory of one is taken away by the other, who takes its
// lock first.
bool is_of_a_maker(Errc code) { return code == Errc::not_found || code == Errc::exists; }

// Somebody who is making a set at this moment holds the writer's lock in it, or finds it taken by this one, which ends
// with what is returned.
Result<std::unique_ptr<fs::File>> lock_unused(const fs::Directory& root, fs::Directory& temporary) {
  auto lock = temporary.open_file(k_lock_name, fs::OpenMode::read_write);
  if (!lock && lock.error().code == Errc::not_found) lock = temporary.create_file(k_lock_name);
  if (!lock && is_of_a_maker(lock.error().code)) return being_made();
  NB_TRY(lock);
  NB_TRY_ASSIGN(const bool free, (*lock)->try_lock(fs::LockKind::exclusive, k_writer_byte));
  if (!free) return being_made();
  NB_TRY_ASSIGN(const bool is_there, holds(root, k_control_new_name, temporary));
  if (!is_there) return being_made();
  return lock;
}

// Removes `temporary`, which the root has under that name. All but the emptied directory goes through the handle, so that
// nothing of another one who makes a set there meanwhile is taken; `lock`, if it is this one who holds it, keeps others
// out until it goes. It is closed first: NFS and FUSE keep the name of a file that is open, and its directory with it.
Status remove_leftover(fs::Directory& root, fs::Directory& temporary, std::unique_ptr<fs::File> lock) {
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, temporary.list());
  for (const fs::NamedType& entry : entries) {
    if (entry.name == k_lock_name) continue;
    NB_TRY(entry.type == fs::FileType::directory ? fs::remove_tree(temporary, entry.name)
                                                 : remove_if_there(temporary, entry.name));
  }
  lock.reset();
  NB_TRY(remove_if_there(temporary, k_lock_name));
  const Status removed = root.remove_directory(k_control_new_name);
  if (removed || removed.error().code == Errc::not_found) return {};
  // Another one, to whom it is a leftover without a lock, has made one, and ends this.
  NB_TRY_ASSIGN(const std::optional<fs::Stat> taken, find_name(temporary, k_lock_name));
  return taken ? Status() : removed;
}

Status remove_temporary(fs::Directory& root) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(root, k_control_new_name));
  if (!there) return {};
  if (there->type != fs::FileType::directory) return fail(Errc::exists, std::string(k_control_new_name));
  const auto temporary = root.open_directory(k_control_new_name);
  if (!temporary && temporary.error().code == Errc::not_found) return being_made();
  NB_TRY(temporary);
  NB_TRY_ASSIGN(auto lock, lock_unused(root, **temporary));
  NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, (*temporary)->list());
  for (const fs::NamedType& entry : entries) {
    if (!is_known(entry.name)) return fail(Errc::exists, std::string(k_control_new_name) + " holds foreign files");
  }
  return remove_leftover(root, **temporary, std::move(lock));
}

Result<SetFormat> new_format(Lifetime lifetime) {
  SetFormat format;
  format.lifetime = lifetime;
  NB_TRY(random_bytes(format.uuid));
  return format;
}

// The root's time is the user's; coming and going of the control directory must not show in it.
class KeptMtime {
 public:
  static Result<KeptMtime> of(fs::Directory& directory) {
    NB_TRY_ASSIGN(const fs::Stat stat, directory.stat());
    return KeptMtime(directory, stat.mtime);
  }
  // Only the owner may set times; where that is someone else, the time moves on.
  void restore() { static_cast<void>(m_directory->set_mtime(m_mtime)); }

 private:
  KeptMtime(fs::Directory& directory, fs::Timestamp mtime) : m_directory(&directory), m_mtime(mtime) {}
  fs::Directory* m_directory;
  fs::Timestamp m_mtime;
};

// A default ACL of the root would be given to everything that is staged.
Status drop_default_acl(fs::Directory& control) {
  const Status removed = control.remove_xattr("system.posix_acl_default");
  const bool had_none =
      !removed && (removed.error().code == Errc::not_found || removed.error().code == Errc::unsupported);
  return had_none ? Status{} : removed;
}

// Others take what has no lock for a leftover.
Result<std::unique_ptr<fs::File>> lock_new(fs::Directory& control) {
  auto lock = control.create_file(k_lock_name);
  if (!lock && is_of_a_maker(lock.error().code)) return being_made();
  NB_TRY(lock);
  NB_TRY_ASSIGN(const bool locked, (*lock)->try_lock(fs::LockKind::exclusive, k_writer_byte));
  if (!locked) return being_made();
  return lock;
}

// Returns the lock on the new set.
Result<std::unique_ptr<fs::File>> fill(fs::Directory& control, const SetFormat& format, const hash::Secret& secret) {
  NB_TRY(drop_default_acl(control));
  NB_TRY_ASSIGN(std::unique_ptr<fs::File> lock, lock_new(control));
  NB_TRY(lock->sync());
  NB_TRY(write_new_file(control, k_format_name, encode(format)));
  NB_TRY(write_new_file(control, k_secret_name, encode(secret)));
  NB_TRY(write_new_file(control, k_head_name, encode(Head{})));
  if (format.lifetime == Lifetime::permanent) {
    NB_TRY(write_new_file(control, k_spare_name, encode(Spare{format.uuid, secret})));
  }
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> stages, control.create_directory(k_stages_name));
  NB_TRY(stages->sync());
  NB_TRY(control.sync());
  return lock;
}

Status make_whole(fs::Directory& root, fs::Directory& control, const SetFormat& format, const hash::Secret& secret) {
  NB_FAILPOINT("txn.create.made");
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> lock, fill(control, format, secret));
  NB_FAILPOINT("txn.create.filled");
  NB_TRY(root.rename(k_control_new_name, root, k_control_name, fs::RenameMode::no_replace));
  return failpoint("txn.create.renamed");
}

Result<std::unique_ptr<fs::Directory>> make_temporary(fs::Directory& root) {
  auto control = root.create_directory(k_control_new_name);
  if (!control && control.error().code == Errc::exists) return being_made();
  return control;
}

}  // namespace

FileSet::FileSet(std::unique_ptr<fs::Directory> root, std::unique_ptr<fs::Directory> control, SetFormat format,
                 hash::Secret secret)
    : m_root(std::move(root)), m_control(std::move(control)), m_format(format), m_secret(std::move(secret)) {}

Result<std::unique_ptr<FileSet>> FileSet::open(std::unique_ptr<fs::Directory> root) {
  Result<std::unique_ptr<fs::Directory>> there = root->open_directory(k_control_name);
  if (!there && there.error().code == Errc::not_found) return gone();
  NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> control, std::move(there));
  NB_FAILPOINT("txn.open.control");
  Result<Records> records = read_records(*control);
  // Somebody who removes the set takes them away one by one.
  if (!records && records.error().code == Errc::bad_set) NB_TRY(check_same(*root, *control));
  if (!records) return tl::make_unexpected(std::move(records).error());
  std::unique_ptr<FileSet> set(new FileSet(std::move(root), std::move(control), records->format, records->secret));
  set->m_head = std::move(records->head);
  return set;
}

bool FileSet::is_gone(const Error& error) { return error.code == Errc::locked && error.sys_errno == ESTALE; }

Status FileSet::check_in_place() { return check_same(*m_root, *m_control); }

Result<std::unique_ptr<FileSet>> FileSet::create(std::unique_ptr<fs::Directory> root, Lifetime lifetime,
                                                 const hash::Secret& secret) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(*root, k_control_name));
  if (there) return fail(Errc::exists, std::string(k_control_name));
  NB_TRY(remove_temporary(*root));
  NB_TRY_ASSIGN(KeptMtime mtime, KeptMtime::of(*root));
  NB_TRY_ASSIGN(const SetFormat format, new_format(lifetime));
  NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> control, make_temporary(*root));
  const Status made = make_whole(*root, *control, format, secret);
  if (!made) {
    // The place is another's.
    if (made.error().code == Errc::locked) return tl::make_unexpected(made.error());
    // A full disk must not be left with half a set as well; the first error is the one to tell.
    static_cast<void>(remove_leftover(*root, *control, nullptr));
    mtime.restore();
    return tl::make_unexpected(made.error());
  }
  mtime.restore();
  NB_TRY(root->sync());
  return std::unique_ptr<FileSet>(new FileSet(std::move(root), std::move(control), format, secret));
}

Status FileSet::reload() {
  NB_TRY_ASSIGN(m_head, needed(*m_control, k_head_name, decode_head));
  return {};
}

Result<bool> FileSet::needs_recovery() {
  NB_TRY_ASSIGN(const bool thinning, is_thinning(*this));
  if (thinning) return true;
  NB_TRY_ASSIGN(const std::optional<fs::Stat> undoing, find_name(*m_control, k_journal_undo_name));
  if (undoing) return true;
  NB_TRY_ASSIGN(const std::optional<fs::Stat> standing, find_name(*m_control, k_journal_name));
  if (!standing) return false;
  const Result<Journal> journal = Journal::open(*m_control, k_journal_name);
  // A damaged one is for recover() to report.
  if (!journal) return true;
  NB_TRY(reload());
  return journal->header().transaction != m_head.transaction;
}

Status FileSet::remove_control() {
  for (const std::string_view kept : {k_conflict_name, k_orphans_name}) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> there, find_name(*m_control, kept));
    if (there) return fail(Errc::foreign_edit, std::string(k_control_name) + "/" + std::string(kept));
  }
  NB_TRY(remove_temporary(*m_root));
  NB_TRY_ASSIGN(KeptMtime mtime, KeptMtime::of(*m_root));
  // Under the temporary name first: half of it removed is then no damaged set.
  NB_TRY(m_root->rename(k_control_name, *m_root, k_control_new_name, fs::RenameMode::no_replace));
  NB_TRY(m_root->sync());
  NB_FAILPOINT("txn.remove.renamed");
  NB_TRY(remove_leftover(*m_root, *m_control, nullptr));
  mtime.restore();
  return m_root->sync();
}

}  // namespace nb::txn
