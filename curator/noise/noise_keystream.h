// The key stream that noise is drawn from: AES-256 in counter mode.
//
// The 128-bit counter block, most significant bit first:
//
//   | stream: 32 bits | chunk: 48 bits | block: 48 bits |
//
// One KeyStream serves one (key, stream, chunk) and starts at block 0. The
// cipher adds 1 to the whole 128-bit number for each 16-byte block, so two
// KeyStreams of one key with different (stream, chunk) share a counter block
// only if one of them counts past 2^48 blocks into the chunk field. Next()
// stops the process before that.
//
// It never comes to that. Let W be the words that one value takes. A candidate
// takes 3 words and at most 3 more for each of n further steps of Algorithm B,
// P(n >= m) <= 1/m!; it is refused with probability below 1/20. With b =
// 2^(1/8): E b^(words) < 5, and E(b^(words); refused) < 0.7 by Cauchy and
// Schwarz, hence E b^W < 5 / 0.3 < 2^5. By Markov, the 4096 values of a chunk
// take 2^49 words (2^48 blocks) with probability below 2^(5 * 4096 - 2^46).
// (Ties, 2^-64 each, and cells beyond 16 sigma, 2^-184, fit into the slack.)
//
// Not thread-safe; one thread at a time.
#ifndef DPNMF_CURATOR_NOISE_NOISE_KEYSTREAM_H_
#define DPNMF_CURATOR_NOISE_NOISE_KEYSTREAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct evp_cipher_ctx_st;

namespace dpnmf::curator {

class KeyStream {
 public:
  static constexpr std::uint64_t kMaxChunks = std::uint64_t{1} << 48;
  static constexpr std::uint64_t kMaxBlocks = std::uint64_t{1} << 48;

  // Stops the process if chunk >= kMaxChunks or OpenSSL fails.
  KeyStream(std::span<const std::uint8_t, 32> key, std::uint32_t stream,
            std::uint64_t chunk);
  // Wipes what was not used yet, and the cipher's key schedule.
  ~KeyStream();
  KeyStream(const KeyStream&) = delete;
  KeyStream& operator=(const KeyStream&) = delete;

  // 64 fresh bits; each bit of the stream is handed out once.
  std::uint64_t Next() {
    if (position_ == words_.size()) [[unlikely]]
      Refill();
    return words_[position_++];
  }

 private:
  struct FreeContext {
    void operator()(evp_cipher_ctx_st* context) const;
  };

  void Refill();

  std::unique_ptr<evp_cipher_ctx_st, FreeContext> context_;
  std::uint64_t blocks_ = 0;  // counter blocks encrypted so far
  std::array<std::uint64_t, 512> words_;
  std::size_t position_ = words_.size();
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_NOISE_NOISE_KEYSTREAM_H_
