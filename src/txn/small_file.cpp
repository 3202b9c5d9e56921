// SPDX-License-Identifier: Apache-2.0
#include "txn/small_file.hpp"

#include "fs/metadata.hpp"

namespace nb::txn {
namespace {

constexpr std::uint64_t k_max_small_bytes = std::uint64_t{64} << 10;

}  // namespace

Result<Bytes> read_small_file(const fs::Directory& directory, std::string_view name) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> file, directory.open_file(name, fs::OpenMode::read));
  NB_TRY_ASSIGN(const fs::Stat stat, file->stat());
  if (stat.size > k_max_small_bytes) return fail(Errc::bad_set, std::string(name) + ": too large");
  Bytes content(static_cast<std::size_t>(stat.size));
  NB_TRY_ASSIGN(const std::size_t filled, fs::read_fully(*file, 0, content));
  content.resize(filled);
  return content;
}

Status put_new_file(fs::Directory& directory, std::string_view name, ByteView content) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> file, directory.create_file(name));
  return file->write_at(0, content);
}

Status write_new_file(fs::Directory& directory, std::string_view name, ByteView content) {
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> file, directory.create_file(name));
  NB_TRY(file->write_at(0, content));
  return file->sync();
}

Status replace_small_file(fs::Directory& directory, std::string_view name, ByteView content, Lasting lasting) {
  const std::string temporary = std::string(name) + ".new";
  const bool is_durable = lasting == Lasting::durable;
  NB_TRY(remove_if_there(directory, temporary));
  NB_TRY(is_durable ? write_new_file(directory, temporary, content) : put_new_file(directory, temporary, content));
  NB_TRY(directory.rename(temporary, directory, name, fs::RenameMode::replace));
  return is_durable ? directory.sync() : Status();
}

Result<std::optional<fs::Stat>> find_name(const fs::Directory& directory, std::string_view name) {
  Result<fs::Stat> stat = directory.stat_at(name);
  if (stat) return std::optional<fs::Stat>(*stat);
  if (stat.error().code == Errc::not_found) return std::optional<fs::Stat>();
  return tl::make_unexpected(std::move(stat).error());
}

Status remove_if_there(fs::Directory& directory, std::string_view name) {
  Status removed = directory.remove_file(name);
  if (!removed && removed.error().code == Errc::not_found) return {};
  return removed;
}

Result<std::unique_ptr<fs::Directory>> open_if_there(const fs::Directory& parent, std::string_view name) {
  Result<std::unique_ptr<fs::Directory>> opened = parent.open_directory(name);
  if (!opened && opened.error().code == Errc::not_found) return std::unique_ptr<fs::Directory>();
  return opened;
}

Result<std::unique_ptr<fs::Directory>> open_or_create_directory(fs::Directory& parent, std::string_view name) {
  Result<std::unique_ptr<fs::Directory>> opened = parent.open_directory(name);
  if (opened || opened.error().code != Errc::not_found) return opened;
  return parent.create_directory(name);
}

Result<std::unique_ptr<fs::Directory>> open_or_create_path(fs::Directory& top, const RelPath& path) {
  if (path.is_root()) return top.reopen();
  Result<std::unique_ptr<fs::Directory>> whole = top.open_directory_path(path);
  if (whole || whole.error().code != Errc::not_found) return whole;
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> parent, open_or_create_path(top, path.parent()));
  return open_or_create_directory(*parent, path.name());
}

}  // namespace nb::txn
