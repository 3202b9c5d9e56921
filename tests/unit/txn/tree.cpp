// SPDX-License-Identifier: Apache-2.0
#include "tree.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "base/text.hpp"

namespace nb::txn::test {
namespace {

using fs::FileType;

std::string read_all(fs::File& file) {
  std::string content(file.stat().value().size, '\0');
  std::size_t at = 0;
  while (at < content.size()) {
    const std::size_t got =
        file.read_at(at, std::as_writable_bytes(std::span(content.data() + at, content.size() - at))).value();
    if (got == 0) break;
    at += got;
  }
  return content;
}

std::string xattr_of(const fs::Xattrs& all) {
  for (const fs::Xattr& each : all) {
    if (each.name == "user.t") return each.value;
  }
  return {};
}

RelPath path_of(const std::string& text) { return RelPath::parse(text).value(); }

void read_into(fs::Directory& directory, const std::string& prefix, Tree& tree) {
  const std::vector<fs::NamedType> directory_names = directory.list().value();
  for (const fs::NamedType& each : directory_names) {
    if (each.name == k_control_name || each.name == "lost+found") continue;
    const std::string path = prefix.empty() ? each.name : prefix + "/" + each.name;
    const fs::Stat stat = directory.stat_at(each.name).value();
    Entry entry{stat.type, stat.mode, stat.mtime.sec, {}, {}};
    if (stat.type != FileType::symlink) entry.xattr = xattr_of(directory.xattrs_at(each.name).value());
    if (stat.type == FileType::regular) {
      entry.content = read_all(*directory.open_file(each.name, fs::OpenMode::read).value());
    }
    if (stat.type == FileType::symlink) entry.content = directory.read_link(each.name).value();
    tree[path] = entry;
    if (stat.type == FileType::directory) read_into(*directory.open_directory(each.name).value(), path, tree);
  }
}

fs::Metadata metadata_of(const Entry& entry, const fs::Owner& owner) {
  fs::Metadata metadata;
  metadata.mode = entry.mode;
  metadata.owner = owner;
  metadata.mtime = {entry.mtime, 0};
  if (!entry.xattr.empty()) metadata.xattrs = {{"user.t", entry.xattr}};
  return metadata;
}

class SmallSink {
 public:
  SmallSink(Transaction& transaction, FileSet& set, const Tree& wanted, const Untouched& untouched)
      : m_tx(transaction), m_set(set), m_live(read_tree(set.root())), m_wanted(wanted), m_untouched(untouched) {}

  Status directory(const std::string& path) {
    const std::set<std::string> names = children(path);
    bool changes = false;
    for (const std::string& name : names) {
      const std::string below = path.empty() ? name : path + "/" + name;
      if (!replaces(below)) continue;
      changes = true;
    }
    const Entry& now = m_live.at(path);
    NB_TRY_ASSIGN(const fs::Stat stat, stat_of(path));
    if (changes && (now.mode & 0700U) != 0700U) {
      NB_TRY(m_tx.add(OpenUp{path_of(path), ident_of(stat), now.mode, now.mode | 0700U}));
    }
    const bool own = !m_untouched.contains(path) && (changes || !(now == m_wanted.at(path)));
    if (own) NB_TRY(m_tx.add_end(metadata_change(path, stat, now)));
    for (const std::string& name : names) NB_TRY(entry(path.empty() ? name : path + "/" + name));
    return {};
  }

 private:
  std::set<std::string> children(const std::string& path) const {
    std::set<std::string> names;
    const std::string prefix = path.empty() ? "" : path + "/";
    for (const Tree* tree : {&m_live, &m_wanted}) {
      for (const auto& [each, entry] : *tree) {
        if (each.empty() || !each.starts_with(prefix)) continue;
        const std::string rest = each.substr(prefix.size());
        if (!rest.empty()) names.insert(rest.substr(0, rest.find('/')));
      }
    }
    return names;
  }

  Result<fs::Stat> stat_of(const std::string& path) {
    if (path.empty()) return m_set.root().stat();
    const RelPath rel = path_of(path);
    if (rel.parent().is_root()) return m_set.root().stat_at(rel.name());
    NB_TRY_ASSIGN(const auto parent, m_set.root().open_directory_path(rel.parent()));
    return parent->stat_at(rel.name());
  }

