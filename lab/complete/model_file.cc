#include "lab/complete/model_file.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Cbor = nlohmann::json;

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "dpnmfcm1";
constexpr std::size_t kVersionAt = 8, kKeyAt = 12, kSaltAt = 13, kHashAt = 29,
                      kBodyAt = 61;

template <typename T>
Cbor BytesOf(const T* values, std::size_t count) {
  std::vector<std::uint8_t> bytes(count * sizeof(T));
  if (count > 0) std::memcpy(bytes.data(), values, bytes.size());
  return Cbor::binary(std::move(bytes));
}
template <typename T>
Cbor BytesOf(const std::vector<T>& values) {
  return BytesOf(values.data(), values.size());
}

template <typename Matrix>
Cbor CborOf(const Matrix& matrix) {
  return {{"rows", matrix.rows()},
          {"columns", matrix.cols()},
          {"values",
           BytesOf(matrix.data(), static_cast<std::size_t>(matrix.size()))}};
}

Cbor CborOf(const Side& side) {
  return {{"ids", side.ids},
          {"labels", BytesOf(side.labels)},
          {"label_words", side.label_words},
          {"feature_names", side.feature_names},
          {"feature_low", CborOf(side.feature_low)},
          {"feature_span", CborOf(side.feature_span)},
          {"centroids", CborOf(side.clusters.centroids)},
          {"members", BytesOf(side.clusters.members)}};
}

Cbor CborOf(const Completion& completion) {
  return {{"weights",
           {completion.weights.ratings, completion.weights.people,
            completion.weights.items}},
          {"rounds", completion.rounds},
          {"people", CborOf(completion.people)},
          {"items", CborOf(completion.items)},
          {"columns", completion.ratings.columns},
          {"indptr", BytesOf(completion.ratings.indptr)},
          {"indices", BytesOf(completion.ratings.indices)},
          {"ratings", BytesOf(completion.ratings.values)},
          {"u", CborOf(completion.factors.u)},
          {"s", CborOf(completion.factors.s)},
          {"v", CborOf(completion.factors.v)},
          {"fitted_people", completion.fitted_people},
          {"fitted_items", completion.fitted_items}};
}

// The hash has held, so the body is what WriteCompletion wrote: an exception of
// the library, or a shape that does not fit, means that the hash was made for
// something else.
template <typename T>
std::vector<T> VectorOf(const Cbor& json) {
  const std::vector<std::uint8_t>& bytes = json.get_binary();
  if (bytes.size() % sizeof(T) != 0) throw std::length_error("bytes");
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename Matrix>
Matrix MatrixOf(const Cbor& json) {
  const auto rows = json.at("rows").get<Index>();
  const auto columns = json.at("columns").get<Index>();
  const auto values = VectorOf<double>(json.at("values"));
  if (rows < 0 || columns < 0 ||
      static_cast<std::size_t>(rows * columns) != values.size())
    throw std::length_error("matrix");
  Matrix matrix(rows, columns);
  std::copy(values.begin(), values.end(), matrix.data());
  return matrix;
}

Side SideOf(const Cbor& json) {
  Side side;
  side.ids = json.at("ids").get<std::vector<std::string>>();
  side.labels = VectorOf<int>(json.at("labels"));
  side.label_words = json.at("label_words").get<std::vector<std::string>>();
  side.feature_names = json.at("feature_names").get<std::vector<std::string>>();
  side.feature_low = MatrixOf<Eigen::MatrixXd>(json.at("feature_low"));
  side.feature_span = MatrixOf<Eigen::MatrixXd>(json.at("feature_span"));
  side.clusters.centroids = MatrixOf<Eigen::MatrixXd>(json.at("centroids"));
  side.clusters.members = VectorOf<std::int64_t>(json.at("members"));
  return side;
}

Completion CompletionOf(const Cbor& json) {
  Completion completion;
  completion.weights = {json.at("weights").at(0).get<double>(),
                        json.at("weights").at(1).get<double>(),
                        json.at("weights").at(2).get<double>()};
  completion.rounds = json.at("rounds").get<int>();
  completion.people = SideOf(json.at("people"));
  completion.items = SideOf(json.at("items"));
  completion.ratings.columns = json.at("columns").get<Index>();
  completion.ratings.indptr = VectorOf<std::int64_t>(json.at("indptr"));
  completion.ratings.indices = VectorOf<std::int32_t>(json.at("indices"));
  completion.ratings.values = VectorOf<double>(json.at("ratings"));
  completion.factors.u = MatrixOf<RowMatrix>(json.at("u"));
  completion.factors.s = MatrixOf<RowMatrix>(json.at("s"));
  completion.factors.v = MatrixOf<RowMatrix>(json.at("v"));
  completion.fitted_people = json.at("fitted_people").get<Index>();
  completion.fitted_items = json.at("fitted_items").get<Index>();
  return completion;
}

bool IsWhole(const Completion& completion) {
  const SparseRatings& ratings = completion.ratings;
  const AuxFactors& factors = completion.factors;
  const auto people = static_cast<Index>(completion.people.ids.size());
  const auto items = static_cast<Index>(completion.items.ids.size());
  if (ratings.rows() != people || ratings.columns != items ||
      ratings.indptr.front() != 0 ||
      ratings.indptr.back() != static_cast<std::int64_t>(ratings.size()) ||
      ratings.values.size() != ratings.size() ||
      !std::is_sorted(ratings.indptr.begin(), ratings.indptr.end()))
    return false;
  for (const std::int32_t item : ratings.indices)
    if (item < 0 || item >= items) return false;
  return factors.u.rows() == people && factors.v.rows() == items &&
         factors.s.rows() == factors.u.cols() &&
         factors.s.cols() == factors.v.cols();
}

Digest HashOf(std::string_view head, std::string_view body,
              std::span<const std::uint8_t> key) {
  std::string all;
  all.reserve(kHashAt + body.size());
  all.append(head.substr(0, kHashAt));
  all.append(body);
  return HmacSha256(std::as_bytes(key), std::as_bytes(std::span(all)));
}

absl::Status Changed(const std::string& path) {
  return Refusal(absl::StatusCode::kDataLoss, "complete-model-changed",
                 absl::StrCat("`", path,
                              "` is not the model file that `complete` wrote, "
                              "or it was written under another key: fit "
                              "again, or restore it."));
}

}  // namespace

