// SPDX-License-Identifier: Apache-2.0
// Limits of the messages with fixed fields, listings aside.
#include <catch2/catch.hpp>

#include "unit/wire/samples.hpp"

using namespace nb;
using namespace nb::wire;

namespace {

Bytes numbers(std::initializer_list<std::uint64_t> values) {
  return made([&](ByteWriter& out) {
    for (const std::uint64_t value : values) out.varint(value);
  });
}

Bytes with_digest(std::initializer_list<std::uint64_t> values) {
  Bytes body = numbers(values);
  body.insert(body.end(), hash::k_digest_bytes, std::byte{1});
  return body;
}

std::string directory_refusal(std::uint64_t id, std::string_view path, std::uint64_t flags, std::uint64_t entries) {
  return refusal<DirectoryMessage>(made([&](ByteWriter& out) {
    out.varint(id);
    out.string(path);
    out.varint(flags);
    out.varint(entries);
    sample_digest().write(out);
  }));
}

std::string item_refusal(std::string_view change, std::string_view path, std::string_view detail) {
  return refusal<Item>(made([&](ByteWriter& out) {
    out.string(change);
    out.string(path);
    out.string(detail);
  }));
}

}  // namespace

TEST_CASE("directory: limits", "[wire]") {
  CHECK(directory_refusal(k_max_directory_id, "", 7, k_max_entries) == "accepted");
  CHECK(directory_refusal(k_max_directory_id + 1, "", 0, 0) == "directory: value out of range (id)");
  CHECK(directory_refusal(0, "", 16, 0) == "directory: value out of range (flags)");
  CHECK(directory_refusal(0, "", 0, k_max_entries + 1) == "directory: value out of range (entries)");
  CHECK(directory_refusal(0, "a/../b", 0, 0).starts_with("directory: path: unsafe path"));
  CHECK(directory_refusal(0, "/a", 0, 0).starts_with("directory: path: unsafe path"));
  CHECK(directory_refusal(0, "a/.nbackup", 0, 0) == "directory: unsafe name (path)");
}

TEST_CASE("directory_reply, directory_done, phase: kinds and ids", "[wire]") {
  for (const unsigned kind : {1U, 2U, 3U, 4U, 5U}) CHECK(refusal<DirectoryReply>(numbers({0, kind})) == "accepted");
  CHECK(refusal<DirectoryReply>(numbers({0, 0})) == "directory_reply: unknown value (kind)");
  CHECK(refusal<DirectoryReply>(numbers({0, 6})) == "directory_reply: unknown value (kind)");
  CHECK(refusal<DirectoryReply>(numbers({k_max_directory_id + 1, 1})) == "directory_reply: value out of range (id)");
  CHECK(refusal<DirectoryDone>(numbers({k_max_directory_id + 1})) == "directory_done: value out of range (id)");
  for (const unsigned kind : {1U, 2U, 3U, 4U, 5U}) CHECK(refusal<Phase>(numbers({kind})) == "accepted");
  CHECK(refusal<Phase>(numbers({0})) == "phase: unknown value (kind)");
  CHECK(refusal<Phase>(numbers({6})) == "phase: unknown value (kind)");
}

TEST_CASE("want, hole: ranges", "[wire]") {
  CHECK(refusal<Want>(numbers({k_max_directory_id, k_max_entries, k_max_file_bytes, 0})) == "accepted");
  CHECK(refusal<Want>(numbers({k_max_directory_id + 1, 0, 0})) == "want: value out of range (directory)");
  CHECK(refusal<Want>(numbers({0, k_max_entries + 1, 0})) == "want: value out of range (index)");
  CHECK(refusal<Want>(numbers({0, 0, k_max_file_bytes + 1})) == "want: value out of range (offset)");
  CHECK(refusal<Hole>(numbers({1, k_max_file_bytes - 1})) == "accepted");
  CHECK(refusal<Hole>(numbers({1, k_max_file_bytes})) == "hole: value out of range (offset and length)");
  CHECK(refusal<Hole>(numbers({0, ~std::uint64_t{0}})) == "hole: value out of range (length)");
  CHECK(refusal<Hole>(numbers({~std::uint64_t{0}, 1})) == "hole: value out of range (offset)");
  CHECK(refusal<Hole>(numbers({1, 0})) == "hole: empty");
}

