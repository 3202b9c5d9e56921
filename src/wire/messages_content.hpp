// SPDX-License-Identifier: Apache-2.0
// Messages about the contents of files, from Want to FileEnd, and their signatures. Included by messages.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "fs/stat.hpp"
#include "hash/digest.hpp"
#include "wire/message_type.hpp"

namespace nb::wire {

struct FileKey {
  std::uint64_t directory = 0;  // its id
  std::uint64_t index = 0;      // of the entry in its listing
  friend auto operator<=>(const FileKey&, const FileKey&) = default;
};

// What the sink has of a wanted file: the source may describe the new content against it, and ask for its signature.
struct Basis {
  std::uint64_t size = 0;
  std::optional<hash::Digest> digest;  // of its content, where the sink knows it: the source may remember its blocks
  friend bool operator==(const Basis&, const Basis&) = default;
};

struct Want {
  static constexpr auto k_type = MessageType::want;
  FileKey file;
  std::uint64_t offset = 0;  // first byte wanted; always 0 in version 1
  std::optional<Basis> basis = {};
  // The sink may have the content under another name: FileDigest, please, and no content yet. Then without a basis.
  bool digest_first = false;
};

// Source to sink, the answer to a Want with digest_first. BasisDone says that the sink has the content; otherwise a
// second Want for the same file comes.
struct FileDigest {
  static constexpr auto k_type = MessageType::file_digest;
  FileKey file;
  std::optional<hash::Digest> digest;  // none: it cannot be read as it was listed; the answer to the next Want tells
};

// Source to sink, before the content of a wanted file. `size` and `meta` are those of the file as opened, which may be
// newer than its listing. Sent again for the same file if it changed while it was read: what came before is void.
enum class ContentKind : std::uint8_t {
  whole = 1,  // data and holes
  delta = 2,  // copies from the basis of the Want too
};

struct FileBegin {
  static constexpr auto k_type = MessageType::file_begin;
  FileKey file;
  std::uint64_t size = 0;
  fs::Metadata meta;
  ContentKind kind = ContentKind::whole;
};

// Content of the file begun last, raw, in rising order of offsets.
struct Data {
  static constexpr auto k_type = MessageType::data;
  std::uint64_t offset = 0;
  ByteView bytes;  // into the received frame
};

struct Hole {
  static constexpr auto k_type = MessageType::hole;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Content of the file begun last that its basis has too.
struct Copy {
  static constexpr auto k_type = MessageType::copy;
  std::uint64_t offset = 0;
  std::uint64_t basis_offset = 0;
  std::uint64_t length = 0;
};

// Source to sink: a piece of the signature of this file's basis, please. One Signature answers it.
struct SignatureRequest {
  static constexpr auto k_type = MessageType::signature_request;
  FileKey file;
  std::uint64_t piece = 0;
};

// `blob` is a delta::SignaturePiece (docs/formats.md) of the file's basis; empty if the basis cannot be read any more.
struct Signature {
  static constexpr auto k_type = MessageType::signature;
  FileKey file;
  std::uint64_t piece = 0;
  ByteView blob;  // into the received frame
};

// Sink to source: the delta of this file was good, or its digest was enough; its listing may be forgotten. Where a delta
// was not good, another Want without a basis comes for the same file, and its answer is the whole content.
struct BasisDone {
  static constexpr auto k_type = MessageType::basis_done;
  FileKey file;
};

enum class FileOutcome : std::uint8_t {
  complete = 1,
  changed = 2,  // still changing after several tries
  vanished = 3,
  unreadable = 4,  // with an errno
};

struct FileEnd {
  static constexpr auto k_type = MessageType::file_end;
  FileKey file;
  FileOutcome outcome = FileOutcome::complete;
  std::uint64_t sys_errno = 0;
  hash::Digest digest;  // of the whole content, when complete
};

// A whole small file in one message: where everything is taken, and for wants of small files.
struct SmallFile {
  static constexpr auto k_type = MessageType::small_file;
  FileKey file;
  std::optional<fs::Metadata> meta;  // only if newer than the listing
  hash::Digest digest;
  ByteView bytes;  // into the received frame
};

}  // namespace nb::wire
