// SPDX-License-Identifier: Apache-2.0
// Internal to wire/: tagged fields, the form of messages that later versions extend. A message lists its fields once,
// in a visit_fields() that takes a FieldWriter or a FieldReader, in rising order of tags:
//
//   field := tag varint, length varint, value (length bytes)
//
// Tags rise strictly. A reader skips an unknown even tag and refuses an unknown odd one: who adds a field chooses an
// odd tag if a peer that does not know it would do the wrong thing. A field whose value is zero or empty is left out,
// except required ones; one that is absent reads as zero or empty.
#pragma once

#include "wire/body.hpp"

namespace nb::wire {

enum class Presence : std::uint8_t { optional, required };

class FieldWriter {
 public:
  explicit FieldWriter(ByteWriter& out) : m_out(out) {}

  void number(std::uint64_t tag, std::string_view name, std::uint64_t value, std::uint64_t max, Presence presence);
  void flags(std::uint64_t tag, std::string_view name, std::uint64_t value, std::uint64_t known);
  void signed_number(std::uint64_t tag, std::string_view name, std::int64_t value, std::int64_t min);
  void id(std::uint64_t tag, std::string_view name, const Id& value);
  void optional_id(std::uint64_t tag, std::string_view name, const std::optional<Id>& value);
  void label(std::uint64_t tag, std::string_view name, const std::string& value);
  void path_text(std::uint64_t tag, std::string_view name, const std::string& value);
  void secret(std::uint64_t tag, std::string_view name, const std::vector<std::byte>& value);
  void list(std::uint64_t tag, std::string_view name, const std::vector<std::string>& value, std::size_t max_count,
            std::size_t max_bytes);

 private:
  void raw(std::uint64_t tag, ByteView value);
  ByteWriter& m_out;
  Bytes m_value;  // scratch for values whose length is not known beforehand
};

// Reads the same list. After the first error all calls do nothing; finish() tells.
class FieldReader {
 public:
  explicit FieldReader(ByteReader& in) : m_in(in) { advance(); }

  void number(std::uint64_t tag, std::string_view name, std::uint64_t& value, std::uint64_t max, Presence presence);
  void flags(std::uint64_t tag, std::string_view name, std::uint64_t& value, std::uint64_t known);
  void signed_number(std::uint64_t tag, std::string_view name, std::int64_t& value, std::int64_t min);  // required
  void id(std::uint64_t tag, std::string_view name, Id& value);
  void optional_id(std::uint64_t tag, std::string_view name, std::optional<Id>& value);
  void label(std::uint64_t tag, std::string_view name, std::string& value);              // k_max_label_bytes
  void path_text(std::uint64_t tag, std::string_view name, std::string& value);          // k_max_path_bytes, no NUL
  void secret(std::uint64_t tag, std::string_view name, std::vector<std::byte>& value);  // exactly k_secret_bytes
  // Strings without NUL, none of them empty.
  void list(std::uint64_t tag, std::string_view name, std::vector<std::string>& value, std::size_t max_count,
            std::size_t max_bytes);
  // Checks what follows the last known field.
  Status finish();

 private:
  // Goes on to the field `tag`; its value, or nothing if it is absent.
  std::optional<ByteView> find(std::uint64_t tag, std::string_view name, Presence presence);
  void skip_until(std::uint64_t tag);
  void advance();
  void fail_with(std::string_view detail);
  void fail_with(Error error);

  ByteReader& m_in;
  std::uint64_t m_tag = 0;  // of the field read last and not yet used; k_no_tag at the end
  ByteView m_value;
  std::optional<Error> m_error;
};

}  // namespace nb::wire
