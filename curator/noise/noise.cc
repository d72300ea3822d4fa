#include "curator/noise/noise.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "common/threads/parallel.h"
#include "curator/noise/noise_fatal.h"
#include "curator/noise/noise_keystream.h"
#include "curator/noise/noise_sampler.h"

namespace dpnmf::curator {
namespace {

// Values that share one range of the cipher's counter. Part of what a key
// means: another number gives other noise for the same key.
constexpr std::size_t kChunkValues = 4096;
static_assert(PTRDIFF_MAX / sizeof(std::int64_t) / kChunkValues <
                  KeyStream::kMaxChunks,
              "no span is long enough to run out of chunks");

constexpr int kDigitBits = 64;
constexpr int kCellBits = 4;

struct FreeRand {
  void operator()(EVP_RAND* source) const { EVP_RAND_free(source); }
  void operator()(EVP_RAND_CTX* source) const { EVP_RAND_CTX_free(source); }
};

// OpenSSL's SEED-SRC hands on the operating system's generator; the process's
// own generators, which a fork or a snapshot could copy, take no part.
bool ReadOperatingSystem(std::span<std::uint8_t, 32> bytes) {
  constexpr unsigned kStrength = 256;
  const std::unique_ptr<EVP_RAND, FreeRand> source(
      EVP_RAND_fetch(nullptr, "SEED-SRC", nullptr));
  if (source == nullptr) return false;
  const std::unique_ptr<EVP_RAND_CTX, FreeRand> context(
      EVP_RAND_CTX_new(source.get(), nullptr));
  return context != nullptr &&
         EVP_RAND_instantiate(context.get(), kStrength, 0, nullptr, 0,
                              nullptr) == 1 &&
         EVP_RAND_generate(context.get(), bytes.data(), bytes.size(), kStrength,
                           0, nullptr, 0) == 1;
}

}  // namespace

NoiseKey NoiseKey::Fresh() {
  NoiseKey key;
  MustHold(
      ReadOperatingSystem(key.bytes_),
      "noise: the operating system gave no random bits; no noise can be drawn");
  return key;
}

NoiseKey::~NoiseKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

NoiseKey::NoiseKey(NoiseKey&& other) noexcept : bytes_(other.bytes_) {
  OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
}

void FillGaussian(const NoiseKey& key, std::uint32_t stream,
                  std::uint64_t sigma_numerator,
                  std::uint64_t sigma_denominator, int threads,
                  std::span<std::int64_t> noise) {
  const Rounding rounding(sigma_numerator, sigma_denominator);
  const std::size_t chunks = (noise.size() + kChunkValues - 1) / kChunkValues;
  ParallelFor(chunks, threads, [&](std::size_t chunk, int) {
    KeyStream source(key.bytes(), stream, chunk);
    GaussianSampler<kDigitBits, kCellBits, KeyStream> sampler(rounding, source);
    const std::size_t begin = chunk * kChunkValues;
    const std::size_t size = std::min(kChunkValues, noise.size() - begin);
    for (std::int64_t& value : noise.subspan(begin, size))
      value = sampler.Next();
  });
}

}  // namespace dpnmf::curator
