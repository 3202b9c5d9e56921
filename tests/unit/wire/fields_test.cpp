// SPDX-License-Identifier: Apache-2.0
// Tagged fields: what a later version may add, what is refused, and the limits of Hello, Open, Opened and RunResult.
#include <catch2/catch.hpp>

#include "unit/wire/samples.hpp"

using namespace nb;
using namespace nb::wire;

namespace {

void number_field(ByteWriter& out, std::uint64_t tag, std::uint64_t value) {
  const Bytes raw = made([&](ByteWriter& field) { field.varint(value); });
  out.varint(tag);
  out.blob(raw);
}

void text_field(ByteWriter& out, std::uint64_t tag, std::string_view value) {
  out.varint(tag);
  out.string(value);
}

// The least Hello, then whatever `more` adds.
Bytes hello_and(const std::function<void(ByteWriter&)>& more) {
  return made([&](ByteWriter& out) {
    number_field(out, 1, 1);
    number_field(out, 3, 1);
    more(out);
  });
}

std::string open_refusal(const std::function<void(Open&)>& change) {
  Open open = sample_open();
  change(open);
  const Status checked = check_open(open);
  const std::string context = refusal<Open>(encode(open));
  // The sender's own check finds the same.
  CHECK(checked.has_value() == (context == "accepted"));
  if (!checked) CHECK(checked.error().code == Errc::usage);
  return context;
}

std::string opened_refusal(const std::function<void(Opened&)>& change) {
  Opened opened = sample_opened();
  change(opened);
  return refusal<Opened>(encode(opened));
}

}  // namespace

TEST_CASE("fields: unknown even tags are skipped, odd ones refused", "[wire]") {
  CHECK(refusal<Hello>(hello_and([](ByteWriter&) {})) == "accepted");
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { text_field(out, 1000, "from the future"); })) == "accepted");
  const std::string unknown = "hello: a newer nbackup asks for something that this one does not know";
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { text_field(out, 1001, ""); })) == unknown);
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { text_field(out, 5, ""); })) == unknown);
  // Between known ones too, and those after it are still read.
  const Bytes body = made([](ByteWriter& out) {
    number_field(out, 1, 1);
    text_field(out, 2, "skipped");
    number_field(out, 3, 7);
    text_field(out, 5'000'000, "skipped");
  });
  const auto hello = decode_message<Hello>(body);
  REQUIRE(hello);
  CHECK(hello->version_max == 7);
}

TEST_CASE("fields: order, lengths and presence are checked", "[wire]") {
  CHECK(refusal<Hello>({}) == "hello: field missing: version_min");
  CHECK(refusal<Hello>(made([](ByteWriter& out) { number_field(out, 1, 1); })) == "hello: field missing: version_max");
  const std::string order = "hello: fields out of order";
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { number_field(out, 3, 1); })) == order);
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { number_field(out, 2, 1); })) == order);
  CHECK(refusal<Hello>(made([](ByteWriter& out) { number_field(out, 0, 1); })) == order);
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { number_field(out, ~std::uint64_t{0}, 1); })) == order);
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { text_field(out, 4, ""); })) == "hello: bad value of features");
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { text_field(out, 4, "ab"); })) == "hello: bad value of features");
  // A length without the bytes costs no memory.
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) {
          out.varint(6);
          out.varint(k_max_message_bytes);
        })) == "hello: truncated");
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) {
          out.varint(6);
          out.varint(k_max_message_bytes + 1);
        })) == "hello: value out of range");
}

TEST_CASE("hello: versions and texts", "[wire]") {
  const auto versions = [](std::uint64_t min, std::uint64_t max) {
    return refusal<Hello>(made([&](ByteWriter& out) {
      number_field(out, 1, min);
      number_field(out, 3, max);
    }));
  };
  CHECK(versions(1, 900) == "accepted");
  CHECK(versions(900, 900) == "accepted");
  CHECK(versions(0, 1) == "hello: version_min above version_max");
  CHECK(versions(2, 1) == "hello: version_min above version_max");
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { text_field(out, 6, std::string(513, 'x')); })) ==
        "hello: too long: software");
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { number_field(out, 14, k_max_inline_bytes); })) == "accepted");
  CHECK(refusal<Hello>(hello_and([](ByteWriter& out) { number_field(out, 14, k_max_inline_bytes + 1); })) ==
        "hello: bad value of inline_limit_bytes");
  Hello hello = sample_hello();
  hello.software = std::string(1000, 'x');
  CHECK(decode_message<Hello>(encode(hello))->software.size() == k_max_label_bytes);
}

