// SPDX-License-Identifier: Apache-2.0
// Versions: RFC 4253 section 4.2; packets before any key exchange: section 6, without a MAC.
#include "transport/ssh_probe.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.hpp"
#include "base/version.hpp"
#include "transport/fd_stream.hpp"
#include "transport/tcp_connect.hpp"

namespace nb::transport {
namespace {

constexpr std::size_t k_max_line_bytes = 255;  // of a version line
constexpr int k_max_lines_before = 50;         // a server may say something else first
constexpr std::size_t k_packet_head_bytes = 5;

class Reader {
 public:
  // `limit` is for all of it: a server may send a byte now and then. 0: none.
  Reader(ByteStream& stream, std::chrono::milliseconds limit)
      : m_stream(stream), m_limit(limit), m_end(std::chrono::steady_clock::now() + limit) {}

  // Byte by byte: what follows the line belongs to the next message, and there is little of it.
  Result<std::string> line() {
    std::string text;
    while (text.size() < k_max_line_bytes) {
      std::array<std::byte, 1> one{};
      NB_TRY(fill(one));
      if (one[0] == std::byte{'\n'}) {
        if (text.ends_with('\r')) text.pop_back();
        return text;
      }
      text += static_cast<char>(one[0]);
    }
    return fail(Errc::protocol, "the server's version line has no end");
  }

  Status fill(std::span<std::byte> out) {
    while (!out.empty()) {
      NB_TRY_ASSIGN(const std::size_t count, m_stream.read(out, left()));
      if (count == 0) return fail(Errc::connection_lost, "the server closed the connection before it said what it is");
      out = out.subspan(count);
    }
    return {};
  }

 private:
  [[nodiscard]] std::chrono::milliseconds left() const {
    using std::chrono::milliseconds;
    if (m_limit == milliseconds(0)) return m_limit;
    const auto left = std::chrono::duration_cast<milliseconds>(m_end - std::chrono::steady_clock::now());
    return std::max(left, milliseconds(1));
  }

  ByteStream& m_stream;
  std::chrono::milliseconds m_limit;
  std::chrono::steady_clock::time_point m_end;
};

Result<std::string> read_version(Reader& in) {
  for (int i = 0; i < k_max_lines_before; ++i) {
    NB_TRY_ASSIGN(const std::string line, in.line());
    if (line.starts_with("SSH-")) return line;
  }
  return fail(Errc::protocol, "what answers there is no SSH server");
}

Result<ssh::ServerAlgorithms> read_algorithms(Reader& in) {
  std::array<std::byte, k_packet_head_bytes> head{};
  NB_TRY(in.fill(head));
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size = size << 8 | std::to_integer<std::size_t>(head[i]);
  const auto padding = std::to_integer<std::size_t>(head[4]);
  if (size > ssh::k_max_packet_bytes || size < padding + 2) return fail(Errc::protocol, "the server's first packet");
  Bytes body(size - 1);
  NB_TRY(in.fill(body));
  return ssh::parse_kexinit(ByteView(body).first(size - 1 - padding));
}

}  // namespace

Result<ServerOffer> probe_server(const ProbeOptions& options) {
  NB_TRY_ASSIGN(TcpConnection connection, connect_tcp(options.address, options.port, options.limit));
  ServerOffer offer;
  offer.tcp_connect = connection.took;
  NB_TRY_ASSIGN(const auto stream, open_socket_stream(std::move(connection.fd)));
  NB_TRY(stream->write(as_bytes(std::string("SSH-2.0-nbackup_") + k_version + "\r\n")));
  Reader in(*stream, options.limit);
  NB_TRY_ASSIGN(offer.version, read_version(in));
  NB_TRY_ASSIGN(offer.algorithms, read_algorithms(in));
  return offer;
}

}  // namespace nb::transport
