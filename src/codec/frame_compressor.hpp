// SPDX-License-Identifier: Apache-2.0
// FrameCompressor: the sending half of a zstd stream that is cut into frames. One for each direction of a connection:
// all frames share one window, so that small files compress as one large one would. A frame that is sent raw is simply
// not shown to it. Format: RFC 8878.
#pragma once

#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "codec/compression.hpp"

struct ZSTD_CCtx_s;

namespace nb::codec {

class FrameCompressor {
 public:
  enum class Finish : std::uint8_t { flush, end };

  FrameCompressor();
  ~FrameCompressor();
  FrameCompressor(const FrameCompressor&) = delete;
  FrameCompressor& operator=(const FrameCompressor&) = delete;

  // From the next zstd frame on: large ones only where the receiver accepts them. They are used from level 6 on, with a
  // search for long matches: links that leave time for that are slow, and a few percent less is worth memory there.
  void use(Windows windows) { m_windows = windows; }
  // Appends `payload`, compressed, to `out`: whole, so that the receiver gets all of it out of these bytes. What was
  // appended must be sent, even if it is longer than the payload (by a few bytes at most), because later frames refer
  // to it. Another level than last time ends the zstd frame and begins the next, with an empty window. `level` is
  // within k_least_level and k_most_level. Errc::io where memory is short; the stream is of no use then.
  // Finish::end ends the zstd frame. If the payload is the first of its frame too, memory follows its size: some KiB for
  // a small one, where a window takes MiB.
  Status compress(ByteView payload, int level, Bytes& out, Finish finish = Finish::flush);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  Status set_level(int level, Bytes& out);
  Status set_window(int level);
  Status run(ByteView payload, Finish finish, Bytes& out);

  std::unique_ptr<ZSTD_CCtx_s, Free> m_context;
  Windows m_windows = Windows::ordinary;
  std::optional<int> m_level;  // of the zstd frame that is open
  Bytes m_scratch;
};

}  // namespace nb::codec