TEST_CASE("open: the wish for compression is one that there is", "[wire]") {
  const auto with = [](std::uint64_t code) {
    Open open = sample_open();
    open.compression = code;
    return refusal<Open>(encode(open));
  };
  for (const std::uint64_t code : {0U, 1U, 9U, 35U}) CHECK(with(code) == "accepted");
  for (const std::uint64_t code : {2U, 8U, 36U}) CHECK(with(code) != "accepted");
}

TEST_CASE("open: every field comes back", "[wire]") {
  const Open open = decode_message<Open>(encode(sample_open())).value();
  CHECK(open.operation == Operation::push);
  CHECK(open.transaction == sample_open().transaction);
  CHECK(open.client == "root@nas");
  CHECK(open.flags == (k_flag_delete | k_flag_implied_root));
  CHECK(open.destination == "/pool");
  CHECK(open.sources == sample_open().sources);
  CHECK(open.filter_rules == sample_open().filter_rules);
  CHECK(open.max_delete == -1);
  CHECK(open.wait_seconds == 30);
  CHECK(open.wait_readers_seconds == 200);
  CHECK(open.expected_set == sample_open().expected_set);
  CHECK(open.compression == 25);
  CHECK(open.secret == sample_open().secret);
}

TEST_CASE("open: limits", "[wire]") {
  CHECK(open_refusal([](Open&) {}) == "accepted");
  CHECK(open_refusal([](Open& m) { m.operation = static_cast<Operation>(0); }) == "open: bad value of operation");
  CHECK(open_refusal([](Open& m) { m.operation = static_cast<Operation>(3); }) == "open: bad value of operation");
  CHECK(open_refusal([](Open& m) { m.flags = 1 << 14; }) == "open: unknown bits in flags");
  CHECK(open_refusal([](Open& m) { m.destination = std::string(4096, 'x'); }) == "open: too long: destination");
  CHECK(open_refusal([](Open& m) { m.destination = std::string("a\0b", 3); }) == "open: NUL byte in destination");
  CHECK(open_refusal([](Open& m) { m.sources = {""}; }) == "open: empty (sources)");
  CHECK(open_refusal([](Open& m) { m.sources = {std::string("\0", 1)}; }) == "open: NUL byte (sources)");
  CHECK(open_refusal([](Open& m) { m.sources.assign(k_max_sources, "x"); }) == "accepted");
  CHECK(open_refusal([](Open& m) { m.sources.assign(k_max_sources + 1, "x"); }) ==
        "open: value out of range (sources)");
  CHECK(open_refusal([](Open& m) { m.filter_rules.assign(k_max_filter_rules, "- x"); }) == "accepted");
  CHECK(open_refusal([](Open& m) { m.filter_rules.assign(k_max_filter_rules + 1, "- x"); }) ==
        "open: value out of range (filter_rules)");
  CHECK(open_refusal([](Open& m) { m.filter_rules = {std::string(k_max_filter_rule_bytes + 1, 'x')}; }) ==
        "open: value out of range (filter_rules)");
  CHECK(open_refusal([](Open& m) { m.filter_rules.assign(2000, std::string(4000, 'x')); }) == "open: message too long");
  CHECK(open_refusal([](Open& m) { m.max_delete = -3; }) == "open: bad value of max_delete");
  CHECK(open_refusal([](Open& m) { m.wait_seconds = k_max_seconds + 1; }) == "open: bad value of wait_seconds");
  CHECK(open_refusal([](Open& m) { m.secret.resize(31); }) == "open: bad length of secret");
}

TEST_CASE("open: a moment is of a pull, and of a kind that there is", "[wire]") {
  const auto with = [](Operation operation, Moment at) {
    return open_refusal([&](Open& m) {
      m.operation = operation;
      m.at = at;
    });
  };
  for (const Moment& at : {Moment{MomentKind::latest, 0}, Moment{MomentKind::generation, 0},
                           Moment{MomentKind::generation, 41}, Moment{MomentKind::time, k_max_moment}}) {
    CHECK(with(Operation::pull, at) == "accepted");
    CHECK(with(Operation::push, at) == "open: at_kind without pull");
    Open open = sample_open_at();
    open.at = at;
    CHECK(decode_message<Open>(encode(open))->at == at);
  }
  CHECK_FALSE(decode_message<Open>(encode(sample_open()))->at.has_value());
  CHECK(with(Operation::pull, {MomentKind::latest, 1}) == "open: bad value of at_value");
  CHECK(with(Operation::pull, {MomentKind::time, k_max_moment + 1}) == "open: bad value of at_value");
  CHECK(with(Operation::pull, {static_cast<MomentKind>(4), 1}) == "open: bad value of at_kind");
  CHECK(with(Operation::pull, {static_cast<MomentKind>(0), 1}) == "open: at_value without at_kind");
}

