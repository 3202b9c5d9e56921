// SPDX-License-Identifier: Apache-2.0
#include "cache/manifest.hpp"

#include <algorithm>

#include "cache/directory_rows.hpp"
#include "cache/manifest_rows.hpp"
#include "cache/sums.hpp"

namespace nb::cache {
namespace {

constexpr std::size_t k_window_rows = 512;

constexpr StoreTexts k_texts{
    "the manifest",
    "Contents are read again where needed.",
    "no manifest, so contents are read again where needed",
};

rows::PathIn place(Connection& connection, const RelPath& path) {
  return {rows::make_directory(connection, path.parent().str()), path.name()};
}

bool is_state(const rows::File& file, const fs::Stat& stat) {
  return stat.type == fs::FileType::regular && file.inode == stat.inode && file.size == stat.size &&
         to_ns(stat.mtime) == file.mtime_ns;
}

void confirm_row(Connection& connection, const std::string& directory, const rows::PathIn& at, rows::File file,
                 const std::optional<fs::Stat>& after) {
  const auto ctime = after ? to_ns(after->ctime) : std::nullopt;
  const bool good = file.sum == file.sum_under(directory) && ctime && is_state(file, *after);
  if (!good) return rows::drop(connection, at, rows::State::pending);
  file.ctime_ns = *ctime;
  file.sum = file.sum_under(directory);
  rows::confirm(connection, at, std::move(file));
}

}  // namespace

// Confirmed rows of one directory: all whose names are in [first, last], or from first on if it reaches the end.
struct Manifest::Window {
  std::optional<RelPath> directory;
  std::string first;
  std::vector<rows::File> files;
  bool to_end = false;

