// Item model files, which an operator gets from the analyst, and tokens, which
// a front end hands on. A model file is refused in one sentence, or is a model
// that lists can be made with and that is written back the same. A token that
// is not the operator's passes never.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "common/base/error.h"
#include "common/ratings/model_file.h"
#include "common/ratings/similar.h"
#include "curator/recommend/recommender.h"
#include "curator/recommend/token.h"
#include "tests/common/ratings/sample_model.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"
#include "zlib.h"

namespace dpnmf::fuzz::model_file {
namespace {

constexpr RatingScale kOneToFive = {.low_units = 10'000, .high_units = 50'000};
constexpr std::int64_t kNow = 1'800'000'000;

// A small one, so that mutations reach all of it.
NamedItemModel Small(int k, bool names) {
  NamedItemModel model = SampleItemModel(3, 2, k);
  if (!names) model.names.clear();
  return model;
}

// Puts the CRC-32 of each member right, so that mutations of arrays are read.
// What is no archive stays as it is.
std::string WithChecksums(std::string bytes) {
  const auto at32 = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  for (std::size_t at = 0; at + 46 <= bytes.size(); ++at) {
    if (bytes.compare(at, 4, "PK\x01\x02") != 0) continue;
    const std::uint64_t local = at32(at + 42), size = at32(at + 24);
    if (local + 30 > bytes.size()) continue;
    const auto byte = [&](std::uint64_t place) {
      return static_cast<std::uint64_t>(
          static_cast<unsigned char>(bytes[place]));
    };
    const std::uint64_t begin = local + 30 + byte(local + 26) +
                                256 * byte(local + 27) + byte(local + 28) +
                                256 * byte(local + 29);
    if (begin + size > bytes.size()) continue;
    const std::uint32_t crc = static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()) + begin,
                static_cast<z_size_t>(size)));
    for (std::size_t i = 0; i < 4; ++i)
      bytes[at + 16 + i] = static_cast<char>(crc >> (8 * i) & 0xff);
  }
  return bytes;
}

const SigningKey& Key() {
  // Fixed, so that an input means the same in every process.
  static const SigningKey key = *SigningKey::FromPem(
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VwBCIEIAECAwQFBgcICQoLDA0ODxAREhMU"
      "FRYXGBkaGxwdHh8g\n"
      "-----END PRIVATE KEY-----\n");
  return key;
}

curator::TokenClaims Claims() {
  return {"ann", "films", kNow + 60, "0123456789abcdef"};
}

void TryToken(std::string_view token) {
  curator::TokenGate::Options options;
  options.key = Key().public_key();
  options.audience = "films";
  std::int64_t now = kNow - 1;
  options.unix_seconds = [&now] { return now; };
  static const OneFile file;
  options.expiry_file = file.directory() + "/expiry.json";
  std::filesystem::remove(options.expiry_file);  // of an earlier token
  const auto gate = curator::TokenGate::Create(options);
  Demand(gate.ok(), "a gate that does not open");
  now = kNow;
  const auto claims = (*gate)->Pass(token);
  if (!claims.ok()) {
    DemandRefusal(claims.status());
    Count(ReasonCode(claims.status()));
    return;
  }
  Count("token");
  Demand(token == curator::SignToken(Claims(), Key()),
         "a token that the operator did not sign");
  Demand(ReasonCode((*gate)->Pass(token).status()) == "token-reused",
         "a token that passes twice");
}

void DemandUsable(const NamedItemModel& model) {
  Demand(CheckItemModel(model).ok(), "a model that cannot be used");
  for (const std::string& bytes : {NpzText(model), ItemCsvText(model)}) {
    const auto again = ParseItemModel(bytes);
    Demand(again.ok() && NpzText(*again) == NpzText(model),
           "a model that is not read back as it was written");
  }
  const auto similar = SimilarItems(model, 0, 3);
  if (!similar.ok()) DemandRefusal(similar.status());
  const auto recommender =
      curator::Recommender::Create(model, model.items, {}, kOneToFive);
  if (!recommender.ok()) return;  // of another range
  Count("recommender");
  const std::int32_t items[] = {0};
  const std::int32_t units[] = {35'000};
  for (const bool by_rating : {false, true}) {
    const auto list = recommender->Recommend(
        {items, units}, {.top = 5, .by_rating = by_rating, .explain = true});
    if (!list.ok()) {
      DemandRefusal(list.status());
      continue;
    }
    for (const curator::Recommendation& one : *list) {
      Demand(one.item != 0, "an own item");
      Demand(one.rating >= 1 && one.rating <= 5 && std::isfinite(one.stddev),
             "a prediction out of range");
    }
  }
}

std::vector<std::string> FuzzSeeds() {
  // Kind, then the file.
  const auto seed = [](char kind, const std::string& content) {
    return kind + content;
  };
  std::vector<std::string> seeds;
  for (const int k : {0, 1}) {
    for (const bool names : {false, true}) {
      seeds.push_back(seed(0, ItemCsvText(Small(k, names))));
      seeds.push_back(seed(1, NpzText(Small(k, names))));
    }
  }
  const std::string csv = ItemCsvText(Small(1, true));
  seeds.push_back(seed(0, csv.substr(0, csv.size() / 2)));
  std::string newer = csv;
  newer.replace(newer.find("version 1"), 9, "version 2");
  seeds.push_back(seed(0, newer));
  const std::string npz = NpzText(Small(1, true));
  seeds.push_back(seed(0, npz));  // without new checksums
  std::string broken = npz;
  broken[broken.find("base.npy") + 3] = '_';
  seeds.push_back(seed(1, broken));
  std::string pickled = npz;
  pickled.replace(pickled.find("<f8"), 3, "|O8");
  seeds.push_back(seed(1, pickled));
  seeds.push_back(seed(2, curator::SignToken(Claims(), Key())));
  curator::TokenClaims claims = Claims();
  claims.expires = kNow;
  seeds.push_back(seed(2, curator::SignToken(claims, Key())));
  claims.expires = kNow + 61;
  seeds.push_back(seed(2, curator::SignToken(claims, Key())));
  claims = Claims();
  claims.audience = "books";
  seeds.push_back(seed(2, curator::SignToken(claims, Key())));
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  return {"model",
          "recommender",
          "model-file-malformed",
          "model-file-newer",
          "npy-malformed",
          "token",
          "token-malformed",
          "token-signature",
          "token-expired",
          "token-lifetime",
          "token-audience"};
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  FuzzInput bytes(data, size);
  const std::uint8_t kind = bytes.Byte() % 3;
  const std::string content(bytes.Rest());
  if (kind == 2) {
    TryToken(content);
    return;
  }
  const auto model =
      ParseItemModel(kind == 1 ? WithChecksums(content) : content);
  if (!model.ok()) {
    DemandRefusal(model.status());
    Count(ReasonCode(model.status()));
    return;
  }
  Count("model");
  DemandUsable(*model);
}

[[maybe_unused]] const bool kRegistered =
    Register({"model_file", 20'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::model_file
