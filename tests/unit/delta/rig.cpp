// SPDX-License-Identifier: Apache-2.0
#include "unit/delta/rig.hpp"

#include <algorithm>

namespace nb::delta::test {

const BlockSigner& signer() {
  static const hash::Secret secret =
      good(hash::Secret::from_bytes(Bytes(hash::k_secret_bytes, std::byte{7}), Errc::io));
  static const BlockSigner made(secret);
  return made;
}

hash::Digest digest_of(ByteView content) {
  hash::FileHasher hasher(signer().secret());
  hasher.update(content);
  return hasher.finish();
}

Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = random();
    std::copy_n(std::as_bytes(std::span(&word, 1)).begin(), std::min<std::size_t>(8, size - at),
                bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return bytes;
}

Bytes joined(std::initializer_list<ByteView> parts) {
  Bytes all;
  for (const ByteView part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::unique_ptr<fs::File> store(fs::Directory& in, const std::string& name, ByteView content, Zeros zeros) {
  auto file = good(in.create_file(name));
  for (std::size_t at = 0; at < content.size(); at += k_page_bytes) {
    const ByteView page = content.subspan(at, std::min(k_page_bytes, content.size() - at));
    const bool empty = std::all_of(page.begin(), page.end(), [](std::byte b) { return b == std::byte{0}; });
    if (!empty || zeros == Zeros::written) good(file->write_at(at, page));
  }
  good(file->set_size(content.size()));
  return file;
}

Bytes content_of(fs::File& file) {
  const std::string text = fs::test::read_all(file);
  const ByteView bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

HeldSignature HeldSignature::of(fs::File& basis) {
  const std::uint64_t size = good(basis.stat()).size;
  HeldSignature held(size);
  for (std::uint64_t i = 0; i < pieces_in(size); ++i) held.put(good(sign_piece(basis, size, i, signer())));
  return held;
}

Result<std::shared_ptr<const SignaturePiece>> HeldSignature::piece(std::uint64_t index) {
  m_asked.push_back(index);
  const auto blob = m_blobs.find(index);
  if (blob == m_blobs.end()) return std::shared_ptr<const SignaturePiece>();
  NB_TRY_ASSIGN(SignaturePiece piece,
                SignaturePiece::decode(blob->second, index, m_basis_size, signer(), Errc::protocol));
  auto shared = std::make_shared<const SignaturePiece>(std::move(piece));
  m_given.push_back(shared);
  std::erase_if(m_given, [](const auto& given) { return given.expired(); });
  m_most_alive = std::max(m_most_alive, m_given.size());
  return shared;
}

void HeldSignature::change(const std::function<void(BlockSignature&)>& how) {
  for (auto& [index, blob] : m_blobs) {
    const auto old = good(SignaturePiece::decode(blob, index, m_basis_size, signer(), Errc::io));
    SignaturePiece changed(index, signer());
    for (std::uint64_t i = 0; i < old.size(); ++i) {
      BlockSignature block = old.block(i);
      how(block);
      // Checks of pages that are not there are not encoded.
      const std::size_t pages = pages_in(block_bytes(m_basis_size, old.first_block() + i));
      std::fill(block.pages.begin() + static_cast<std::ptrdiff_t>(pages), block.pages.end(), 0U);
      changed.add(block);
    }
    blob = changed.encode(m_basis_size);
  }
}

std::size_t HeldSignature::bytes() const {
  std::size_t total = 0;
  for (const auto& [index, blob] : m_blobs) total += blob.size();
  return total;
}

namespace {

SignatureBuilder::PieceTaker into(std::vector<SignaturePiece>& pieces) {
  return [&pieces](SignaturePiece piece) -> Status {
    pieces.push_back(std::move(piece));
    return {};
  };
}

}  // namespace

Result<Outcome> run_delta(fs::File& content, fs::File& basis, BasisSignature& signature, fs::File& output,
                          const RunOptions& options) {
  Outcome outcome;
  const std::uint64_t size = good(content.stat()).size;
  const std::uint64_t basis_size = good(basis.stat()).size;
  SignatureBuilder source(signer(), into(outcome.source_pieces));
  SignatureBuilder sink(signer(), into(outcome.sink_pieces));
  Applier applier(output, sink, {&basis, basis_size, size, options.trusted});
  if (size > 0) {
    Matcher matcher(content, signature, applier, source, signer(), {size, basis_size, 256 * k_kib, options.max_pieces});
    NB_TRY_ASSIGN(outcome.totals, matcher.run());
  }
  NB_TRY_ASSIGN(outcome.source, source.finish());
  NB_TRY_ASSIGN(outcome.sink, applier.finish());
  return outcome;
}

MatchTotals check_delta(fs::Directory& in, ByteView basis, ByteView content, Zeros zeros) {
  static int number = 0;
  const std::string name = std::to_string(++number);
  const auto basis_file = store(in, "basis" + name, basis, zeros);
  const auto new_file = store(in, "new" + name, content, zeros);
  const auto output = good(in.create_file("out" + name));
  HeldSignature signature = HeldSignature::of(*basis_file);
  const Outcome outcome = good(run_delta(*new_file, *basis_file, signature, *output));
  const hash::Digest expected = digest_of(content);
  CHECK(outcome.source == expected);
  CHECK(outcome.sink == expected);
  CHECK((content_of(*output) == Bytes(content.begin(), content.end())));
  const MatchTotals& totals = outcome.totals;
  CHECK(totals.literal_bytes + totals.copied_bytes + totals.hole_bytes == content.size());
  REQUIRE(outcome.source_pieces.size() == pieces_in(content.size()));
  REQUIRE(outcome.sink_pieces.size() == pieces_in(content.size()));
  for (std::uint64_t i = 0; i < pieces_in(content.size()); ++i) {
    const Bytes real = good(sign_piece(*new_file, content.size(), i, signer())).encode(content.size());
    CHECK((outcome.source_pieces[i].encode(content.size()) == real));
    CHECK((outcome.sink_pieces[i].encode(content.size()) == real));
  }
  for (const char* kind : {"basis", "new", "out"}) good(in.remove_file(kind + name));
  return totals;
}

}  // namespace nb::delta::test
