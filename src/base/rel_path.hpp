// SPDX-License-Identifier: Apache-2.0
// RelPath: a path below some root, known to be harmless: no leading or trailing slash, no empty, '.' or '..'
// component, no NUL, no component over 255 bytes, at most 4095 bytes in all. Names are bytes, not text. The empty
// RelPath is the root itself. Whatever comes from a peer or a disk becomes a RelPath before it is used.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace nb {

inline constexpr std::size_t k_max_name_bytes = 255;
inline constexpr std::size_t k_max_path_bytes = 4095;

// True for one component that may be created: not empty, '.', '..', no slash or NUL, at most 255 bytes.
bool is_safe_name(std::string_view name);

// The directory in which nbackup keeps what belongs to a file set, and what it is called while it is made or removed.
inline constexpr std::string_view k_control_name = ".nbackup";
inline constexpr std::string_view k_control_new_name = ".nbackup.new";
// True for these two. At any depth they are never listed, sent, written to or deleted.
bool is_reserved_name(std::string_view name);
// True if one of the components of `path`, which need not be a RelPath, is reserved.
bool has_reserved_name(std::string_view path);

class RelPath {
 public:
  RelPath() = default;
  // Checks `text`; errors are coded `code` (path for a user's input, protocol for a peer's).
  static Result<RelPath> parse(std::string_view text, Errc code = Errc::path);

  // `name` has passed is_safe_name (asserted).
  [[nodiscard]] RelPath child(std::string_view name) const;
  // This path followed by all of `below`.
  [[nodiscard]] RelPath join(const RelPath& below) const;
  [[nodiscard]] RelPath parent() const;         // of the root: the root
  [[nodiscard]] std::string_view name() const;  // last component; empty for the root
  [[nodiscard]] bool is_root() const { return m_text.empty(); }
  // True if this is `other` or lies below it.
  [[nodiscard]] bool is_within(const RelPath& other) const;
  [[nodiscard]] const std::string& str() const { return m_text; }
  [[nodiscard]] std::size_t depth() const;  // number of components

  friend auto operator<=>(const RelPath&, const RelPath&) = default;

 private:
  explicit RelPath(std::string text) : m_text(std::move(text)) {}
  std::string m_text;
};

}  // namespace nb
