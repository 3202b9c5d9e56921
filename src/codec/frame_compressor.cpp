// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_compressor.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>

#include "base/assert.hpp"

namespace nb::codec {
namespace {

constexpr int k_least_level_of_long_matches = 6;

tl::unexpected<Error> no_memory() { return fail(Errc::io, "compress what goes out", ENOMEM); }

// Fails only where there is no memory, or on a mistake of ours.
Status check(std::size_t code) {
  if (ZSTD_isError(code) == 0) return {};
  if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) return no_memory();
  return fail(Errc::internal, std::string("zstd: ") + ZSTD_getErrorName(code));
}

}  // namespace

FrameCompressor::FrameCompressor() = default;
FrameCompressor::~FrameCompressor() = default;

void FrameCompressor::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

// The level of an open zstd frame cannot be changed.
Status FrameCompressor::set_level(int level, Bytes& out) {
  NB_ASSERT(level >= k_least_level && level <= k_most_level);
  if (m_level == level) return {};
  if (!m_context) {
    m_context.reset(ZSTD_createCCtx());
    if (!m_context) return no_memory();
  }
  if (m_level) NB_TRY(run({}, Finish::end, out));
  NB_TRY(check(ZSTD_CCtx_setParameter(m_context.get(), ZSTD_c_compressionLevel, level)));
  NB_TRY(set_window(level));
  m_level = level;
  return {};
}

Status FrameCompressor::set_window(int level) {
  const bool is_long = m_windows == Windows::large && level >= k_least_level_of_long_matches;
  NB_TRY(check(ZSTD_CCtx_setParameter(m_context.get(), ZSTD_c_enableLongDistanceMatching, is_long ? 1 : 0)));
  const int own_window_log = m_windows == Windows::small ? k_small_window_log : 0;  // 0: as the level has it
  return check(
      ZSTD_CCtx_setParameter(m_context.get(), ZSTD_c_windowLog, is_long ? k_large_window_log : own_window_log));
}

Status FrameCompressor::run(ByteView payload, Finish finish, Bytes& out) {
  const std::size_t most = std::min(ZSTD_CStreamOutSize(), ZSTD_compressBound(payload.size()));
  if (m_scratch.size() < most) m_scratch.resize(most);
  ZSTD_inBuffer in{payload.data(), payload.size(), 0};
  while (true) {
    ZSTD_outBuffer piece{m_scratch.data(), m_scratch.size(), 0};
    const std::size_t left =
        ZSTD_compressStream2(m_context.get(), &piece, &in, finish == Finish::end ? ZSTD_e_end : ZSTD_e_flush);
    NB_TRY(check(left));
    out.insert(out.end(), m_scratch.begin(), m_scratch.begin() + static_cast<std::ptrdiff_t>(piece.pos));
    if (left == 0 && in.pos == in.size) return {};
  }
}

Status FrameCompressor::compress(ByteView payload, int level, Bytes& out, Finish finish) {
  NB_TRY(set_level(level, out));
  if (finish == Finish::end) m_level.reset();
  return run(payload, finish, out);
}

}  // namespace nb::codec
