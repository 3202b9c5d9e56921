// SPDX-License-Identifier: Apache-2.0
// FrameDecompressor: the receiving half of FrameCompressor. Its input comes from the peer: it refuses what is no zstd,
// windows above what was agreed, and payloads above the caller's limit, before it takes memory for them.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.hpp"
#include "codec/compression.hpp"

struct ZSTD_DCtx_s;

namespace nb::codec {

class FrameDecompressor {
 public:
  explicit FrameDecompressor(Windows windows);
  ~FrameDecompressor();
  FrameDecompressor(const FrameDecompressor&) = delete;
  FrameDecompressor& operator=(const FrameDecompressor&) = delete;

  // The payload of the next compressed frame, 1 to `max_bytes` long. Errc::protocol for anything else; the stream is of
  // no use then. Errc::internal where memory is short.
  Result<Bytes> decompress(ByteView compressed, std::size_t max_bytes);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  Status prepare();

  Windows m_windows;

  std::unique_ptr<ZSTD_DCtx_s, Free> m_context;
  bool m_between_frames = true;  // what comes next must be the beginning of a zstd frame
  Bytes m_scratch;
};

}  // namespace nb::codec
