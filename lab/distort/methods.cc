#include "lab/distort/methods.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

const DistortMethod* MethodOfName(std::string_view name) {
  for (const DistortMethod& method : DistortMethods())
    if (method.name == name) return &method;
  return nullptr;
}

absl::Status CheckNumbers(const DistortOptions& options) {
  const struct {
    const char* what;
    double value;
    bool sound;
  } kNumbers[] = {
      {"width of the uniform noise", options.uniform_width,
       options.uniform_width > 0},
      {"standard deviation of the normal noise", options.normal_stddev,
       options.normal_stddev > 0},
      {"tolerance of the factorisation", options.nmf.tolerance,
       options.nmf.tolerance > 0},
      {"time limit", options.nmf.seconds, options.nmf.seconds > 0},
      {"most iterations", static_cast<double>(options.nmf.iterations),
       options.nmf.iterations >= 1},
      {"value difference at which to stop", options.nmf.stop_at_vd.value_or(1),
       options.nmf.stop_at_vd.value_or(1) > 0},
  };
  for (const auto& number : kNumbers) {
    if (number.sound && std::isfinite(number.value)) continue;
    return BadInput("distort-parameter",
                    absl::StrCat("The ", number.what, " is ", number.value,
                                 "; give a finite number above 0."));
  }
  if (options.kept.has_value() &&
      !(*options.kept >= 1 && *options.kept <= options.rank)) {
    return BadInput(
        "distort-parameter",
        absl::StrCat(*options.kept, " components cannot be kept of a rank of ",
                     options.rank, "; keep 1 to the rank."));
  }
  return absl::OkStatus();
}

MatrixXd WithNoise(const MatrixXd& a, const DistortMethod& method,
                   const DistortOptions& options, Draws* draws) {
  MatrixXd noisy = a;
  for (double& entry : noisy.reshaped()) {
    entry += method.normal ? options.normal_stddev * draws->Normal()
                           : options.uniform_width * draws->Uniform();
  }
  return noisy;
}

const ThinSvd& SvdOf(const MatrixXd& a, const DistortOptions& options,
                     DistortCache* cache) {
  if (!cache->svd.has_value()) cache->svd = ThinSvdOf(a, options.rank);
  return *cache->svd;
}

DistortFactors OfSvd(const MatrixXd& a, const DistortMethod& method,
                     const DistortOptions& options, DistortCache* cache) {
  const ThinSvd& svd = SvdOf(a, options, cache);
  DistortFactors factors{svd.u, svd.v.leftCols(options.rank).transpose()};
  if (method.transposed) {
    // The product depends on the signs of singular vectors, which mean nothing.
    // Those of the publication are not known: of the 256 patterns of nine
    // columns this one, and no other, gives its VD on Wisconsin Breast Cancer.
    Eigen::VectorXd signs = Eigen::VectorXd::Ones(svd.v.cols());
    for (Index j = 2; j < std::min<Index>(5, signs.size()); ++j) signs[j] = -1;
    factors.left *= signs.head(options.rank).asDiagonal();
    factors.right = svd.v.topRows(options.rank) * signs.asDiagonal();
  }
  MakeSparse(method.sparsify, options, &factors.left);
  MakeSparse(method.sparsify, options, &factors.right);
  factors.left *= svd.s.asDiagonal();
  return factors;
}

absl::StatusOr<DistortFactors> OfNmf(const MatrixXd& a,
                                     const DistortMethod& method,
                                     const DistortOptions& options,
                                     DistortCache* cache, Draws* draws) {
  std::optional<NmfResult>& result =
      method.multiplicative ? cache->multiplicative : cache->projected_gradient;
  if (!result.has_value()) {
    NmfFactors start = NmfStart(a.rows(), a.cols(), options.rank, draws);
    NmfResult found =
        method.multiplicative
            ? NmfMultiplicative(a, std::move(start), options.nmf)
            : NmfProjectedGradient(a, std::move(start), options.nmf);
    if (found.stop == NmfStop::kStopped) {
      return Refusal(absl::StatusCode::kCancelled, "cancelled",
                     "Interrupted while factorising.");
    }
    SortByLength(&found.factors);
    result = std::move(found);
  }
  DistortFactors factors{result->factors.w, result->factors.h};
  MakeSparse(method.sparsify, options, &factors.left);
  MakeSparse(method.sparsify, options, &factors.right);
  return factors;
}

}  // namespace

