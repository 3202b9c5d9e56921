// SPDX-License-Identifier: Apache-2.0
// Bodies of the messages of a command that runs where the set lies: Command, Text, CommandEnd. docs/protocol.md is the
// reference.
#include "base/assert.hpp"
#include "codec/compression.hpp"
#include "wire/fields.hpp"

namespace nb::wire {
namespace {

using enum Presence;

// Tags are on the wire: never renumber; see fields.hpp for what odd and even mean.
template <class Visitor, class Message>
void visit_command(Visitor& v, Message& m) {
  v.list(1, "words", m.words, k_max_command_words, k_max_command_word_bytes);
  v.label(4, "client", m.client);
  v.number(6, "columns", m.columns, k_max_columns, optional);
  v.label(8, "zone", m.zone);
  v.number(20, "compression", m.compression, codec::k_max_compression_code, optional);
}

}  // namespace

template <>
struct Body<Command> {
  static constexpr std::string_view k_what = "command";
  static void write(ByteWriter& out, const Command& m) {
    FieldWriter fields(out);
    visit_command(fields, m);
  }
  static Result<Command> read(ByteReader& in) {
    Command m;
    FieldReader fields(in);
    visit_command(fields, m);
    NB_TRY(fields.finish());
    if (m.words.empty()) return in.bad("no words");
    NB_TRY(codec::decode_compression(m.compression));
    return m;
  }
};

template <>
struct Body<Text> {
  static constexpr std::string_view k_what = "text";
  static void write(ByteWriter& out, const Text& m) {
    NB_ASSERT(!m.bytes.empty() && m.bytes.size() <= k_max_data_bytes);
    out.raw(m.bytes);
  }
  static Result<Text> read(ByteReader& in) {
    if (in.left() > k_max_data_bytes) return in.bad("too long");
    if (in.left() == 0) return in.bad("empty");
    Text m;
    NB_TRY_ASSIGN(m.bytes, in.raw(in.left()));
    return m;
  }
};

template <>
struct Body<CommandEnd> {
  static constexpr std::string_view k_what = "command_end";
  static void write(ByteWriter& out, const CommandEnd& m) { out.u8(m.exit_code); }
  static Result<CommandEnd> read(ByteReader& in) {
    CommandEnd m;
    NB_TRY_ASSIGN(m.exit_code, in.u8());
    return m;
  }
};

Status check_command(const Command& command) { return check_acceptable(command); }

NB_WIRE_INSTANTIATE(Command);
NB_WIRE_INSTANTIATE(Text);
NB_WIRE_INSTANTIATE(CommandEnd);

}  // namespace nb::wire
