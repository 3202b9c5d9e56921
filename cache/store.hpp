// SPDX-License-Identifier: Apache-2.0
// Store: one SQLite file of ours that may be lost at any time and costs no more than time then. So nothing here fails:
// trouble is told once, through `warn`, and from then on there is no memory. A damaged file is set aside and begun
// anew. Everything that is kept in one file shares one Store.
//
// Any thread may call; calls take turns.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cache/database.hpp"

namespace nb::cache {

using Warn = std::function<void(const std::string& text)>;

// An open database and the statements that were prepared on it.
class Connection {
 public:
  explicit Connection(std::unique_ptr<SQLite::Database> database) : m_database(std::move(database)) {}

  [[nodiscard]] SQLite::Database& database() { return *m_database; }
  // Prepared at its first use, afterwards reset and without bindings. `sql` is a literal: it is known by its address.
  SQLite::Statement& statement(const char* sql);
  [[nodiscard]] bool is_in_transaction() const;
  // Ends what statements still read; none of them is to keep a transaction open.
  void rest() noexcept;

 private:
  std::unique_ptr<SQLite::Database> m_database;  // goes last: it cannot be closed before its statements
  std::map<const char*, std::unique_ptr<SQLite::Statement>> m_statements;
};

// What `warn` is told: "<damage_is> <path> was damaged ... <damage_costs>", "<loss_is> (<path>: <reason>)".
struct StoreTexts {
  const char* damage_is;
  const char* damage_costs;
  const char* loss_is;
};

class Store {
 public:
  // Opens the file at `path`, or makes it where it may be written. What `schema` names, and `texts`, outlive the store.
  Store(std::string path, const Schema& schema, const StoreTexts& texts, Warn warn,
        FileAccess access = FileAccess::write);
  // Holds nothing and says nothing.
  Store() = default;
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] const std::string& path() const { return m_path; }
  // As people know it: a directory that was given by its descriptor ("/proc/self/fd/N") has its real path here.
  [[nodiscard]] std::string shown_path() const;
  [[nodiscard]] bool usable() const;
  // How often the file seemed to be damaged and then was not, of which nobody is told: a transaction that was open then
  // is lost.
  [[nodiscard]] unsigned false_alarms() const;

  // Runs `work` on the database if there is one, dealing with every SQLite exception; once more, from its start, after
  // a damaged file was begun anew. A transaction that `work` leaves open stays open.
  template <class Work>
  void with(const Work& work) {
    const std::lock_guard lock(m_mutex);
    run([](void* context, Connection& connection) { (*static_cast<const Work*>(context))(connection); },
        const_cast<void*>(static_cast<const void*>(&work)));
  }

 private:
  using Call = void (*)(void* context, Connection& connection);
  void run(Call call, void* context);
  void connect(Suspicion suspicion);
  void give_up(const std::string& reason);
  void tell(std::string text) const;

  std::string m_path;
  Schema m_schema;
  const StoreTexts* m_texts = nullptr;
  Warn m_warn;
  mutable std::mutex m_mutex;
  std::unique_ptr<Connection> m_connection;  // null: no memory
  unsigned m_false_alarms = 0;
};

}  // namespace nb::cache
