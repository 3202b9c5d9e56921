// SPDX-License-Identifier: Apache-2.0
// Bodies of the messages that tell what happened: ErrorMessage, Problem, Item, Notice, Phase, RunResult. docs/protocol.md
// is the reference.
#include "wire/fields.hpp"

namespace nb::wire {
namespace {

constexpr std::uint64_t k_any = ~std::uint64_t{0};
constexpr std::uint64_t k_max_time_ns = k_any >> 1;
using enum Presence;

// Tags are on the wire: never renumber; see fields.hpp for what odd and even mean.
template <class Visitor, class Message>
void visit_result(Visitor& v, Message& m, std::uint64_t& committed, std::uint64_t& unsure) {
  v.number(1, "committed", committed, 1, optional);
  v.number(2, "generation", m.generation, k_any, optional);
  v.number(4, "files_new", m.files_new, k_any, optional);
  v.number(6, "files_changed", m.files_changed, k_any, optional);
  v.number(8, "metadata_changed", m.metadata_changed, k_any, optional);
  v.number(10, "deleted", m.deleted, k_any, optional);
  v.number(12, "differences", m.differences, k_any, optional);
  v.number(14, "content_bytes", m.content_bytes, k_any, optional);
  v.number(16, "resumed_bytes", m.resumed_bytes, k_any, optional);
  v.number(18, "kept_aside", m.kept_aside, k_any, optional);
  v.number(20, "problems", m.problems, k_any, optional);
  v.number(22, "durability_unsure", unsure, 1, optional);
  v.number(24, "moved_bytes", m.moved_bytes, k_any, optional);
  v.number(26, "files_moved", m.files_moved, k_any, optional);
  v.number(28, "history_bytes", m.history_bytes, k_any, optional);
  v.number(30, "history_generations", m.history_generations, k_any, optional);
  v.number(32, "last_scrub_ns", m.last_scrub_ns, k_max_time_ns, optional);
  v.number(34, "damaged_files", m.damaged_files, k_any, optional);
}

// ErrorMessage and Problem differ in their meaning only.
template <class Message>
void write_error(ByteWriter& out, const Message& m) {
  out.varint(static_cast<std::uint64_t>(m.code));
  out.varint(m.sys_errno);
  out.string(clip(m.context, k_max_text_bytes));
}

// A code that is not known is that of a newer version, and `of_newer` stands for it: what else the peer says is not lost.
template <class Message>
Result<Message> read_error(ByteReader& in, Errc of_newer) {
  Message m;
  NB_TRY_ASSIGN(const std::uint64_t number, read_number(in, "code", k_any));
  const std::optional<Errc> code = errc_from_number(number);
  m.code = code.value_or(of_newer);
  NB_TRY_ASSIGN(m.sys_errno, read_number(in, "errno", k_max_errno));
  Result<std::string> context = in.string(k_max_text_bytes);
  if (!context) return in_field(std::move(context).error(), "context");
  m.context = std::move(*context);
  if (!code) m.context += " (error " + std::to_string(number) + ", of a newer version)";
  return m;
}

Result<std::string> read_change(ByteReader& in) {
  NB_TRY_ASSIGN(std::string change, read_c_string(in, "change", k_max_change_bytes, Emptiness::refused));
  for (const char c : change) {
    if (c < ' ' || c > '~') return in.bad("unprintable byte (change)");
  }
  return change;
}

}  // namespace

template <>
struct Body<RunResult> {
  static constexpr std::string_view k_what = "result";
  static void write(ByteWriter& out, const RunResult& m) {
    std::uint64_t committed = m.committed ? 1 : 0;
    std::uint64_t unsure = m.durability_unsure ? 1 : 0;
    FieldWriter fields(out);
    visit_result(fields, m, committed, unsure);
  }
  static Result<RunResult> read(ByteReader& in) {
    RunResult m;
    std::uint64_t committed = 0;
    std::uint64_t unsure = 0;
    FieldReader fields(in);
    visit_result(fields, m, committed, unsure);
    NB_TRY(fields.finish());
    m.committed = committed != 0;
    m.durability_unsure = unsure != 0;
    return m;
  }
};

template <>
struct Body<ErrorMessage> {
  static constexpr std::string_view k_what = "error";
  static void write(ByteWriter& out, const ErrorMessage& m) { write_error(out, m); }
  static Result<ErrorMessage> read(ByteReader& in) { return read_error<ErrorMessage>(in, Errc::protocol_version); }
};

template <>
struct Body<Problem> {
  static constexpr std::string_view k_what = "problem";
  static void write(ByteWriter& out, const Problem& m) { write_error(out, m); }
  static Result<Problem> read(ByteReader& in) { return read_error<Problem>(in, Errc::unreadable); }
};

template <>
struct Body<Item> {
  static constexpr std::string_view k_what = "item";
  static void write(ByteWriter& out, const Item& m) {
    out.string(m.change);
    out.string(m.path.str());
    out.string(clip(m.detail, k_max_text_bytes));
  }
  static Result<Item> read(ByteReader& in) {
    Item m;
    NB_TRY_ASSIGN(m.change, read_change(in));
    NB_TRY_ASSIGN(m.path, read_path(in, "path", Emptiness::allowed));
    NB_TRY_ASSIGN(m.detail, read_c_string(in, "detail", k_max_text_bytes, Emptiness::allowed));
    return m;
  }
};

template <>
struct Body<Notice> {
  static constexpr std::string_view k_what = "notice";
  static void write(ByteWriter& out, const Notice& m) { out.string(clip(m.text, k_max_text_bytes)); }
  static Result<Notice> read(ByteReader& in) {
    Notice m;
    NB_TRY_ASSIGN(m.text, read_c_string(in, "text", k_max_text_bytes, Emptiness::refused));
    return m;
  }
};

template <>
struct Body<Phase> {
  static constexpr std::string_view k_what = "phase";
  static void write(ByteWriter& out, const Phase& m) { out.u8(static_cast<std::uint8_t>(m.kind)); }
  static Result<Phase> read(ByteReader& in) {
    NB_TRY_ASSIGN(const std::uint8_t kind, read_kind(in, "kind", static_cast<std::uint8_t>(PhaseKind::cleanup)));
    return Phase{static_cast<PhaseKind>(kind)};
  }
};

NB_WIRE_INSTANTIATE(RunResult);
NB_WIRE_INSTANTIATE(ErrorMessage);
NB_WIRE_INSTANTIATE(Problem);
NB_WIRE_INSTANTIATE(Item);
NB_WIRE_INSTANTIATE(Notice);
NB_WIRE_INSTANTIATE(Phase);

}  // namespace nb::wire
