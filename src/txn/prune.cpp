// SPDX-License-Identifier: Apache-2.0
#include "txn/prune.hpp"

#include <algorithm>
#include <map>

#include "base/failpoint.hpp"
#include "hash/digest.hpp"
#include "txn/history.hpp"
#include "txn/history_check.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"
#include "txn/text_record.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_title = "nbackup judged";
constexpr std::string_view k_judged_name = "judged";

// Up to so many generations are looked through after every commit.
constexpr std::uint64_t k_few = 64;
constexpr std::uint64_t k_new_share = 8;
constexpr std::int64_t k_second_ns = 1'000'000'000;
constexpr std::int64_t k_day_ns = 86'400 * k_second_ns;

// history/judged: when the policy was last applied to a set of many generations. It saves work and decides nothing:
// where it is missing or damaged the work is done.
struct Judged {
  std::uint64_t policy = 0;      // check of what was applied
  std::uint64_t generation = 0;  // the live one then
  std::uint64_t kept = 0;        // how many stayed
  std::int64_t time_ns = 0;
};

Bytes encode(const Judged& judged) {
  TextRecordWriter out(k_title);
  out.number("policy", judged.policy);
  out.number("generation", judged.generation);
  out.number("kept", judged.kept);
  out.line("time", std::to_string(judged.time_ns));
  return out.finish();
}

Result<Judged> decode_judged(ByteView data) {
  NB_TRY_ASSIGN(TextRecordReader in, TextRecordReader::open(data, k_title));
  Judged judged;
  NB_TRY_ASSIGN(judged.policy, in.number("policy"));
  NB_TRY_ASSIGN(judged.generation, in.number("generation"));
  NB_TRY_ASSIGN(judged.kept, in.number("kept"));
  NB_TRY_ASSIGN(judged.time_ns, in.signed_number("time"));
  NB_TRY(in.finish());
  return judged;
}

std::int64_t now_of(const Clock& clock) { return clock.wall().time_since_epoch().count(); }

bool is_due(const std::optional<Judged>& last, const Judged& now) {
  if (!last || last->policy != now.policy || last->generation > now.generation) return true;
  const std::uint64_t fresh = now.generation - last->generation;
  if (last->kept + fresh <= k_few || fresh * k_new_share >= last->kept) return true;
  // A clock that was set back must not put it off.
  return now.time_ns < last->time_ns || now.time_ns - last->time_ns >= k_day_ns;
}

// Not synced: one that is lost costs nothing but looking.
Status remember(fs::Directory& history, const Judged& judged) {
  return replace_small_file(history, k_judged_name, encode(judged), Lasting::hint);
}

// After a pause longer than the policy's age, or by a clock that is far ahead, the generation just made would be the one
// to count from, and the push that ends the pause would drop all before it: for that push the pause does not count.
RetentionPolicy widened_by_pause(const History& history, std::uint64_t newest, RetentionPolicy policy) {
  const Result<Generation> live = history.read(newest);
  if (!live || !live->previous) return policy;
  const Result<Generation> before = history.read(*live->previous);
  if (!before || before->time_ns <= 0 || live->time_ns <= before->time_ns) return policy;
  const auto pause = static_cast<std::uint64_t>((live->time_ns - before->time_ns) / k_second_ns);
  if (policy.within_seconds != 0 && pause > policy.within_seconds) policy.within_seconds += pause;
  return policy;
}

std::vector<Decision> judge(const History& history, const RetentionPolicy& policy, Clock& clock) {
  std::vector<DatedGeneration> generations;
  std::map<std::uint64_t, const char*> unjudged;
  for (const std::uint64_t number : history.numbers()) {
    const Result<Generation> account = history.read(number);
    if (!account) unjudged[number] = "its account cannot be read";
    // As recover makes it anew; the oldest has nothing behind it that would need it.
    if (account && account->time_ns == 0 && account->previous) unjudged[number] = "its time is not known any more";
    generations.push_back({number, account ? account->time_ns : 0});
  }
  std::vector<Decision> decisions = decide(generations, policy, now_of(clock));
  for (Decision& each : decisions) {
    const auto reason = unjudged.find(each.generation.number);
    if (reason == unjudged.end()) continue;
    if (each.fate == Fate::drop) each.reasons = {reason->second};
    each.fate = Fate::keep;
  }
  return decisions;
}

}  // namespace

