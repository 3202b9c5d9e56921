// SPDX-License-Identifier: Apache-2.0
// What the sources that write --json events share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace nb::cli {

using Json = nlohmann::ordered_json;

// What is dumped has been escaped, so it is UTF-8; replacing is a second lock on that door, not a habit.
inline std::string dump(const Json& event) { return event.dump(-1, ' ', false, Json::error_handler_t::replace); }

inline Json event_of(std::string_view name) { return Json{{"event", name}}; }

}  // namespace nb::cli
