// SPDX-License-Identifier: Apache-2.0
#include "txn/mend.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/random.hpp"
#include "fs/metadata.hpp"
#include "txn/change_list.hpp"
#include "txn/history.hpp"
#include "txn/history_check.hpp"
#include "txn/journal.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"
#include "txn/spare.hpp"
#include "txn/text_record.hpp"
#include "txn/thin_record.hpp"

namespace nb::txn {
namespace {

// What their names begin with: digests, with all that SQLite keeps beside them, and what is judged by them.
constexpr std::array<std::string_view, 4> k_digest_stores{"manifest.db", "contents.db", "arrivals", "damage"};

// Whatever its title: a whole text record. One that is and cannot be decoded is a newer nbackup's, and no damage.
bool is_whole_record(ByteView data) {
  const std::string_view text = as_text(data);
  return TextRecordReader::open(data, text.substr(0, text.find('\n'))).has_value();
}

// A record, or nothing if it is missing or damaged.
template <class Decode>
auto sound(const fs::Directory& directory, std::string_view name, Decode decode)
    -> Result<std::optional<typename decltype(decode(ByteView()))::value_type>> {
  using Record = std::optional<typename decltype(decode(ByteView()))::value_type>;
  const Result<Bytes> data = read_small_file(directory, name);
  if (!data) {
    const Errc code = data.error().code;
    // Other errors (too many open files, no memory, a server that is gone) may pass.
    const bool is_lost = code == Errc::io && data.error().sys_errno == EIO;
    const bool is_damage = code == Errc::not_found || code == Errc::bad_set || is_lost;
    return is_damage ? Result<Record>(Record()) : tl::make_unexpected(data.error());
  }
  auto record = decode(*data);
  if (record) return Record(std::move(*record));
  return is_whole_record(*data) ? Result<Record>(tl::make_unexpected(record.error())) : Result<Record>(Record());
}

class Mender {
 public:
  explicit Mender(fs::Directory& control) : m_control(control) {}

  Result<MendReport> run() {
    NB_TRY(look());
    NB_TRY(mend_format());
    NB_TRY(mend_secret());
    NB_TRY(mend_head());
    NB_TRY(mend_live());
    for (const std::uint64_t number : m_numbers) NB_TRY(mend_account(number));
    NB_TRY(keep_spare(m_control, *m_format, *m_secret));
    return std::move(m_report);
  }

 private:
  Status look() {
    NB_TRY_ASSIGN(m_history, open_if_there(m_control, k_history_name));
    if (m_history) {
      NB_TRY_ASSIGN(m_numbers, generations_in(*m_history));
    }
    NB_TRY_ASSIGN(m_spare, sound(m_control, k_spare_name, decode_spare));
    for (const std::string_view name : {k_journal_undo_name, k_journal_name}) {
      const auto journal = Journal::open(m_control, name);
      if (journal && !m_journal) m_journal = journal->header();
      if (!journal && journal.error().code == Errc::bad_set) m_journal_is_damaged = true;
    }
    return {};
  }

  Status mend_format() {
    NB_TRY_ASSIGN(m_format, sound(m_control, k_format_name, decode_format));
    if (m_format) return {};
    SetFormat format;
    NB_TRY_ASSIGN(const std::string from, find_identity(format.uuid));
    NB_TRY(put(m_control, k_format_name, encode(format)));
    m_format = format;
    tell(k_format_name, from);
    return {};
  }

  // Where the identity is from, for people.
  Result<std::string> find_identity(Uuid& uuid) {
    if (m_spare) {
      uuid = m_spare->uuid;
      return std::string("from the spare");
    }
    if (m_journal) {
      uuid = m_journal->set;
      return std::string("from the journal");
    }
    const auto merge = m_history ? ThinRecord::open(*m_history) : Result<ThinRecord>(fail(Errc::not_found, ""));
    if (merge) {
      uuid = merge->header().set;
      return std::string("from history/merge");
    }
    NB_TRY(random_bytes(uuid));
    return std::string("with a new identity: clients push with --new-set once");
  }

  Status mend_secret() {
    NB_TRY_ASSIGN(m_secret, sound(m_control, k_secret_name, decode_secret));
    if (m_secret) return {};
    if (m_spare) {
      m_secret = m_spare->secret;
      NB_TRY(put(m_control, k_secret_name, encode(*m_secret)));
      tell(k_secret_name, "from the spare");
      return {};
    }
    NB_TRY(forget_digests());
    NB_TRY_ASSIGN(m_secret, hash::Secret::generate());
    NB_TRY(put(m_control, k_secret_name, encode(*m_secret)));
    tell(k_secret_name, "with a new key: the next push reads all contents again");
    return {};
  }

  // Nothing that was recorded under another key may be compared with what is hashed under the new one.
  Status forget_digests() {
    NB_TRY_ASSIGN(const std::vector<fs::NamedType> entries, m_control.list());
    for (const fs::NamedType& entry : entries) {
      const bool has_digests = std::any_of(k_digest_stores.begin(), k_digest_stores.end(),
                                           [&](std::string_view store) { return entry.name.starts_with(store); });
      if (has_digests) NB_TRY(fs::remove_tree(m_control, entry.name));
    }
    return m_control.sync();
  }