TEST_CASE("open: lists and ids of a wrong shape", "[wire]") {
  const auto with = [](std::uint64_t tag, std::string_view value) {
    return refusal<Open>(made([&](ByteWriter& out) {
      number_field(out, 1, 1);
      text_field(out, 3, tag == 3 ? value : std::string_view("0123456789abcdef"));
      if (tag == 19) number_field(out, 15, 0);
      if (tag != 3) text_field(out, tag, value);
    }));
  };
  CHECK(with(3, "short") == "open: bad length of transaction");
  CHECK(with(3, "0123456789abcdefg") == "open: bad length of transaction");
  CHECK(with(11, "\x02\x01x") == "open: truncated (sources)");
  CHECK(with(11, "\x01\x01xy") == "open: bytes left over (sources)");
  CHECK(with(19, "short") == "open: bad length of expected_set");
  CHECK(with(4, "me") == "open: field missing: max_delete");
}

TEST_CASE("opened and result: fields come back, limits hold", "[wire]") {
  const Opened opened = decode_message<Opened>(encode(sample_opened())).value();
  CHECK(opened.set == sample_opened().set);
  CHECK(opened.generation == 41);
  CHECK(opened.resumes);
  CHECK(opened_refusal([](Opened& m) { m.flags = k_flag_delete; }) == "opened: unknown bits in flags");
  CHECK(opened_refusal([](Opened& m) { m.secret.resize(64); }) == "opened: bad length of secret");
  const Opened empty = decode_message<Opened>({}).value();
  CHECK_FALSE(empty.set);

  const RunResult result = decode_message<RunResult>(encode(sample_result())).value();
  CHECK(result.committed);
  CHECK(result.content_bytes == std::uint64_t{1} << 40);
  CHECK(result.durability_unsure);
  CHECK_FALSE(decode_message<RunResult>({}).value().committed);
  CHECK(refusal<RunResult>(made([](ByteWriter& out) { number_field(out, 1, 2); })) == "result: bad value of committed");
  CHECK(refusal<RunResult>(made([](ByteWriter& out) { number_field(out, 22, 256); })) ==
        "result: bad value of durability_unsure");
  CHECK(result.history_bytes == 12);
  CHECK(result.damaged_files == 14);
  const auto scrubbed_at = [](std::uint64_t time) {
    return refusal<RunResult>(made([time](ByteWriter& out) { number_field(out, 32, time); }));
  };
  CHECK(scrubbed_at(std::uint64_t{1} << 63) == "result: bad value of last_scrub_ns");
}

TEST_CASE("command: words and what the terminal is", "[wire]") {
  const auto words = [](std::size_t count, const std::string& word) {
    Command command;
    command.words.assign(count, word);
    return refusal<Command>(encode(command));
  };
  CHECK(words(k_max_command_words, std::string(k_max_command_word_bytes, 'x')) == "accepted");
  CHECK(words(k_max_command_words + 1, "x") == "command: value out of range (words)");
  CHECK(words(1, std::string(k_max_command_word_bytes + 1, 'x')) == "command: value out of range (words)");
  CHECK(words(1, std::string("a\0b", 3)) == "command: NUL byte (words)");
  CHECK(words(0, "") == "command: no words");
  CHECK(words(1, "") == "command: empty (words)");
  const auto with = [](const std::function<void(Command&)>& change) {
    Command command = sample_command();
    change(command);
    return refusal<Command>(encode(command));
  };
  CHECK(with([](Command& command) { command.columns = k_max_columns; }) == "accepted");
  CHECK(with([](Command& command) { command.columns = k_max_columns + 1; }) == "command: bad value of columns");
  CHECK(with([](Command& command) { command.compression = 8; }) == "compression: no such code");
  Command command = sample_command();
  command.words.push_back(std::string(k_max_command_word_bytes + 1, 'x'));
  CHECK(check_command(command).error().code == Errc::usage);
  CHECK(check_command(sample_command()));
}

TEST_CASE("text, command_end: limits", "[wire]") {
  CHECK(refusal<Text>(Bytes(k_max_data_bytes)) == "accepted");
  CHECK(refusal<Text>(Bytes(k_max_data_bytes + 1)) == "text: too long");
  CHECK(refusal<Text>({}) == "text: empty");
  CHECK(refusal<CommandEnd>(Bytes(1)) == "accepted");
  CHECK(refusal<CommandEnd>({}) == "command_end: truncated");
  CHECK(refusal<CommandEnd>(Bytes(2)) == "command_end: bytes left over");
}
