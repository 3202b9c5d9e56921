// SPDX-License-Identifier: Apache-2.0
// Whole small files, and names that may or may not be there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fs/directory.hpp"

namespace nb::txn {

// Errors: not_found; bad_set if it is larger than any of ours.
Result<Bytes> read_small_file(const fs::Directory& directory, std::string_view name);
// A new file, of which nothing is durable yet.
Status put_new_file(fs::Directory& directory, std::string_view name, ByteView content);
// A new file, content durable; its name is not (sync the directory).
Status write_new_file(fs::Directory& directory, std::string_view name, ByteView content);

// A power cut may lose a hint, to the content before or to none.
enum class Lasting : std::uint8_t { durable, hint };
// In place of `name`, in one step. `<name>.new` is its own, for a moment.
Status replace_small_file(fs::Directory& directory, std::string_view name, ByteView content, Lasting lasting);

// Nothing if there is no such name.
Result<std::optional<fs::Stat>> find_name(const fs::Directory& directory, std::string_view name);
// Fine if there is none.
Status remove_if_there(fs::Directory& directory, std::string_view name);
// Null if there is none.
Result<std::unique_ptr<fs::Directory>> open_if_there(const fs::Directory& parent, std::string_view name);
Result<std::unique_ptr<fs::Directory>> open_or_create_directory(fs::Directory& parent, std::string_view name);
// `path` below `top`, with what is missing of the directories on the way. The root: another handle on `top`.
Result<std::unique_ptr<fs::Directory>> open_or_create_path(fs::Directory& top, const RelPath& path);

}  // namespace nb::txn