  // Whether the name itself is placed or removed.
  bool replaces(const std::string& path) const {
    if (!m_live.contains(path) || !m_wanted.contains(path)) return true;
    const Entry& now = m_live.at(path);
    const Entry& then = m_wanted.at(path);
    return now.type != then.type || now.content != then.content;
  }

  SetMetadata metadata_change(const std::string& path, const fs::Stat& stat, const Entry& now) {
    return {path_of(path), ident_of(stat), metadata_of(now, stat.owner), metadata_of(m_wanted.at(path), stat.owner)};
  }

  Status entry(const std::string& path) {
    const bool live = m_live.contains(path);
    if (!m_wanted.contains(path)) {
      NB_TRY_ASSIGN(const fs::Stat stat, stat_of(path));
      return m_tx.add(Remove{path_of(path), m_tx.next_slot(), ident_of(stat)});
    }
    if (live && !replaces(path)) {
      if (m_wanted.at(path).type == FileType::directory) return directory(path);
      if (m_live.at(path) == m_wanted.at(path)) return {};
      NB_TRY_ASSIGN(const fs::Stat stat, stat_of(path));
      return m_tx.add(metadata_change(path, stat, m_live.at(path)));
    }
    Place op;
    op.path = path_of(path);
    op.slot = m_tx.next_slot();
    if (live) {
      NB_TRY_ASSIGN(const fs::Stat stat, stat_of(path));
      op.replaced = ident_of(stat);
    }
    const std::string slot = Transaction::slot_name(op.slot);
    NB_TRY(stage(m_tx.slots(), slot, path, op.slot, RelPath()));
    NB_TRY_ASSIGN(const fs::Stat staged, m_tx.slots().stat_at(slot));
    op.staged = ident_of(staged);
    StagedRecord record;
    record.path = op.path;
    record.slot = op.slot;
    record.is_tree = staged.type == FileType::directory;
    NB_TRY(m_tx.log_staged(record));
    return m_tx.add(op);
  }

  Status stage(fs::Directory& in, const std::string& name, const std::string& path, std::uint64_t slot,
               const RelPath& below) {
    const Entry& want = m_wanted.at(path);
    if (want.type == FileType::directory) return stage_directory(in, name, path, slot, below);
    if (want.type == FileType::symlink) {
      NB_TRY(in.create_symlink(name, want.content));
    } else if (linked(in, name, want)) {
      return {};
    } else {
      NB_TRY_ASSIGN(const auto made, in.create_file(name));
      NB_TRY(made->write_at(0, as_bytes(want.content)));
      if (!want.xattr.empty()) NB_TRY(made->set_xattr("user.t", want.xattr));
      NB_TRY(made->set_mode(want.mode));
    }
    NB_TRY_ASSIGN(const auto node, in.open_node(name));
    return node->set_mtime({want.mtime, 0});
  }

  // A moved file is hard-linked from its present name.
  bool linked(fs::Directory& in, const std::string& name, const Entry& want) {
    for (const auto& [path, now] : m_live) {
      if (!(now == want) || path.find('/') != std::string::npos || path.empty()) continue;
      return m_set.root().link(path, in, name).has_value();
    }
    return false;
  }

  Status stage_directory(fs::Directory& in, const std::string& name, const std::string& path, std::uint64_t slot,
                         const RelPath& below) {
    NB_TRY_ASSIGN(const auto made, in.create_directory(name));
    const Entry& want = m_wanted.at(path);
    NB_TRY(m_tx.finish_staged_directory(slot, below, want.mode, {want.mtime, 0}));
    for (const std::string& child : children(path)) {
      if (!m_wanted.contains(path + "/" + child)) continue;
      NB_TRY(stage(*made, child, path + "/" + child, slot, below.child(child)));
    }
    return {};
  }