const std::string_view kTransposedSentence =
    "As published: the program took rows 1 to k of V where the k rows of V' "
    "belong. The large value difference is this error's, not the method's.";

const std::vector<DistortMethod>& DistortMethods() {
  using enum DistortCore;
  using enum Sparsify;
  static const auto& methods = *new std::vector<DistortMethod>{
      {.name = "ud", .title = "uniform noise", .core = kNoise},
      {.name = "nd", .title = "normal noise", .core = kNoise, .normal = true},
      {.name = "svd", .title = "truncated SVD", .core = kSvd},
      {.name = "nmf", .title = "NMF, projected gradients", .core = kNmf},
      {.name = "nmfm",
       .title = "NMF, multiplicative updates",
       .core = kNmf,
       .multiplicative = true},
      {.name = "ssvd",
       .title = "SVD, small entries zeroed",
       .core = kSvd,
       .sparsify = kSts},
      {.name = "csvd",
       .title = "SVD, entries below a share of their column's mean zeroed",
       .core = kSvd,
       .sparsify = kCts},
      {.name = "esvd",
       .title = "SVD, entries below a rising share of their column's largest "
                "zeroed",
       .core = kSvd,
       .sparsify = kEts},
      {.name = "snmf",
       .title = "NMF, small entries zeroed",
       .core = kNmf,
       .sparsify = kSts},
      {.name = "cnmf",
       .title = "NMF, entries below a share of their column's mean zeroed",
       .core = kNmf,
       .sparsify = kCts},
      {.name = "enmf",
       .title = "NMF, entries below a rising share of their column's largest "
                "zeroed",
       .core = kNmf,
       .sparsify = kEts},
      {.name = "ssvd-as-published",
       .title = "SSVD with the publication's transposition error",
       .core = kSvd,
       .sparsify = kSts,
       .transposed = true},
      {.name = "csvd-as-published",
       .title = "CSVD with the publication's transposition error",
       .core = kSvd,
       .sparsify = kCts,
       .transposed = true},
      {.name = "esvd-as-published",
       .title = "ESVD with the publication's transposition error",
       .core = kSvd,
       .sparsify = kEts,
       .transposed = true},
  };
  return methods;
}

absl::StatusOr<std::vector<const DistortMethod*>> DistortMethodsOf(
    const std::vector<std::string>& names, bool as_published) {
  std::vector<const DistortMethod*> chosen;
  const auto add = [&](const DistortMethod* method) {
    if (method != nullptr &&
        std::find(chosen.begin(), chosen.end(), method) == chosen.end())
      chosen.push_back(method);
  };
  const auto add_with_twin = [&](const DistortMethod& method) {
    add(&method);
    if (as_published) {
      add(MethodOfName(
          absl::StrCat(std::string(method.name), "-as-published")));
    }
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (const DistortMethod& method : DistortMethods())
        if (!method.transposed) add_with_twin(method);
      continue;
    }
    const DistortMethod* const method = MethodOfName(name);
    if (method == nullptr || method->transposed) {
      std::string known;
      for (const DistortMethod& other : DistortMethods())
        if (!other.transposed)
          absl::StrAppend(&known, std::string(other.name), ", ");
      return BadInput("distort-method-unknown",
                      absl::StrCat("There is no method `", name, "`; give ",
                                   known, "or all."));
    }
    add_with_twin(*method);
  }
  if (chosen.empty()) {
    return BadInput("distort-method-unknown",
                    "No method is named; give --method all, or some of them.");
  }
  return chosen;
}