  [[nodiscard]] bool covers(const RelPath& parent, std::string_view name) const {
    if (directory != parent || name < first) return false;
    return to_end || (!files.empty() && name <= files.back().name);
  }
};

Manifest::Manifest(std::shared_ptr<Store> store)
    : m_store(std::move(store)), m_batch(*m_store), m_window(std::make_unique<Window>()) {}

Manifest::~Manifest() { flush(); }

std::unique_ptr<Manifest> Manifest::open(const std::string& control_directory, Warn warn, FileAccess access) {
  return std::unique_ptr<Manifest>(new Manifest(std::make_shared<Store>(
      control_directory + "/manifest.db", rows::k_manifest_schema, k_texts, std::move(warn), access)));
}

std::unique_ptr<Manifest> Manifest::none() {
  return std::unique_ptr<Manifest>(new Manifest(std::make_shared<Store>()));
}

// --- Writing --------------------------------------------------------------------------------------------------------

// What changes confirmed rows: what was read of them does not hold any more.
template <class Work>
void Manifest::write(const Work& work) {
  *m_window = {};
  m_batch.add(work);
}

void Manifest::flush() { m_batch.flush(); }

void Manifest::begin_run(const TransactionId& transaction) {
  m_batch.add([&](Connection& connection) {
    if (rows::pending_transaction(connection) == as_text(transaction)) {
      rows::drop_pending_of_live(connection);
      return;
    }
    rows::drop_pending(connection);
    rows::set_pending_transaction(connection, transaction);
  });
  flush();
}

void Manifest::begin_file(const RelPath& path) {
  m_batch.add([&](Connection& connection) { rows::drop(connection, place(connection, path), rows::State::pending); });
}

void Manifest::stage(const RelPath& path, const StagedFile& file) {
  const auto mtime = to_ns(file.mtime);
  if (!mtime) return;
  m_batch.add([&](Connection& connection) {
    const rows::PathIn at = place(connection, path);
    const auto before = rows::find(connection, at, rows::State::pending);
    rows::File row{std::string(path.name()), file.inode, file.size, *mtime, 0, file.digest, 0, 0};
    row.signature = before ? before->signature : 0;
    row.sum = row.sum_under(path.parent().str());
    rows::put(connection, at, rows::State::pending, row);
  });
}

void Manifest::stage_piece(const RelPath& path, std::uint32_t index, ByteView data) {
  if (data.size() > k_max_signature_piece_bytes) return;
  const auto put = [&](Connection& connection) {
    rows::put_piece(connection, rows::make_signature(connection, place(connection, path)), index, data);
  };
  m_batch.add(put, data.size());
}

void Manifest::stage_signature_of(const RelPath& path, const RelPath& from) {
  for (std::uint32_t index = 0;; ++index) {
    const auto data = piece(from, index);
    if (!data) return;
    stage_piece(path, index, *data);
  }
}

void Manifest::confirm(const RelPath& path, const fs::Stat& after) {
  write([&](Connection& connection) {
    const rows::PathIn at = place(connection, path);
    auto file = rows::find(connection, at, rows::State::pending);
    if (file) confirm_row(connection, path.parent().str(), at, std::move(*file), after);
  });
}

void Manifest::confirm_all(const std::function<std::optional<fs::Stat>(const RelPath&)>& look) {
  rows::PendingFile last;
  while (true) {
    std::vector<rows::PendingFile> files;
    m_store->with([&](Connection& connection) {
      files = rows::list_pending(connection, {last.directory, last.file.name}, k_window_rows);
    });
    if (files.empty()) break;
    for (const rows::PendingFile& each : files) {
      const std::string& directory = each.directory_path;
      const auto path = RelPath::parse(directory.empty() ? each.file.name : directory + "/" + each.file.name);
      const auto after = path ? look(*path) : std::nullopt;
      write([&](Connection& connection) {
        confirm_row(connection, directory, {each.directory, each.file.name}, each.file, after);
      });
    }
    last = std::move(files.back());
  }
  flush();
}

void Manifest::restate(const RelPath& path, const fs::Stat& now, const hash::Digest& digest) {
  const auto ctime = to_ns(now.ctime);
  if (!ctime) return;
  write([&](Connection& connection) {
    const std::string directory = path.parent().str();
    const auto id = rows::find_directory(connection, directory);
    auto file = id ? rows::find(connection, {*id, path.name()}, rows::State::confirmed) : std::nullopt;
    const bool is_it =
        file && file->sum == file->sum_under(directory) && file->digest == digest && is_state(*file, now);
    if (!is_it) return;
    file->ctime_ns = *ctime;
    file->sum = file->sum_under(directory);
    rows::put(connection, {*id, path.name()}, rows::State::confirmed, *file);
  });
}

void Manifest::remove(const RelPath& path) {
  write([&](Connection& connection) {
    const auto directory = rows::find_directory(connection, path.parent().str());
    if (directory) rows::drop(connection, {*directory, path.name()}, rows::State::confirmed);
    rows::drop_tree(connection, path.str());
  });
}

// --- Reading --------------------------------------------------------------------------------------------------------

void Manifest::load(const RelPath& directory, std::string_view from) {
  *m_window = {};
  m_store->with([&](Connection& connection) {
    Window window{directory, std::string(from), {}, true};
    const auto id = rows::find_directory(connection, directory.str());
    if (id) window.files = rows::list(connection, *id, from, k_window_rows);
    window.to_end = window.files.size() < k_window_rows;
    *m_window = std::move(window);
  });
}

std::optional<hash::Digest> Manifest::find(const RelPath& path, const fs::Stat& stat) {
  const RelPath parent = path.parent();
  const std::string_view name = path.name();
  if (!m_window->covers(parent, name)) load(parent, name);
  const auto before = [](const rows::File& file, std::string_view wanted) { return file.name < wanted; };
  const auto& files = m_window->files;
  const auto found = std::lower_bound(files.begin(), files.end(), name, before);
  if (found == files.end() || found->name != name || !is_state(*found, stat)) return std::nullopt;
  if (to_ns(stat.ctime) != found->ctime_ns || found->sum != found->sum_under(parent.str())) return std::nullopt;
  return found->digest;
}

std::optional<Bytes> Manifest::piece(const RelPath& path, std::uint32_t index) {
  std::optional<Bytes> found;
  m_store->with([&](Connection& connection) {
    found.reset();
    const auto directory = rows::find_directory(connection, path.parent().str());
    if (!directory) return;
    const auto file = rows::find(connection, {*directory, path.name()}, rows::State::confirmed);
    if (file && file->signature != 0) found = rows::find_piece(connection, file->signature, index);
  });
  return found;
}

bool Manifest::has_other(const RelPath& path, std::uint64_t size, const std::optional<fs::Timestamp>& mtime) {
  const auto mtime_ns = mtime ? to_ns(*mtime) : std::nullopt;
  if (mtime && !mtime_ns) return false;
  bool found = false;
  m_store->with([&](Connection& connection) { found = rows::has_other(connection, path.str(), size, mtime_ns); });
  return found;
}

std::vector<RelPath> Manifest::find_by_content(const hash::Digest& digest, std::uint64_t size, std::size_t most) {
  std::vector<RelPath> paths;
  m_store->with([&](Connection& connection) {
    paths.clear();
    for (const std::string& text : rows::find_content(connection, digest, size, most)) {
      auto path = RelPath::parse(text);
      if (path) paths.push_back(std::move(*path));
    }
  });
  return paths;
}

// --- Directories ----------------------------------------------------------------------------------------------------

bool Manifest::knows_listings() {
  bool knows = false;
  m_store->with([&](Connection& connection) { knows = rows::knows_listings(connection); });
  return knows;
}

void Manifest::note_listing(const RelPath& directory, const hash::Digest& digest) {
  m_batch.add([&](Connection& connection) { rows::put_listing(connection, directory.str(), digest); });
}

std::vector<RelPath> Manifest::find_listing(const hash::Digest& digest, std::size_t most) {
  std::vector<RelPath> paths;
  m_store->with([&](Connection& connection) {
    paths.clear();
    for (const std::string& text : rows::find_listing(connection, digest, most)) {
      auto path = RelPath::parse(text);
      if (path) paths.push_back(std::move(*path));
    }
  });
  return paths;
}

void Manifest::note_extras(const RelPath& directory, const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += name + '\0';
  if (joined.size() > k_max_extras_bytes) joined.clear();
  std::string before;
  m_store->with([&](Connection& connection) { before = rows::find_extras(connection, directory.str()); });
  if (before == joined) return;
  m_batch.add([&](Connection& connection) { rows::put_extras(connection, directory.str(), joined); });
}

std::vector<std::string> Manifest::extras(const RelPath& directory) {
  std::string joined;
  m_store->with([&](Connection& connection) { joined = rows::find_extras(connection, directory.str()); });
  std::vector<std::string> names;
  std::size_t at = 0;
  for (std::size_t end = joined.find('\0'); end != std::string::npos; end = joined.find('\0', at)) {
    names.push_back(joined.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

}  // namespace nb::cache