  Transaction& m_tx;
  FileSet& m_set;
  Tree m_live;
  const Tree& m_wanted;
  const Untouched& m_untouched;
};

}  // namespace

Entry file(std::string content, std::uint32_t mode, std::int64_t mtime) {
  return {FileType::regular, mode, mtime, std::move(content), {}};
}
Entry dir(std::uint32_t mode, std::int64_t mtime) { return {FileType::directory, mode, mtime, {}, {}}; }
Entry symlink(std::string target, std::int64_t mtime) {
  return {FileType::symlink, 0777, mtime, std::move(target), {}};
}

Tree read_tree(fs::Directory& root) {
  Tree tree;
  const fs::Stat stat = root.stat().value();
  tree[""] = {stat.type, stat.mode, stat.mtime.sec, {}, {}};
  read_into(root, "", tree);
  return tree;
}

Tree read_tree(fs::Directory& root, const Tree& like, const Untouched& untouched) {
  Tree tree = read_tree(root);
  for (const std::string& path : untouched) {
    if (tree.contains(path) && like.contains(path)) tree[path].mtime = like.at(path).mtime;
  }
  return tree;
}

std::string show(const Tree& tree) {
  std::ostringstream out;
  for (const auto& [path, entry] : tree) {
    out << "'" << path << "' " << static_cast<int>(entry.type) << " " << std::oct << entry.mode << std::dec << " "
        << entry.mtime << " '" << entry.content << "' '" << entry.xattr << "'\n";
  }
  return out.str();
}

Status plan(Transaction& transaction, FileSet& set, const Tree& wanted, const Untouched& untouched) {
  return SmallSink(transaction, set, wanted, untouched).directory("");
}

TxId tx_id(std::uint8_t number) {
  TxId id{};
  id[0] = std::byte{0xAB};
  id[15] = std::byte{number};
  return id;
}

LockNote note_for(const TxId& id) {
  LockNote note;
  note.client = "tester@here";
  note.token = id;
  note.boot_id = "none";
  return note;
}

hash::Secret test_secret() {
  const Bytes key(hash::k_secret_bytes, std::byte{7});
  return hash::Secret::from_bytes(key, Errc::internal).value();
}

void StepClock::pause(std::chrono::milliseconds duration) {
  m_now += duration;
  if (on_pause) on_pause();
}

namespace {

enum class After : std::uint8_t { nothing, cleaning_up };

Result<CommitOutcome> transact(std::unique_ptr<fs::Directory> root, const Tree& wanted, const Untouched& untouched,
                               const TxId& id, const CommitOptions& options, After after) {
  StepClock clock;
  NB_TRY_ASSIGN(const auto set, FileSet::open(std::move(root)));
  NB_TRY_ASSIGN(const auto lock, WriterLock::acquire(*set, note_for(id), std::chrono::seconds(0), clock));
  NB_TRY_ASSIGN(const auto transaction, Transaction::begin(*set, *lock, id, clock));
  NB_TRY(plan(*transaction, *set, wanted, untouched));
  NB_TRY_ASSIGN(const CommitOutcome outcome, transaction->commit(options));
  if (after == After::cleaning_up) NB_TRY(transaction->clean_up());
  return outcome;
}

}  // namespace

Result<CommitOutcome> run(std::unique_ptr<fs::Directory> root, const Tree& wanted, const Untouched& untouched,
                          const TxId& id, const CommitOptions& options) {
  return transact(std::move(root), wanted, untouched, id, options, After::cleaning_up);
}

Result<CommitOutcome> commit(std::unique_ptr<fs::Directory> root, const Tree& wanted, const Untouched& untouched,
                             const TxId& id) {
  return transact(std::move(root), wanted, untouched, id, {}, After::nothing);
}

Result<std::uint64_t> recover_at(std::unique_ptr<fs::Directory> root) {
  StepClock clock;
  NB_TRY_ASSIGN(const auto set, FileSet::open(std::move(root)));
  NB_TRY_ASSIGN(const auto lock, WriterLock::acquire(*set, note_for(tx_id(99)), std::chrono::seconds(0), clock));
  NB_TRY_ASSIGN(const RecoveryReport report, recover(*set, *lock, clock));
  NB_TRY_ASSIGN(const bool needed, set->needs_recovery());
  if (needed) return fail(Errc::internal, "still needs recovery");
  return report.generation;
}

bool is_clean(fs::Directory& root, std::string& what) {
  const std::set<std::string> expected{"arrivals", "format", "head",  "history", "lock",
                                       "past",     "secret", "spare", "tx"};
  const std::vector<fs::NamedType> root_names = root.list().value();
  for (const fs::NamedType& each : root_names) {
    if (each.name.starts_with(".nbackup") && each.name != k_control_name) what += each.name + " ";
  }
  const auto control = root.open_directory(k_control_name).value();
  const std::vector<fs::NamedType> control_names = control->list().value();
  for (const fs::NamedType& each : control_names) {
    if (!expected.contains(each.name)) what += each.name + " ";
  }
  const auto stages = control->open_directory("tx").value();
  const std::vector<fs::NamedType> stage_names = stages->list().value();
  for (const fs::NamedType& each : stage_names) what += "tx/" + each.name + " ";
  const auto history = control->open_directory("history");
  if (!history) return what.empty();
  const std::vector<fs::NamedType> generations = (*history)->list().value();
  for (const fs::NamedType& each : generations) {
    if (!parse_u64(each.name)) what += "history/" + each.name + " ";
  }
  return what.empty();
}

Tree rich_old() {
  Tree tree;
  tree[""] = dir(0755, 5000);
  tree["a"] = file("content of a");
  tree["b"] = file("content of b", 0600);
  tree["c"] = file("c before");
  tree["d"] = dir();
  tree["d/one"] = file("one");
  tree["d/deep"] = dir(0555);
  tree["d/deep/two"] = file("two", 0444);
  tree["e"] = file("e was a file");
  tree["f"] = dir();
  tree["f/inside"] = file("inside");
  tree["g"] = symlink("c");
  tree["h"] = symlink("nowhere");
  tree["locked"] = dir(0555);
  tree["locked/x"] = file("x before");
  tree["locked/y"] = file("y");
  tree["m"] = file("only metadata", 0644, 1111);
  tree["m"].xattr = "old";
  tree["r"] = dir(0555);
  tree["r/z"] = file("z");
  tree["s"] = dir(0755, 2100);
  tree["s/keep"] = file("keep");
  tree["s/go"] = file("go");
  return tree;
}

Tree rich_new() {
  Tree tree;
  tree[""] = dir(0750, 6000);
  tree["a"] = file("content of b", 0600);
  tree["b"] = file("content of a");
  tree["c"] = file("c after", 0640, 1200);
  tree["e"] = dir(0700, 2200);
  tree["e/now"] = file("a directory");
  tree["f"] = file("f is a file now");
  tree["g"] = file("g is a file now");
  tree["h"] = symlink("elsewhere", 3300);
  tree["locked"] = dir(0555);
  tree["locked/x"] = file("x after");
  tree["locked/w"] = file("w");
  tree["m"] = file("only metadata", 04711, 1222);
  tree["m"].xattr = "new";
  tree["n"] = file("new");
  tree["s"] = dir(0500, 2300);
  tree["s/keep"] = file("keep", 0600);
  tree["t"] = dir(0555, 2400);
  tree["t/sub"] = dir(0555, 2500);
  tree["t/sub/file"] = file("in a new tree");
  return tree;
}

Untouched rich_untouched() { return {"locked"}; }

std::unique_ptr<fs::Directory> make_set(std::unique_ptr<fs::Directory> root, const Tree& tree,
                                        const Untouched& untouched, Lifetime lifetime) {
  {
    const auto set = FileSet::create(root->reopen().value(), lifetime, test_secret());
    REQUIRE(set);
  }
  const After after = lifetime == Lifetime::permanent ? After::cleaning_up : After::nothing;
  const auto made = transact(root->reopen().value(), tree, untouched, tx_id(1), {}, after);
  INFO((made ? std::string("ok") : made.error().message()));
  REQUIRE(made);
  CHECK(made->generation == 1);
  const Tree now = read_tree(*root, tree, untouched);
  INFO("is\n" << show(now) << "expected\n" << show(tree));
  REQUIRE(now == tree);
  return root;
}

}  // namespace nb::txn::test
