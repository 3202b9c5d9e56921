// SPDX-License-Identifier: Apache-2.0
#include "txn/sync.hpp"

#include <cerrno>

#include "txn/history.hpp"

namespace nb::txn {
namespace {

using fs::FileType;

// A file that may not be opened, or a file system that has no fsync for it, makes the outcome unsure; any other failure
// is a failed sync.
bool is_refusal(const Error& error) {
  return error.code == Errc::not_permitted || error.code == Errc::unsupported || error.sys_errno == EINVAL;
}

class SyncEach {
 public:
  // Everything below `top`, without recursion: trees may be deep.
  Status tree(fs::Directory& top) {
    std::vector<RelPath> to_do{RelPath()};
    while (!to_do.empty()) {
      const RelPath path = std::move(to_do.back());
      to_do.pop_back();
      const auto directory = top.open_directory_path(path);
      if (!directory) {
        NB_TRY(judge(tl::make_unexpected(directory.error())));
        continue;
      }
      NB_TRY(entries(**directory, path, to_do));
    }
    return {};
  }

  Status directory(fs::Directory& directory) { return judge(directory.sync()); }

  // What lies at `path` in the live tree, if it is still there.
  Status live(LiveTree& tree, const RelPath& path, FileType type) {
    if (type == FileType::directory) {
      const auto opened = tree.open_directory(path);
      return opened ? directory(**opened) : judge(tl::make_unexpected(opened.error()));
    }
    if (type != FileType::regular || path.is_root()) return {};
    NB_TRY_ASSIGN(const fs::Directory* parent, tree.parent_of(path));
    return parent == nullptr ? Status() : file(*parent, path.name());
  }

  [[nodiscard]] Durability result() const { return m_result; }

 private:
  Status entries(fs::Directory& directory, const RelPath& path, std::vector<RelPath>& to_do) {
    const Result<std::vector<fs::NamedType>> names = directory.list();
    if (!names) return judge(tl::make_unexpected(names.error()));
    for (const fs::NamedType& entry : *names) {
      if (entry.type == FileType::directory) to_do.push_back(path.child(entry.name));
      if (entry.type == FileType::regular) NB_TRY(file(directory, entry.name));
    }
    return judge(directory.sync());
  }

  Status file(const fs::Directory& parent, std::string_view name) {
    const auto opened = parent.open_file(name, fs::OpenMode::read);
    if (!opened) return judge(tl::make_unexpected(opened.error()));
    return judge((*opened)->sync());
  }

  Status judge(const Status& status) {
    if (status || status.error().code == Errc::not_found) return {};
    if (!is_refusal(status.error())) return status;
    m_result = Durability::unsure;
    return {};
  }

  Durability m_result = Durability::sure;
};

Result<Durability> sync_stage_each(fs::Directory& control, Stage& stage) {
  SyncEach each;
  NB_TRY(stage.log->sync());
  NB_TRY(each.tree(*stage.directories.fresh));
  NB_TRY(each.directory(*stage.directories.old));
  NB_TRY(each.directory(*stage.directories.top));
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> stages, control.open_directory(k_stages_name));
  NB_TRY(each.directory(*stages));
  NB_TRY(each.directory(control));
  return each.result();
}

Status sync_filed_each(ApplyContext& context, SyncEach& each) {
  NB_TRY(each.tree(*context.filed));
  NB_TRY_ASSIGN(const auto history, context.control.open_directory(k_history_name));
  NB_TRY(each.directory(*history));
  return each.directory(context.control);
}

Status sync_applied_each(const Journal& journal, ApplyContext& context, SyncEach& each) {
  RelPath last;
  bool any = false;
  const auto step = [&](const JournalOp& op) -> Result<Journal::Walk> {
    const RelPath& path = std::visit([](const auto& one) -> const RelPath& { return one.path; }, op);
    if (const auto* metadata = std::get_if<SetMetadata>(&op)) {
      NB_TRY(each.live(context.live, path, metadata->target.type));
    } else if (std::holds_alternative<OpenUp>(op)) {
      NB_TRY(each.live(context.live, path, FileType::directory));
    } else if (!any || path.parent() != last) {
      NB_TRY(each.live(context.live, path.parent(), FileType::directory));
      last = path.parent();
      any = true;
    }
    return Journal::Walk::go_on;
  };
  NB_TRY(journal.for_each(step));
  if (context.filed) NB_TRY(sync_filed_each(context, each));
  NB_TRY(each.directory(context.fresh));
  return each.directory(context.old);
}

Status sync_failed(const Error& error) { return fail(Errc::sync_failed, error.context, error.sys_errno); }

}  // namespace

Result<Durability> sync_stage(fs::Directory& device, fs::Directory& control, Stage& stage) {
  // First, because every fsync after it finds little to do.
  const Status synced = device.sync_file_system();
  if (!synced) return tl::make_unexpected(sync_failed(synced.error()).error());
  // An error in what an earlier run wrote may have been told to somebody else since; the file itself still knows.
  if (device.sync_file_system_reports() && !stage.adopted) return Durability::sure;
  const Result<Durability> result = sync_stage_each(control, stage);
  if (!result) return tl::make_unexpected(sync_failed(result.error()).error());
  return result;
}

Status sync_history_places(ApplyContext& context) {
  SyncEach each;
  if (!context.control.sync_file_system_reports()) {
    NB_TRY(sync_filed_each(context, each));
    NB_TRY(each.directory(context.old));
  }
  return context.control.sync_file_system();
}

Result<Durability> sync_applied(fs::Directory& device, const Journal& journal, ApplyContext& context) {
  SyncEach each;
  if (!device.sync_file_system_reports()) NB_TRY(sync_applied_each(journal, context, each));
  NB_TRY(device.sync_file_system());
  return each.result();
}

}  // namespace nb::txn
