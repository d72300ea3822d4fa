#include "lab/evaluate/prior_files.h"

#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/feature_rows.h"
#include "common/moments/column_fit.h"
#include "common/tables/load.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr std::string_view kDictionaryPrefix = "dictionary:";
constexpr std::string_view kMomentPrefix = "moment:";
constexpr std::string_view kGraphPrefix = "graph:";

absl::StatusOr<Prior> LoadPrior(const std::string& text, bool users_are_rows,
                                std::uint64_t features) {
  const bool is_dictionary = absl::StartsWith(text, kDictionaryPrefix.data());
  const bool is_moment = absl::StartsWith(text, kMomentPrefix.data());
  const std::string path = text.substr(is_dictionary ? kDictionaryPrefix.size()
                                       : is_moment   ? kMomentPrefix.size()
                                                     : 0);
  DPNMF_ASSIGN_OR_RETURN(
      const LoadedMatrix table,
      LoadTable(path, users_are_rows && !is_dictionary && !is_moment,
                {.negative = is_moment, .features = features}));
  Prior prior;
  MatrixXd& entries = is_dictionary ? prior.dictionary
                      : is_moment   ? prior.moment
                                    : prior.columns;
  entries = Eigen::Map<const MatrixXd>(table.numbers.data(),
                                       static_cast<Index>(table.features),
                                       static_cast<Index>(table.users));
  if (!is_moment) {
    for (auto column : entries.colwise())
      if (column.norm() > 0) column.normalize();
  }
  return prior;
}

MatrixXd BestOfStarts(const MatrixXd& columns, FitOptions options) {
  constexpr int kStarts = 6, kIterations = 300;
  const Eigen::MatrixXf x = columns.cast<float>();
  ColumnFit best;
  for (int start = 0; start < kStarts; ++start) {
    ColumnFit one = FitColumns(x, kIterations, options);
    if (start == 0 || one.value < best.value) best = std::move(one);
    options.seed += std::uint64_t{1} << 40;
  }
  return best.w.cast<double>();
}

}  // namespace

absl::StatusOr<std::vector<Prior>> LoadPriors(
    const std::vector<std::string>& texts, bool users_are_rows,
    std::uint64_t features) {
  std::vector<Prior> priors;
  for (const std::string& text : texts) {
    DPNMF_ASSIGN_OR_RETURN(Prior prior,
                           LoadPrior(text, users_are_rows, features));
    priors.push_back(std::move(prior));
  }
  DPNMF_RETURN_IF_ERROR(CheckPriors(priors, static_cast<Index>(features)));
  return priors;
}

absl::StatusOr<std::shared_ptr<const FeatureOrder>> LoadOrder(
    const std::string& text, int image_width, bool by_columns,
    std::uint64_t features) {
  auto order = std::make_shared<FeatureOrder>();
  if (image_width > 0 && text.empty()) {
    order->kind = FeatureOrder::Kind::kGrid;
    // Pixels of a line that follow one another: a picture that is filled by its
    // columns has as many as rows.
    const auto width = static_cast<std::uint64_t>(image_width);
    order->width =
        by_columns && features % width == 0 ? features / width : width;
  } else if (text.empty()) {
    return std::shared_ptr<const FeatureOrder>();
  } else if (text == "linear") {
    order->kind = FeatureOrder::Kind::kLinear;
  } else if (text == "circular") {
    order->kind = FeatureOrder::Kind::kCircular;
  } else if (text.starts_with(kGraphPrefix)) {
    order->kind = FeatureOrder::Kind::kGraph;
    DPNMF_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> ends,
                           ReadFeatureGraph(text.substr(kGraphPrefix.size())));
    for (std::size_t i = 0; i + 1 < ends.size(); i += 2)
      order->edges.push_back({ends[i], ends[i + 1]});
  } else {
    return Refusal(absl::StatusCode::kInvalidArgument, "feature-order-unknown",
                   "`--feature-order` must be linear, circular or graph:FILE.");
  }
  DPNMF_RETURN_IF_ERROR(CheckFeatureOrder(*order, features));
  return std::shared_ptr<const FeatureOrder>(std::move(order));
}

absl::StatusOr<MatrixXd> PartsOfPriors(const std::vector<Prior>& priors,
                                       const FitOptions& options) {
  for (const Prior& prior : priors)
    if (prior.columns.size() > 0) return BestOfStarts(prior.columns, options);
  for (const Prior& prior : priors)
    if (prior.dictionary.size() > 0) return prior.dictionary;
  DPNMF_ASSIGN_OR_RETURN(
      const DenoisedMoments moment,
      DenoiseMoments({.g = priors.front().moment}, options.stop));
  return FitDictionary(moment, options);
}

}  // namespace dpnmf::curator::lab