TEST_CASE("want: a basis", "[wire]") {
  CHECK(refusal<Want>(numbers({0, 0, 0, 1, k_max_file_bytes})) == "accepted");
  CHECK(refusal<Want>(numbers({0, 0, 0, 1, k_max_file_bytes + 1})) == "want: value out of range (basis size)");
  CHECK(refusal<Want>(with_digest({0, 0, 0, 3, 100})) == "accepted");
  CHECK(refusal<Want>(numbers({0, 0, 0, 3, 100})) == "want: truncated (basis digest)");
  CHECK(refusal<Want>(with_digest({0, 0, 0, 2})) == "want: digest without a basis");
  CHECK(refusal<Want>(numbers({0, 0, 0, 8})) == "want: unknown bits (basis)");
}

TEST_CASE("want, file_digest: the digest first", "[wire]") {
  CHECK(refusal<Want>(numbers({0, 0, 0, 4})) == "accepted");
  CHECK(refusal<Want>(numbers({0, 0, 0, 5, 100})) == "want: digest first with a basis");
  CHECK(refusal<Want>(with_digest({0, 0, 0, 6})) == "want: digest first with a basis");
  CHECK(refusal<FileDigest>(numbers({0, 0, 0})) == "accepted");
  CHECK(refusal<FileDigest>(with_digest({0, 0, 1})) == "accepted");
  CHECK(refusal<FileDigest>(numbers({0, 0, 1})) == "file_digest: truncated (digest)");
  CHECK(refusal<FileDigest>(numbers({0, 0, 2})) == "file_digest: unknown bits (flags)");
  CHECK(refusal<FileDigest>(numbers({0, k_max_entries + 1, 0})) == "file_digest: value out of range (index)");
}

TEST_CASE("copy: ranges in both files", "[wire]") {
  CHECK(refusal<Copy>(numbers({1, 2, k_max_file_bytes - 2})) == "accepted");
  CHECK(refusal<Copy>(numbers({1, 2, k_max_file_bytes - 1})) == "copy: value out of range (offset and length)");
  CHECK(refusal<Copy>(numbers({2, 1, k_max_file_bytes - 1})) == "copy: value out of range (offset and length)");
  CHECK(refusal<Copy>(numbers({0, 0, 0})) == "copy: empty");
  CHECK(refusal<Copy>(numbers({k_max_file_bytes + 1, 0, 1})) == "copy: value out of range (offset)");
  CHECK(refusal<Copy>(numbers({0, k_max_file_bytes + 1, 1})) == "copy: value out of range (basis offset)");
}

TEST_CASE("signature_request, signature, basis_done: limits", "[wire]") {
  CHECK(refusal<SignatureRequest>(numbers({0, 0, k_max_signature_pieces})) == "accepted");
  CHECK(refusal<SignatureRequest>(numbers({0, 0, k_max_signature_pieces + 1})) ==
        "signature_request: value out of range (piece)");
  Bytes signature = numbers({0, 0, 7});
  CHECK(refusal<Signature>(signature) == "accepted");
  signature.resize(signature.size() + k_max_signature_bytes);
  CHECK(refusal<Signature>(signature) == "accepted");
  signature.resize(signature.size() + 1);
  CHECK(refusal<Signature>(signature) == "signature: too long");
  CHECK(refusal<BasisDone>(numbers({k_max_directory_id + 1, 0})) == "basis_done: value out of range (directory)");
}

TEST_CASE("data, small_file: content", "[wire]") {
  const auto data_refusal = [](std::uint64_t offset, std::size_t size) {
    Bytes body = numbers({offset});
    body.resize(body.size() + size);
    return refusal<Data>(body);
  };
  CHECK(data_refusal(0, k_max_data_bytes) == "accepted");
  CHECK(data_refusal(0, k_max_data_bytes + 1) == "data: too long");
  CHECK(data_refusal(0, 0) == "data: empty");
  CHECK(data_refusal(k_max_file_bytes - 1, 1) == "accepted");
  CHECK(data_refusal(k_max_file_bytes - 1, 2) == "data: value out of range (offset and length)");
  CHECK(data_refusal(k_max_file_bytes + 1, 2) == "data: value out of range (offset)");

  Bytes small = with_digest({0, 0, 0});
  CHECK(refusal<SmallFile>(small) == "accepted");  // an empty file
  small.resize(small.size() + k_max_data_bytes);
  CHECK(refusal<SmallFile>(small) == "accepted");
  small.resize(small.size() + 1);
  CHECK(refusal<SmallFile>(small) == "small_file: too long");
  CHECK(refusal<SmallFile>(with_digest({0, 0, 2})) == "small_file: unknown bits (flags)");
}

