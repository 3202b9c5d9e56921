// SPDX-License-Identifier: Apache-2.0
// Bodies of the messages that begin and end a session: Hello, Open, Opened, KeepAlive, Query, QueryReply, Goodbye.
// docs/protocol.md is the reference.
#include "codec/compression.hpp"
#include "wire/fields.hpp"

namespace nb::wire {
namespace {

constexpr std::uint64_t k_any = ~std::uint64_t{0};
constexpr std::uint64_t k_open_flags = ((std::uint64_t{k_flag_no_history} << 1) - 1) & ~(std::uint64_t{1} << 8);
constexpr std::uint64_t k_opened_flags = k_flag_implied_root | k_flag_single_file;
using enum Presence;

// Tags are on the wire: never renumber; see fields.hpp for what odd and even mean.
template <class Visitor, class Message>
void visit_hello(Visitor& v, Message& m) {
  v.number(1, "version_min", m.version_min, k_any, required);
  v.number(3, "version_max", m.version_max, k_any, required);
  v.number(4, "features", m.features, k_any, optional);
  v.label(6, "software", m.software);
  v.number(8, "cpu_flags", m.cpu_flags, k_any, optional);
  v.number(10, "listing_credit_bytes", m.listing_credit_bytes, k_any, optional);
  v.number(12, "want_credit", m.want_credit, k_any, optional);
  v.number(14, "inline_limit_bytes", m.inline_limit_bytes, k_max_inline_bytes, optional);
  v.number(16, "inactivity_ms", m.inactivity_ms, k_any, optional);
}

// Open's enums as the numbers that are sent; 0 stands for nothing.
struct OpenNumbers {
  std::uint64_t operation = 0;
  std::uint64_t at_kind = 0;
  std::uint64_t at_value = 0;
};

template <class Visitor, class Message>
void visit_open(Visitor& v, Message& m, OpenNumbers& n) {
  v.number(1, "operation", n.operation, 2, required);
  v.id(3, "transaction", m.transaction);
  v.label(4, "client", m.client);
  v.flags(5, "flags", m.flags, k_open_flags);
  v.path_text(7, "destination", m.destination);
  v.list(11, "sources", m.sources, k_max_sources, k_max_path_bytes);
  v.list(13, "filter_rules", m.filter_rules, k_max_filter_rules, k_max_filter_rule_bytes);
  v.signed_number(15, "max_delete", m.max_delete, -2);
  v.number(16, "wait_seconds", m.wait_seconds, k_max_seconds, optional);
  v.number(18, "wait_readers_seconds", m.wait_readers_seconds, k_max_seconds, optional);
  v.optional_id(19, "expected_set", m.expected_set);
  v.number(20, "compression", m.compression, codec::k_max_compression_code, optional);
  v.secret(21, "secret", m.secret);
  v.number(23, "at_kind", n.at_kind, static_cast<std::uint64_t>(MomentKind::time), optional);
  v.number(25, "at_value", n.at_value, k_max_moment, optional);
}

Result<std::optional<Moment>> moment_of(const ByteReader& in, const OpenNumbers& n) {
  if (n.at_kind == 0 && n.at_value == 0) return std::nullopt;
  if (n.at_kind == 0) return in.bad("at_value without at_kind");
  const Moment at{static_cast<MomentKind>(n.at_kind), n.at_value};
  if (at.kind == MomentKind::latest && at.value != 0) return in.bad("bad value of at_value");
  // The tree that is written to is the one there is.
  if (n.operation != static_cast<std::uint64_t>(Operation::pull)) return in.bad("at_kind without pull");
  return at;
}

template <class Visitor, class Message>
void visit_opened(Visitor& v, Message& m, std::uint64_t& resumes) {
  v.optional_id(1, "set", m.set);
  v.number(2, "generation", m.generation, k_any, optional);
  v.secret(3, "secret", m.secret);
  v.flags(7, "flags", m.flags, k_opened_flags);
  v.number(10, "resumes", resumes, 1, optional);
}

}  // namespace

template <>
struct Body<Hello> {
  static constexpr std::string_view k_what = "hello";
  static void write(ByteWriter& out, const Hello& m) {
    FieldWriter fields(out);
    visit_hello(fields, m);
  }
  static Result<Hello> read(ByteReader& in) {
    Hello m;
    FieldReader fields(in);
    visit_hello(fields, m);
    NB_TRY(fields.finish());
    if (m.version_min == 0 || m.version_min > m.version_max) return in.bad("version_min above version_max");
    return m;
  }
};

template <>
struct Body<Open> {
  static constexpr std::string_view k_what = "open";
  static void write(ByteWriter& out, const Open& m) {
    OpenNumbers numbers{static_cast<std::uint64_t>(m.operation), 0, 0};
    if (m.at) numbers.at_kind = static_cast<std::uint64_t>(m.at->kind);
    if (m.at) numbers.at_value = m.at->value;
    FieldWriter fields(out);
    visit_open(fields, m, numbers);
  }
  static Result<Open> read(ByteReader& in) {
    Open m;
    OpenNumbers numbers;
    FieldReader fields(in);
    visit_open(fields, m, numbers);
    NB_TRY(fields.finish());
    if (numbers.operation == 0) return in.bad("bad value of operation");
    NB_TRY(codec::decode_compression(m.compression));
    m.operation = static_cast<Operation>(numbers.operation);
    NB_TRY_ASSIGN(m.at, moment_of(in, numbers));
    return m;
  }
};

template <>
struct Body<Opened> {
  static constexpr std::string_view k_what = "opened";
  static void write(ByteWriter& out, const Opened& m) {
    std::uint64_t resumes = m.resumes ? 1 : 0;
    FieldWriter fields(out);
    visit_opened(fields, m, resumes);
  }
  static Result<Opened> read(ByteReader& in) {
    Opened m;
    std::uint64_t resumes = 0;
    FieldReader fields(in);
    visit_opened(fields, m, resumes);
    NB_TRY(fields.finish());
    m.resumes = resumes != 0;
    return m;
  }
};

template <>
struct Body<KeepAlive> {
  static constexpr std::string_view k_what = "keep_alive";
  static void write(ByteWriter&, const KeepAlive&) {}
  static Result<KeepAlive> read(ByteReader&) { return KeepAlive{}; }
};

template <>
struct Body<Query> {
  static constexpr std::string_view k_what = "query";
  static void write(ByteWriter& out, const Query& m) {
    out.raw(m.transaction);
    out.string(m.destination);
  }
  static Result<Query> read(ByteReader& in) {
    Query m;
    NB_TRY_ASSIGN(m.transaction, read_id(in, "transaction"));
    NB_TRY_ASSIGN(m.destination, read_c_string(in, "destination", k_max_path_bytes, Emptiness::allowed));
    return m;
  }
};

template <>
struct Body<QueryReply> {
  static constexpr std::string_view k_what = "query_reply";
  static void write(ByteWriter& out, const QueryReply& m) {
    out.u8(m.committed ? 1 : 0);
    out.varint(m.generation);
  }
  static Result<QueryReply> read(ByteReader& in) {
    QueryReply m;
    NB_TRY_ASSIGN(const std::uint8_t committed, read_bits(in, "committed", 1));
    m.committed = committed != 0;
    NB_TRY_ASSIGN(m.generation, read_number(in, "generation", k_any));
    return m;
  }
};

template <>
struct Body<Goodbye> {
  static constexpr std::string_view k_what = "goodbye";
  static void write(ByteWriter&, const Goodbye&) {}
  static Result<Goodbye> read(ByteReader&) { return Goodbye{}; }
};

Status check_open(const Open& open) { return check_acceptable(open); }

NB_WIRE_INSTANTIATE(Hello);
NB_WIRE_INSTANTIATE(Open);
NB_WIRE_INSTANTIATE(Opened);
NB_WIRE_INSTANTIATE(KeepAlive);
NB_WIRE_INSTANTIATE(Query);
NB_WIRE_INSTANTIATE(QueryReply);
NB_WIRE_INSTANTIATE(Goodbye);

}  // namespace nb::wire