nlohmann::ordered_json ToJson(const DistortMethod& method,
                              const DistortOptions& options) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  switch (method.core) {
    case DistortCore::kNoise:
      json[method.normal ? "stddev" : "width"] =
          method.normal ? options.normal_stddev : options.uniform_width;
      return json;
    case DistortCore::kSvd:
      json["rank"] = options.rank;
      break;
    case DistortCore::kNmf:
      json["rank"] = options.rank;
      json["tolerance"] = options.nmf.tolerance;
      json["iterations"] = options.nmf.iterations;
      json["seconds"] = options.nmf.seconds;
      if (options.nmf.stop_at_vd.has_value())
        json["stop_at_vd"] = *options.nmf.stop_at_vd;
      break;
  }
  json["kept"] = options.kept.value_or(options.rank);
  if (method.sparsify == Sparsify::kSts)
    json["threshold"] = options.sts_threshold;
  if (method.sparsify == Sparsify::kCts) json["share"] = options.cts_share;
  if (method.sparsify == Sparsify::kEts) {
    json["share"] = options.ets_share;
    json["alpha"] = options.ets_alpha;
  }
  if (method.transposed) json["note"] = std::string(kTransposedSentence);
  return json;
}

absl::Status CheckDistort(const MatrixXd& a,
                          const std::vector<const DistortMethod*>& methods,
                          const DistortOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckNumbers(options));
  if (!(a.cwiseAbs().maxCoeff() > 0)) {
    return BadInput(
        "distort-all-zero",
        "All numbers of the table are 0; give a table with entries.");
  }
  for (const DistortMethod* method : methods) {
    if (method->core == DistortCore::kNoise) continue;
    const Index most = std::min(a.rows(), a.cols());
    if (options.rank < 1 || options.rank > most) {
      return BadInput("rank-out-of-range",
                      absl::StrCat("The rank is ", options.rank,
                                   " and a table of ", a.rows(), " people and ",
                                   a.cols(), " columns has ranks of 1 to ",
                                   most, "; give --rank in this range."));
    }
    if (method->core == DistortCore::kNmf && a.minCoeff() < 0) {
      return BadInput("distort-negative",
                      "The table has negative numbers, which no product of "
                      "non-negative factors has; give a table without, or "
                      "methods other than NMF.");
    }
    if (method->transposed && a.rows() < a.cols()) {
      return BadInput("distort-as-published",
                      "The published error needs at least as many people as "
                      "columns; leave out --as-published.");
    }
  }
  return absl::OkStatus();
}

const NmfResult* DistortCache::NmfOf(const DistortMethod& method) const {
  if (method.core != DistortCore::kNmf) return nullptr;
  const auto& result =
      method.multiplicative ? multiplicative : projected_gradient;
  return result.has_value() ? &*result : nullptr;
}

absl::StatusOr<DistortFactors> DistortFactorsOf(const MatrixXd& a,
                                                const DistortMethod& method,
                                                const DistortOptions& options,
                                                DistortCache* cache,
                                                Draws* draws) {
  if (method.core == DistortCore::kSvd) return OfSvd(a, method, options, cache);
  return OfNmf(a, method, options, cache, draws);
}

absl::StatusOr<MatrixXd> Distort(const MatrixXd& a, const DistortMethod& method,
                                 const DistortOptions& options,
                                 DistortCache* cache, Draws* draws) {
  if (method.core == DistortCore::kNoise)
    return WithNoise(a, method, options, draws);
  DPNMF_ASSIGN_OR_RETURN(const DistortFactors factors,
                         DistortFactorsOf(a, method, options, cache, draws));
  const Index kept = options.kept.value_or(options.rank);
  return MatrixXd(factors.left.leftCols(kept) * factors.right.topRows(kept));
}

void MakeSparse(Sparsify sparsify, const DistortOptions& options,
                MatrixXd* factor) {
  if (sparsify == Sparsify::kNothing) return;
  for (Index j = 0; j < factor->cols(); ++j) {
    auto column = factor->col(j);
    double threshold = options.sts_threshold;
    if (sparsify == Sparsify::kCts)
      threshold = options.cts_share * column.cwiseAbs().mean();
    // The published formula is garbled; this reading has its parts.
    if (sparsify == Sparsify::kEts) {
      threshold = options.ets_share *
                  std::exp(options.ets_alpha * static_cast<double>(j + 1)) *
                  column.cwiseAbs().maxCoeff();
    }
    for (Index i = 0; i < column.size(); ++i)
      if (std::abs(column[i]) < threshold) column[i] = 0;
  }
}

}  // namespace dpnmf::curator::lab
