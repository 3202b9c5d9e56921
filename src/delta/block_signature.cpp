// SPDX-License-Identifier: Apache-2.0
#include "delta/block_signature.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "delta/rolling_sum.hpp"

namespace nb::delta {

BlockSigner::BlockSigner(const hash::Secret& secret) : m_secret(&secret) { m_zeros = sign(Bytes(k_block_bytes)); }

BlockSignature BlockSigner::sign(ByteView block) const {
  NB_ASSERT(!block.empty() && block.size() <= k_block_bytes);
  BlockSignature result;
  result.weak = RollingSum::of(block).value();
  result.strong = strong(block);
  for (std::size_t i = 0; i < pages_in(block.size()); ++i) {
    const std::size_t at = i * k_page_bytes;
    result.pages[i] = page(block.subspan(at, std::min(k_page_bytes, block.size() - at)));
  }
  return result;
}

}  // namespace nb::delta
