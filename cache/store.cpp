// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <system_error>

namespace nb::cache {
namespace {

constexpr std::string_view k_descriptors = "/proc/self/fd/";

// The directory of `path` where that is named by a descriptor; else nothing.
std::string_view held_directory(std::string_view path) {
  const bool is_held = path.substr(0, k_descriptors.size()) == k_descriptors;
  return is_held ? path.substr(0, path.find('/', k_descriptors.size())) : std::string_view();
}

std::string real_path(std::string_view directory) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::read_symlink(directory, error);
  return error ? std::string(directory) : real.string();
}

}  // namespace

SQLite::Statement& Connection::statement(const char* sql) {
  std::unique_ptr<SQLite::Statement>& found = m_statements[sql];
  if (!found) {
    found = std::make_unique<SQLite::Statement>(*m_database, sql);
  } else {
    found->tryReset();
    found->clearBindings();
  }
  return *found;
}

bool Connection::is_in_transaction() const { return ::sqlite3_get_autocommit(m_database->getHandle()) == 0; }

void Connection::rest() noexcept {
  for (auto& [sql, statement] : m_statements) {
    if (statement) statement->tryReset();
  }
}

Store::Store(std::string path, const Schema& schema, const StoreTexts& texts, Warn warn, FileAccess access)
    : m_path(std::move(path)), m_schema(schema), m_texts(&texts), m_warn(std::move(warn)) {
  m_schema.access = access;
  connect(Suspicion::none);
}

Store::~Store() = default;

bool Store::usable() const {
  const std::lock_guard lock(m_mutex);
  return m_connection != nullptr;
}

unsigned Store::false_alarms() const {
  const std::lock_guard lock(m_mutex);
  return m_false_alarms;
}

void Store::connect(Suspicion suspicion) {
  m_connection.reset();
  try {
    auto opened = open_database(m_path, m_schema, suspicion);
    if (!opened) return give_up(opened.error().message());
    m_connection = std::make_unique<Connection>(std::move(opened->database));
    if (suspicion == Suspicion::damaged && opened->set_aside.empty()) ++m_false_alarms;
    if (!opened->set_aside.empty()) {
      tell(std::string(m_texts->damage_is) + " " + m_path + " was damaged; it is kept as " + opened->set_aside +
           " and a new one was begun. " + m_texts->damage_costs);
    }
  } catch (const SQLite::Exception& error) {
    give_up(error.what());
  }
}

void Store::give_up(const std::string& reason) {
  m_connection.reset();
  tell(std::string(m_texts->loss_is) + " (" + m_path + ": " + reason + ")");
  m_warn = {};
}

// Every path in `text` that begins with the held directory's becomes one that people know.
void Store::tell(std::string text) const {
  if (!m_warn) return;
  const std::string held(held_directory(m_path));
  if (!held.empty()) {
    const std::string real = real_path(held);
    const std::string below = held + "/";
    for (std::size_t at = text.find(below); at != std::string::npos; at = text.find(below, at + real.size())) {
      text.replace(at, held.size(), real);
    }
  }
  m_warn(text);
}

std::string Store::shown_path() const {
  const std::string_view held = held_directory(m_path);
  return held.empty() ? m_path : real_path(held) + m_path.substr(held.size());
}

void Store::run(Call call, void* context) {
  for (int attempt = 0; m_connection && attempt < 2; ++attempt) {
    try {
      call(context, *m_connection);
      m_connection->rest();
      return;
    } catch (const SQLite::Exception& error) {
      if (attempt == 0 && means_damage(error)) {
        connect(Suspicion::damaged);
      } else {
        give_up(error.what());
      }
    }
  }
}

}  // namespace nb::cache