  Status mend_head() {
    NB_TRY_ASSIGN(m_head, sound(m_control, k_head_name, decode_head));
    if (m_head) return {};
    if (m_journal_is_damaged) {
      return fail(Errc::bad_set, "head and journal are both damaged: nothing tells which generation the tree is of");
    }
    NB_TRY_ASSIGN(const Head head, find_head());
    NB_TRY(put(m_control, k_head_name, encode(head)));
    m_head = head;
    tell(k_head_name, m_numbers.empty() ? "as generation 0: nothing tells of another"
                                        : "from history/" + std::to_string(head.generation));
    return {};
  }

  Result<Head> find_head() {
    Head head;
    // One that stands has not been sealed, or it has, and does no harm when it is done again.
    const std::uint64_t newest = m_numbers.empty() ? 0 : m_numbers.back();
    head.generation = m_journal ? m_journal->generation - 1 : newest;
    NB_TRY_ASSIGN(const std::optional<fs::Stat> beside, find_name(m_control, k_beside_name));
    if (!m_journal && m_numbers.empty() && beside) {
      return fail(Errc::bad_set, "head is damaged, and nothing tells which generation the rows of kept.db are of");
    }
    for (auto number = m_numbers.rbegin(); number != m_numbers.rend(); ++number) {
      const auto account = *number <= head.generation ? read_account(*m_history, *number)
                                                      : Result<Generation>(fail(Errc::not_found, ""));
      if (!account || account->transaction == TxId{}) continue;
      if (head.recent.size() < k_max_recent) head.recent.push_back(account->transaction);
      if (*number != head.generation) continue;
      head.transaction = account->transaction;
      head.time_ns = account->time_ns;
    }
    return head;
  }

  // The way back to older ones is lost with its directory; the account keeps that from being forgotten.
  Status mend_live() {
    const std::uint64_t live = m_head->generation;
    const auto at = std::lower_bound(m_numbers.begin(), m_numbers.end(), live);
    if (at != m_numbers.end() && *at == live) return {};
    if (at == m_numbers.begin()) {
      NB_TRY_ASSIGN(const std::optional<fs::Stat> past, find_name(m_control, k_past_name));
      if (!past) return {};
      m_report.loss = no_live_account(live);
    }
    if (!m_history) {
      NB_TRY_ASSIGN(m_history, open_or_create_directory(m_control, k_history_name));
      NB_TRY(m_control.sync());
    }
    NB_TRY(m_history->create_directory(std::to_string(live)));
    NB_TRY(m_history->sync());
    m_numbers.insert(at, live);
    return {};
  }

  Status mend_account(std::uint64_t number) {
    // Above head: of a commit that is not finished, which makes it again.
    if (number > m_head->generation) return {};
    const std::string name = std::to_string(number);
    NB_TRY_ASSIGN(const auto directory, m_history->open_directory(name));
    NB_TRY_ASSIGN(const auto there, sound(*directory, k_generation_name, decode_generation));
    if (there) return {};
    Generation account;
    account.number = number;
    NB_TRY_ASSIGN(account.previous, previous_of(*directory, number));
    if (number == m_head->generation) {
      account.transaction = m_head->transaction;
      account.time_ns = m_head->time_ns;
    }
    NB_TRY(put(*directory, k_generation_name, encode(account)));
    tell(std::string(k_history_name) + "/" + name + "/" + std::string(k_generation_name),
         account.previous ? "with what its list of changes and its neighbours say" : "as the oldest one");
    return {};
  }

  // What `changes` says, or where that is gone the next older one that is there.
  Result<std::optional<std::uint64_t>> previous_of(const fs::Directory& directory, std::uint64_t number) {
    const Result<ChangesHeader> header = read_changes_header(directory, k_changes_name);
    if (header && header->generation == number) return std::optional(header->previous);
    const auto at = std::lower_bound(m_numbers.begin(), m_numbers.end(), number);
    if (at == m_numbers.begin()) return std::optional<std::uint64_t>();
    return std::optional(*std::prev(at));
  }

  // What was there stays for whoever wants to know what happened.
  static Status put(fs::Directory& directory, std::string_view name, const Bytes& record) {
    const std::string aside = std::string(name) + ".damaged";
    const Status moved = directory.rename(name, directory, aside, fs::RenameMode::replace);
    if (!moved && moved.error().code != Errc::not_found) return moved;
    return replace_small_file(directory, name, record, Lasting::durable);
  }

  void tell(std::string_view name, std::string_view from) {
    m_report.mended.push_back(std::string(name) + " was damaged or missing: made anew " + std::string(from));
  }

  fs::Directory& m_control;
  std::unique_ptr<fs::Directory> m_history;  // null: none
  std::vector<std::uint64_t> m_numbers;
  std::optional<Spare> m_spare;
  std::optional<JournalHeader> m_journal;
  bool m_journal_is_damaged = false;
  std::optional<SetFormat> m_format;
  std::optional<hash::Secret> m_secret;
  std::optional<Head> m_head;
  MendReport m_report;
};

}  // namespace

Result<MendReport> mend(fs::Directory& root, LockNote note, std::chrono::seconds wait, Clock& clock,
                        const OnWait& on_wait) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> control, root.open_directory(k_control_name));
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> lock,
                take_writer_lock(*control, std::move(note), wait, clock, {}, on_wait));
  return Mender(*control).run();
}

}  // namespace nb::txn
