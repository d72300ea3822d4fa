#include "curator/noise/noise_keystream.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <bit>

#include "curator/noise/noise_fatal.h"

namespace dpnmf::curator {
namespace {

using CounterBlock = std::array<std::uint8_t, 16>;

CounterBlock FirstCounter(std::uint32_t stream, std::uint64_t chunk) {
  CounterBlock counter{};  // the last 6 bytes, the block field, start at 0
  for (int i = 0; i < 4; ++i) {
    counter[i] = static_cast<std::uint8_t>(stream >> (24 - 8 * i));
  }
  for (int i = 0; i < 6; ++i) {
    counter[4 + i] = static_cast<std::uint8_t>(chunk >> (40 - 8 * i));
  }
  return counter;
}

}  // namespace

// Words are read as the machine stores them; the same key gives the same noise
// on every little-endian machine.
static_assert(std::endian::native == std::endian::little);

void KeyStream::FreeContext::operator()(evp_cipher_ctx_st* context) const {
  EVP_CIPHER_CTX_free(context);  // wipes the key schedule
}

KeyStream::KeyStream(std::span<const std::uint8_t, 32> key,
                     std::uint32_t stream, std::uint64_t chunk)
    : context_(EVP_CIPHER_CTX_new()) {
  MustHold(chunk < kMaxChunks, "noise: more chunks than the counter holds");
  MustHold(context_ != nullptr,
           "noise: OpenSSL could not make a cipher context");
  const CounterBlock counter = FirstCounter(stream, chunk);
  MustHold(EVP_EncryptInit_ex(context_.get(), EVP_aes_256_ctr(), nullptr,
                              key.data(), counter.data()) == 1,
           "noise: OpenSSL could not start AES-256-CTR");
}

KeyStream::~KeyStream() { OPENSSL_cleanse(words_.data(), sizeof(words_)); }

void KeyStream::Refill() {
  constexpr std::size_t kBlocks = sizeof(words_) / 16;
  MustHold(blocks_ + kBlocks <= kMaxBlocks,
           "noise: a chunk used up its part of the key stream");
  words_.fill(0);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(words_.data());
  int written = 0;
  const int ok =
      EVP_EncryptUpdate(context_.get(), bytes, &written, bytes, sizeof(words_));
  MustHold(ok == 1 && written == static_cast<int>(sizeof(words_)),
           "noise: OpenSSL could not produce the key stream");
  blocks_ += kBlocks;
  position_ = 0;
}

}  // namespace dpnmf::curator