absl::Status WriteCompletion(const std::string& path,
                             const Completion& completion,
                             const std::optional<FingerprintKey>& key) {
  std::string head(kHashAt, '\0');
  head.replace(0, kMagic.size(), kMagic);
  std::memcpy(head.data() + kVersionAt, &kCompletionFileVersion, 4);
  head[kKeyAt] = key.has_value() ? 1 : 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(head.data() + kSaltAt), 16) !=
      1) {
    std::fputs("dpnmf: the random source failed; stopping\n", stderr);
    std::abort();
  }
  const std::vector<std::uint8_t> body = Cbor::to_cbor(CborOf(completion));
  const std::string_view body_text(reinterpret_cast<const char*>(body.data()),
                                   body.size());
  const std::span<const std::uint8_t> salt(
      reinterpret_cast<const std::uint8_t*>(head.data() + kSaltAt), 16);
  const Digest hash =
      HashOf(head, body_text, key.has_value() ? std::span(*key) : salt);
  head.append(reinterpret_cast<const char*>(hash.data()), hash.size());
  return ReplaceDurably(path, head, std::as_bytes(std::span(body)));
}

absl::StatusOr<Completion> ReadCompletion(
    const std::string& path, const std::optional<FingerprintKey>& key) {
  absl::StatusOr<std::string> text = ReadFile(path, kOwnFileLimit);
  if (absl::IsNotFound(text.status())) {
    return Refusal(absl::StatusCode::kNotFound, "complete-model-missing",
                   absl::StrCat("There is no model file `", path,
                                "`; `complete fit` writes one."));
  }
  DPNMF_RETURN_IF_ERROR(text.status());
  const std::string_view file = *text;
  if (file.size() < kBodyAt || !file.starts_with(kMagic)) return Changed(path);
  std::uint32_t version = 0;
  std::memcpy(&version, file.data() + kVersionAt, 4);
  if (version != kCompletionFileVersion) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "model-file-newer",
        absl::StrCat("`", path, "` has version ", version,
                     " of the model files of `complete`, and this program "
                     "reads version ",
                     kCompletionFileVersion,
                     ": read it with the version that wrote it."));
  }
  const bool keyed = file[kKeyAt] != 0;
  if (keyed && !key.has_value()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "complete-model-key",
                   absl::StrCat("`", path,
                                "` was written under the operator's key: give "
                                "the same --data-dir."));
  }
  const std::span<const std::uint8_t> salt(
      reinterpret_cast<const std::uint8_t*>(file.data() + kSaltAt), 16);
  const std::string_view body = file.substr(kBodyAt);
  const Digest hash = HashOf(file, body, keyed ? std::span(*key) : salt);
  if (CRYPTO_memcmp(hash.data(), file.data() + kHashAt, hash.size()) != 0)
    return Changed(path);
  try {
    Completion completion =
        CompletionOf(Cbor::from_cbor(body.begin(), body.end()));
    if (IsWhole(completion)) return completion;
  } catch (const std::exception&) {  // of nlohmann/json and of MatrixOf
  }
  return Changed(path);
}

}  // namespace dpnmf::curator::lab
