// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_decompressor.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace nb::codec {
namespace {

constexpr std::array k_magic{std::byte{0x28}, std::byte{0xB5}, std::byte{0x2F}, std::byte{0xFD}};

tl::unexpected<Error> bad(const char* detail) {
  return fail(Errc::protocol, std::string("compressed frame: ") + detail);
}

// Ours to say, not the peer's fault: a window takes up to 32 MiB and more.
tl::unexpected<Error> no_memory() { return fail(Errc::io, "decompress what comes in", ENOMEM); }

// A library may also read skippable frames and the formats of zstd's early versions, which know no window limit.
bool begins_zstd_frame(ByteView bytes) {
  return bytes.size() >= k_magic.size() && std::equal(k_magic.begin(), k_magic.end(), bytes.begin());
}

}  // namespace

FrameDecompressor::FrameDecompressor(Windows windows) : m_windows(windows) {}
FrameDecompressor::~FrameDecompressor() = default;

void FrameDecompressor::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

Status FrameDecompressor::prepare() {
  if (m_context) return {};
  m_context.reset(ZSTD_createDCtx());
  const int most = m_windows == Windows::large ? k_large_window_log : k_window_log;
  if (!m_context || ZSTD_isError(ZSTD_DCtx_setParameter(m_context.get(), ZSTD_d_windowLogMax, most)) != 0) {
    return no_memory();
  }
  m_scratch.resize(ZSTD_DStreamOutSize());
  return {};
}

Result<Bytes> FrameDecompressor::decompress(ByteView compressed, std::size_t max_bytes) {
  NB_TRY(prepare());
  Bytes payload;
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  bool more_to_come = false;
  while (in.pos < in.size || more_to_come) {
    if (m_between_frames && !begins_zstd_frame(compressed.subspan(in.pos))) return bad("this is no zstd");
    ZSTD_outBuffer piece{m_scratch.data(), m_scratch.size(), 0};
    const std::size_t left = ZSTD_decompressStream(m_context.get(), &piece, &in);
    if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) return no_memory();
    if (ZSTD_isError(left) != 0) return bad(ZSTD_getErrorName(left));
    m_between_frames = left == 0;
    if (piece.pos > max_bytes - payload.size()) return bad("too long");
    payload.insert(payload.end(), m_scratch.begin(), m_scratch.begin() + static_cast<std::ptrdiff_t>(piece.pos));
    // A full piece may be followed by more out of the library's own buffer.
    more_to_come = piece.pos == piece.size && !m_between_frames;
  }
  if (payload.empty()) return bad("nothing in it");
  return payload;
}

}  // namespace nb::codec