Result<std::optional<SetPolicy>> read_policy(FileSet& set) {
  const Result<Bytes> data = read_small_file(set.control(), k_policy_name);
  if (!data && data.error().code == Errc::not_found) return std::optional<SetPolicy>();
  NB_TRY(data);
  const Result<SetPolicy> policy = decode_policy(*data);
  if (!policy) return wrap(policy.error(), ".nbackup/policy (policy --default replaces it)");
  return std::optional<SetPolicy>(*policy);
}

Result<SetPolicy> policy_of(FileSet& set) {
  NB_TRY_ASSIGN(const std::optional<SetPolicy> stored, read_policy(set));
  return stored.value_or(SetPolicy());
}

Status write_policy(FileSet& set, const WriterLock&, const std::optional<SetPolicy>& policy) {
  fs::Directory& control = set.control();
  NB_TRY(remove_if_there(control, k_policy_new_name));
  if (policy) {
    NB_TRY(write_new_file(control, k_policy_new_name, encode(*policy)));
    NB_FAILPOINT("txn.policy.written");
    NB_TRY(control.rename(k_policy_new_name, control, k_policy_name, fs::RenameMode::replace));
  } else {
    NB_TRY(remove_if_there(control, k_policy_name));
  }
  return control.sync();
}

Result<std::vector<Decision>> judge_generations(FileSet& set, const RetentionPolicy& policy, Clock& clock) {
  NB_TRY_ASSIGN(const History history, History::open(set));
  return judge(history, policy, clock);
}

Status drop_lost(FileSet& set, std::vector<Decision>& decisions) {
  NB_TRY_ASSIGN(const HistoryCheck check, check_history(set));
  // A list that could not be read this time may be read the next; and a newer nbackup's is no damage.
  if (check.damage && check.damage->code != Errc::bad_set) {
    return wrap(*check.damage, "nothing was dropped, for it may pass (if not, move the file away)");
  }
  for (Decision& each : decisions) {
    if (std::find(check.lost.begin(), check.lost.end(), each.generation.number) == check.lost.end()) continue;
    each.fate = Fate::drop;
    each.reasons = {"cannot be restored any more"};
  }
  return {};
}

std::vector<std::uint64_t> dropped_by(const std::vector<Decision>& decisions) {
  std::vector<std::uint64_t> numbers;
  for (const Decision& each : decisions) {
    if (each.fate == Fate::drop) numbers.push_back(each.generation.number);
  }
  return numbers;
}

Result<ThinReport> prune_after_commit(FileSet& set, const WriterLock& lock, Clock& clock, const ThinOptions& options) {
  ThinReport nothing;
  if (set.format().lifetime == Lifetime::ephemeral) return nothing;
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> history, open_if_there(set.control(), k_history_name));
  if (!history) return nothing;
  NB_TRY_ASSIGN(const SetPolicy policy, policy_of(set));
  std::optional<Judged> last;
  if (const auto data = read_small_file(*history, k_judged_name)) {
    if (const auto read = decode_judged(*data)) last = *read;
  }
  Judged now{hash::check_of(encode(policy)), set.head().generation, 0, now_of(clock)};
  if (last && !is_due(last, now)) return nothing;
  NB_TRY_ASSIGN(const History generations, History::open(set));
  const RetentionPolicy keep = widened_by_pause(generations, now.generation, policy.keep);
  const std::vector<Decision> decisions = judge(generations, keep, clock);
  const std::vector<std::uint64_t> numbers = dropped_by(decisions);
  ThinReport report;
  if (!numbers.empty()) {
    NB_TRY_ASSIGN(report, drop_generations(set, lock, clock, numbers, options));
  }
  now.kept = decisions.size() - report.dropped.size();
  if (now.kept > k_few) {
    NB_TRY(remember(*history, now));
  } else if (last) {
    NB_TRY(remove_if_there(*history, k_judged_name));
  }
  return report;
}

Result<ThinReport> drop_predecessor(FileSet& set, const WriterLock& lock, Clock& clock, const ThinOptions& options) {
  NB_TRY_ASSIGN(const History history, History::open(set));
  if (!history.has(set.head().generation)) return ThinReport();
  NB_TRY_ASSIGN(const Generation live, history.read(set.head().generation));
  if (!live.previous) return ThinReport();
  return drop_generations(set, lock, clock, {*live.previous}, options);
}

}  // namespace nb::txn
