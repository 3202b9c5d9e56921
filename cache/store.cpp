// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"

namespace nb::cache {

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

void Connection::rest() noexcept {
  for (auto& [sql, statement] : m_statements) {
    if (statement) statement->tryReset();
  }
}

Store::Store(std::string path, const Schema& schema, const StoreTexts& texts, Warn warn)
    : m_path(std::move(path)), m_schema(&schema), m_texts(&texts), m_warn(std::move(warn)) {
  connect(Suspicion::none);
}

Store::~Store() = default;

bool Store::usable() const {
  const std::lock_guard lock(m_mutex);
  return m_connection != nullptr;
}

void Store::connect(Suspicion suspicion) {
  m_connection.reset();
  try {
    auto opened = open_database(m_path, *m_schema, suspicion);
    if (!opened) return give_up(opened.error().message());
    m_connection = std::make_unique<Connection>(std::move(opened->database));
    if (!opened->set_aside.empty() && m_warn) {
      m_warn(std::string(m_texts->damage_is) + " " + m_path + " was damaged; it is kept as " + opened->set_aside +
             " and a new one was begun. " + m_texts->damage_costs);
    }
  } catch (const SQLite::Exception& error) {
    give_up(error.what());
  }
}

void Store::give_up(const std::string& reason) {
  m_connection.reset();
  if (m_warn) m_warn(std::string(m_texts->loss_is) + " (" + m_path + ": " + reason + ")");
  m_warn = {};
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