TEST_CASE("file_begin, file_end: limits", "[wire]") {
  FileBegin begin;
  begin.size = k_max_file_bytes;
  CHECK(refusal<FileBegin>(encode(begin)) == "accepted");
  begin.kind = static_cast<ContentKind>(3);
  CHECK(refusal<FileBegin>(encode(begin)) == "file_begin: unknown value (content)");
  begin.kind = ContentKind::delta;
  begin.size += 1;
  CHECK(refusal<FileBegin>(encode(begin)) == "file_begin: value out of range (size)");
  CHECK(refusal<FileEnd>(with_digest({0, 0, 1, 0})) == "accepted");
  CHECK(refusal<FileEnd>(numbers({0, 0, 1, 0})) == "file_end: truncated (digest)");
  CHECK(refusal<FileEnd>(numbers({0, 0, 4, 4095})) == "accepted");
  CHECK(refusal<FileEnd>(numbers({0, 0, 4, 4096})) == "file_end: value out of range (errno)");
  CHECK(refusal<FileEnd>(numbers({0, 0, 0, 0})) == "file_end: unknown value (outcome)");
  CHECK(refusal<FileEnd>(numbers({0, 0, 5, 0})) == "file_end: unknown value (outcome)");
}

TEST_CASE("scan_end: limits", "[wire]") {
  CHECK(refusal<ScanEnd>(with_digest({k_max_directory_id + 1, ~std::uint64_t{0}, ~std::uint64_t{0}})) == "accepted");
  CHECK(refusal<ScanEnd>(with_digest({k_max_directory_id + 2, 0, 0})) == "scan_end: value out of range (directories)");
}

TEST_CASE("error, problem: codes and texts", "[wire]") {
  for (const ErrcInfo& row : errc_table()) {
    const auto error = decode_message<ErrorMessage>(encode(ErrorMessage{row.code, 0, ""}));
    REQUIRE(error);
    CHECK(error->code == row.code);
  }
  // Those of a newer version.
  CHECK(decode_message<ErrorMessage>(numbers({9999, 0, 0}))->code == Errc::protocol_version);
  CHECK(decode_message<Problem>(numbers({9999, 0, 0}))->code == Errc::unreadable);
  CHECK(refusal<Problem>(numbers({9, 4096, 0})) == "problem: value out of range (errno)");
  CHECK(refusal<Problem>(numbers({9, 5, k_max_text_bytes + 1})) == "problem: value out of range (context)");
  // A text that is too long is cut by its sender.
  const auto cut = decode_message<Problem>(encode(Problem{Errc::io, 5, std::string(k_max_text_bytes + 1, 'x')}));
  REQUIRE(cut);
  CHECK(cut->context.size() == k_max_text_bytes);
}

TEST_CASE("item: fields", "[wire]") {
  CHECK(item_refusal("*deleting", "a/b", "") == "accepted");
  CHECK(item_refusal(".d..t......", "", "") == "accepted");
  CHECK(item_refusal("", "a", "") == "item: empty (change)");
  CHECK(item_refusal("............", "a", "") == "item: value out of range (change)");
  CHECK(item_refusal("\x1b[2J", "a", "") == "item: unprintable byte (change)");
  CHECK(item_refusal("*deleting", "../a", "").starts_with("item: path: unsafe path"));
  CHECK(item_refusal("*deleting", "a", std::string(k_max_text_bytes + 1, 'x')) == "item: value out of range (detail)");
}

TEST_CASE("query, query_reply, empty messages", "[wire]") {
  CHECK(refusal<Query>(encode(Query{{}, std::string(4095, 'x')})) == "accepted");
  CHECK(refusal<Query>(encode(Query{{}, std::string(4096, 'x')})) == "query: value out of range (destination)");
  CHECK(refusal<Query>(encode(Query{{}, std::string("\0", 1)})) == "query: NUL byte (destination)");
  CHECK(refusal<Query>(numbers({1, 2, 3})) == "query: truncated (transaction)");
  CHECK(refusal<QueryReply>(numbers({2, 0})) == "query_reply: unknown bits (committed)");
  CHECK(refusal<KeepAlive>(numbers({0})) == "keep_alive: bytes left over");
  CHECK(refusal<Goodbye>(numbers({0})) == "goodbye: bytes left over");
}

TEST_CASE("wire: a body over the limit is refused", "[wire]") {
  CHECK(refusal<KeepAlive>(Bytes(k_max_message_bytes + 1)) == "keep_alive: message too long");
}
