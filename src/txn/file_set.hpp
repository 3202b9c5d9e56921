// SPDX-License-Identifier: Apache-2.0
// FileSet: an open destination root with its control directory `.nbackup`. Opening reads format, head and secret; it
// takes no lock and changes nothing. Locks, transactions and recovery work on one of these.
#pragma once

#include <memory>

#include "fs/directory.hpp"
#include "hash/secret.hpp"
#include "txn/records.hpp"

namespace nb::txn {

using nb::k_control_name;

class FileSet {
 public:
  // Opens the set whose root this was found to be (locate.hpp). Errc::bad_set: damaged or newer format; as
  // check_in_place().
  static Result<std::unique_ptr<FileSet>> open(std::unique_ptr<fs::Directory> root);
  // Makes the control directory, durably, so that it is there whole or not at all (a crash leaves a temporary name that
  // the next create removes). Errc::exists if there is one; Errc::locked if another process is making one.
  static Result<std::unique_ptr<FileSet>> create(std::unique_ptr<fs::Directory> root, Lifetime lifetime,
                                                 const hash::Secret& secret);

  [[nodiscard]] fs::Directory& root() { return *m_root; }
  [[nodiscard]] fs::Directory& control() { return *m_control; }
  [[nodiscard]] const SetFormat& format() const { return m_format; }
  [[nodiscard]] const Head& head() const { return m_head; }
  [[nodiscard]] const hash::Secret& secret() const { return m_secret; }
  // Reads head again, after a lock was taken or a recovery ran.
  Status reload();
  // An error that is_gone() where the root's control directory is not (any more) the one that was opened: whoever held
  // the set has removed it (a pull's, when the pull ends) or replaced it.
  Status check_in_place();
  // Errc::locked with errno ESTALE.
  static bool is_gone(const Error& error);
  // Whether a commit was interrupted (a journal stands that head does not name as done) or the dropping of generations.
  [[nodiscard]] Result<bool> needs_recovery();
  // Ephemeral sets: removes the control directory; foreign_edit where it keeps what is somebody else's.
  Status remove_control();

 private:
  FileSet(std::unique_ptr<fs::Directory> root, std::unique_ptr<fs::Directory> control, SetFormat format,
          hash::Secret secret);
  std::unique_ptr<fs::Directory> m_root;
  std::unique_ptr<fs::Directory> m_control;
  SetFormat m_format;
  Head m_head;
  hash::Secret m_secret;
};

}  // namespace nb::txn
