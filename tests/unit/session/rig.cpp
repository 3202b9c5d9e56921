// SPDX-License-Identifier: Apache-2.0
#include "unit/session/rig.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace nb::test {

namespace stdfs = std::filesystem;

Rig::Rig() {
  stdfs::create_directory(source());
  stdfs::create_directory(pool());
  job.client = "test@rig";
  job.options.wait = std::chrono::seconds(30);
  retry.first_delay = std::chrono::milliseconds(1);
}

Rig::~Rig() { settle(); }

void Rig::settle() {
  for (std::thread& server : m_servers) server.join();
  m_servers.clear();
}

Result<std::unique_ptr<transport::ByteStream>> Rig::connect() {
  if (before_reconnecting && !m_servers.empty()) {
    settle();
    before_reconnecting();
  }
  const std::lock_guard lock(m_mutex);
  PipeOptions options = pipe;
  if (!next_pipes.empty()) {
    options = next_pipes.front();
    next_pipes.erase(next_pipes.begin());
  }
  auto [client, server] = make_pipe(options);
  m_servers.emplace_back([this, stream = std::move(server)]() mutable {
    Recorder silent;
    SystemClock clock;
    static_cast<void>(session::serve(*stream, serve, silent, clock));
    stream->close_now();
  });
  return std::move(client);
}

Result<session::RunReport> Rig::run() {
  return session::run(
      job, [this] { return connect(); }, retry, seen, m_clock);
}

Result<session::RunReport> Rig::push() {
  job.operation = wire::Operation::push;
  job.sources = {source()};
  job.destination = pool();
  return run();
}

void put(const std::string& path, const std::string& content) {
  stdfs::create_directories(stdfs::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::map<std::string, std::string> tree_of(const std::string& root) {
  std::map<std::string, std::string> tree;
  // Names in this tree: history may hold more of the same inode.
  std::map<std::pair<dev_t, ino_t>, std::vector<std::string>> names;
  for (auto it = stdfs::recursive_directory_iterator(root); it != stdfs::recursive_directory_iterator(); ++it) {
    if (it->path().filename() == ".nbackup") {
      it.disable_recursion_pending();
      continue;
    }
    struct ::stat info {};
    REQUIRE(::lstat(it->path().c_str(), &info) == 0);
    std::ostringstream text;
    text << std::oct << info.st_mode << std::dec << " " << info.st_uid;
    if (!S_ISLNK(info.st_mode)) text << " " << info.st_mtim.tv_sec << "." << info.st_mtim.tv_nsec;
    if (S_ISLNK(info.st_mode)) text << " -> " << stdfs::read_symlink(it->path()).string();
    if (S_ISREG(info.st_mode)) text << " " << std::ifstream(it->path(), std::ios::binary).rdbuf();
    const std::string path = it->path().lexically_relative(root).string();
    tree[path] = text.str();
    if (!S_ISDIR(info.st_mode)) names[{info.st_dev, info.st_ino}].push_back(path);
  }
  for (const auto& [inode, paths] : names) {
    for (const std::string& path : paths) tree[path].insert(0, std::to_string(paths.size()) + " names ");
  }
  return tree;
}

std::vector<std::string> leftovers(const std::string& pool) {
  std::vector<std::string> found;
  const stdfs::path control = stdfs::path(pool) / ".nbackup";
  if (!stdfs::exists(control)) return found;
  for (const auto& entry : stdfs::directory_iterator(control)) {
    const std::string name = entry.path().filename();
    if (name == "tx") {
      for (const auto& left : stdfs::directory_iterator(entry.path()))
        found.push_back("tx/" + left.path().filename().string());
    } else if (name != "format" && name != "head" && name != "secret" && name != "spare" && name != "lock" &&
               name != "history" && name != "past" && name != "arrivals" && !name.starts_with("manifest.db")) {
      found.push_back(name);
    }
  }
  return found;
}

}  // namespace nb::test
