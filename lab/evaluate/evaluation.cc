#include "lab/evaluate/evaluation.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/files/npy.h"
#include "common/tables/names/name_list.h"
#include "curator/import/columns.h"
#include "lab/evaluate/prior_files.h"
#include "lab/evaluate/seeded_noise.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

constexpr int kTopWords = 10;

absl::StatusOr<std::unique_ptr<Dataset>> DatasetOf(LoadedMatrix matrix) {
  NormaliseColumns(&matrix, Normalisation::kL2, /*column_bound=*/1);
  return ToDataset(std::move(matrix), DatasetDescription());
}

// The data as given, and with outliers added.
struct Data {
  std::unique_ptr<Dataset> given,
      distorted;  // distorted: null without experiment
};

absl::StatusOr<Data> LoadData(const EvaluateOptions& options,
                              const std::vector<std::string>& vocabulary) {
  LoadOptions load;
  load.format = options.format;
  load.array = options.array;
  load.feature_names = vocabulary;
  load.note = options.note;
  DPNMF_ASSIGN_OR_RETURN(
      LoadedMatrix matrix,
      LoadMatrix(options.input, options.users_are_rows, load));
  Data data;
  if (options.outlier_experiment) {
    LoadedMatrix copy = matrix;
    AddOutliers(options.seed, &copy);
    DPNMF_ASSIGN_OR_RETURN(data.distorted, DatasetOf(std::move(copy)));
  }
  DPNMF_ASSIGN_OR_RETURN(data.given, DatasetOf(std::move(matrix)));
  return data;
}

absl::Status CheckAgainstData(const EvaluateOptions& options,
                              const Dataset& data) {
  const std::uint64_t most = std::min<std::uint64_t>(
      {data.features(), data.private_user_count(), kMaxRank});
  if (!(options.rank >= 1 &&
        static_cast<std::uint64_t>(options.rank) <= most)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "rank-out-of-range",
                   absl::StrCat("`--rank` must be from 1 to ", most,
                                ", the least of D, N and 1024."));
  }
  const auto width = static_cast<std::uint64_t>(options.image_width);
  if (width > 0 && data.features() % width != 0) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "evaluate-option-out-of-range",
                   absl::StrCat("`--image-width` must divide D, which is ",
                                data.features(), "."));
  }
  return absl::OkStatus();
}

std::vector<Setting> SettingsOf(const EvaluateOptions& options,
                                std::uint64_t users, std::uint64_t features) {
  std::vector<Setting> settings;
  const auto add = [&](Setting setting) {
    const bool on = setting.outliers;
    if (on && !TakesOutliers(setting.method)) return;
    if (on ? options.outliers == OutlierChoice::kOff
           : options.outliers == OutlierChoice::kOn &&
                 TakesOutliers(setting.method)) {
      return;
    }
    for (const std::uint32_t rounds : RoundsOf(options, setting.method)) {
      setting.rounds = rounds;
      if (!TakesEpsilon(setting.method)) {
        settings.push_back(setting);
        continue;
      }
      for (const double epsilon : options.epsilon) {
        setting.epsilon = epsilon;
        if (IsAsked(options, setting.method, epsilon, users, features))
          settings.push_back(setting);
      }
    }
  };
  for (const bool distorted : {false, true}) {
    if (distorted && !options.outlier_experiment) continue;
    for (const Method method : MethodsOf(options)) {
      for (const bool outliers : {false, true}) {
        add({.distorted = distorted, .method = method, .outliers = outliers});
      }
    }
  }
  return settings;
}

// Returns true if all repeats give the same result: one repeat is enough.
bool IsDeterministic(Method method) {
  return method == Method::kNndsvd || method == Method::kMean;
}

std::string ModelName(const Setting& setting, std::uint32_t repeat) {
  std::string name = absl::StrCat("W-", std::string(NameOf(setting.method)));
  if (setting.distorted) absl::StrAppend(&name, "-distorted");
  if (setting.outliers) absl::StrAppend(&name, "-outliers");
  if (TakesEpsilon(setting.method))
    absl::StrAppend(&name, absl::StrFormat("-epsilon%g", setting.epsilon));
  if (setting.rounds > 0) absl::StrAppend(&name, "-rounds", setting.rounds);
  return absl::StrCat(name, "-repeat", repeat, ".npy");
}

absl::Status SaveModel(const std::string& directory, const std::string& name,
                       const Eigen::MatrixXd& w) {
  NpyHeader header;
  header.dtype = "<f8";
  header.fortran_order = true;
  header.shape = {static_cast<std::uint64_t>(w.rows()),
                  static_cast<std::uint64_t>(w.cols())};
  return ReplaceDurably(
      directory + "/" + name, NpyHeaderBytes(header),
      std::as_bytes(std::span(w.data(), static_cast<std::size_t>(w.size()))));
}

double Mean(const std::vector<Topic>& topics, double Topic::*score) {
  double sum = 0;
  for (const Topic& topic : topics) sum += topic.*score;
  return sum / static_cast<double>(topics.size());
}

// One evaluation under way.
class Evaluator {
 public:
  Evaluator(const EvaluateOptions& options, const EvaluateHooks& hooks,
            const Data& data, std::shared_ptr<const std::vector<Prior>> priors,
            std::shared_ptr<const FeatureOrder> order, Evaluation* evaluation)
      : options_(options),
        hooks_(hooks),
        given_(data.given.get()),
        priors_(std::move(priors)),
        order_(std::move(order)),
        evaluation_(evaluation) {
    if (data.distorted != nullptr)
      distorted_ = std::make_unique<DataView>(data.distorted.get());
  }

  absl::Status Run() {
    const std::vector<Setting> settings =
        SettingsOf(options_, evaluation_->users, evaluation_->features);
    for (std::uint32_t repeat = 1; repeat <= options_.repeats; ++repeat) {
      for (const Setting& setting : settings) {
        evaluation_->planned +=
            repeat == 1 || !IsDeterministic(setting.method) ? 1 : 0;
      }
    }
    for (std::uint32_t repeat = 1; repeat <= options_.repeats; ++repeat) {
      for (const Setting& setting : settings) {
        if (repeat > 1 && IsDeterministic(setting.method)) continue;
        DPNMF_RETURN_IF_ERROR(RunTrial(setting, repeat));
      }
    }
    return absl::OkStatus();
  }

 private:
  Trial TrialOf(const Setting& setting, std::uint32_t repeat) const {
    Trial trial;
    trial.method = setting.method;
    trial.rank = options_.rank;
    trial.rounds = setting.rounds;
    trial.epsilon = setting.epsilon;
    trial.delta = options_.delta;
    trial.conversion = options_.conversion;
    trial.outliers = setting.outliers;
    trial.lambda = setting.outliers ? evaluation_->lambda : 0;
    trial.outlier_bound = setting.outliers ? evaluation_->outlier_bound : 0;
    trial.seed = SeedFor(options_.seed, absl::StrCat("repeat ", repeat));
    trial.threads = options_.threads;
    trial.stop = hooks_.stop;
    trial.priors = priors_;
    trial.order = order_;
    trial.law = options_.law;
    return trial;
  }

  absl::Status RunTrial(const Setting& setting, std::uint32_t repeat) {
    if (hooks_.before_trial) {
      hooks_.before_trial(evaluation_->results.size() + 1, evaluation_->planned,
                          setting, repeat);
    }
    DPNMF_ASSIGN_OR_RETURN(
        Learned learned, Learn(setting.distorted ? *distorted_ : given_, given_,
                               TrialOf(setting, repeat)));
    if (!options_.save_models.empty()) {
      DPNMF_RETURN_IF_ERROR(SaveModel(options_.save_models,
                                      ModelName(setting, repeat), learned.w));
    }
    Result result;
    result.setting = setting;
    result.repeat = repeat;
    if (learned.epsilon_per_round > 0)
      result.epsilon_per_round = learned.epsilon_per_round;
    result.objective = learned.objective;
    result.seconds = learned.seconds;
    result.curve = std::move(learned.curve);
    if (!evaluation_->vocabulary.empty()) {
      result.topics = TopicsOf(given_, learned.w, kTopWords);
      result.npmi = Mean(result.topics, &Topic::npmi);
      result.umass = Mean(result.topics, &Topic::umass);
      if (repeat > 1) result.topics.clear();
    }
    if (options_.image_width > 0 && repeat == 1)
      result.w = std::move(learned.w);
    evaluation_->results.push_back(std::move(result));
    return hooks_.after_trial ? hooks_.after_trial(*evaluation_)
                              : absl::OkStatus();
  }

  const EvaluateOptions& options_;
  const EvaluateHooks& hooks_;
  const DataView given_;
  std::unique_ptr<DataView> distorted_;
  const std::shared_ptr<const std::vector<Prior>> priors_;
  const std::shared_ptr<const FeatureOrder> order_;
  Evaluation* evaluation_;
};

Summary SummaryOf(const Repeats<Result>& repeats) {
  const auto median = [&](double Result::*figure) {
    return SpreadOver(repeats, [&](const Result& one) { return one.*figure; })
        .median;
  };
  Summary summary;
  summary.setting = repeats[0]->setting;
  summary.repeats = static_cast<std::uint32_t>(repeats.size());
  summary.epsilon_per_round = repeats[0]->epsilon_per_round;
  summary.objective =
      SpreadOver(repeats, [](const Result& one) { return one.objective; });
  summary.npmi = median(&Result::npmi);
  summary.umass = median(&Result::umass);
  summary.seconds = median(&Result::seconds);
  return summary;
}

// Every entry of a dense copy of a user's column, then what is left of it.
class ColumnDistorter {
 public:
  ColumnDistorter(double largest, SeededNoise* random)
      : largest_(largest), random_(random) {}

  void Spoil(std::span<float> column) {
    constexpr double kShareOfEntries = 0.7;
    for (float& entry : column) {
      if (!(random_->Uniform() < kShareOfEntries)) continue;
      const double noise = largest_ * (2 * random_->Uniform() - 1);
      entry = static_cast<float>(std::max(0.0, entry + noise));
    }
  }

 private:
  double largest_;
  SeededNoise* random_;
};

void DistortSparse(const std::vector<bool>& chosen, ColumnDistorter* distorter,
                   LoadedMatrix* matrix) {
  LoadedMatrix next;
  next.indptr = {0};
  std::vector<float> column(matrix->features);
  for (std::size_t n = 0; n < matrix->users; ++n) {
    const auto first = static_cast<std::size_t>(matrix->indptr[n]);
    const auto last = static_cast<std::size_t>(matrix->indptr[n + 1]);
    std::fill(column.begin(), column.end(), 0.0f);
    for (std::size_t i = first; i < last; ++i) {
      column[static_cast<std::size_t>(matrix->indices[i])] = matrix->values[i];
    }
    if (chosen[n]) distorter->Spoil(column);
    for (std::size_t row = 0; row < column.size(); ++row) {
      if (column[row] == 0) continue;
      next.indices.push_back(static_cast<std::int32_t>(row));
      next.values.push_back(column[row]);
    }
    next.indptr.push_back(static_cast<std::int64_t>(next.values.size()));
  }
  matrix->indptr = std::move(next.indptr);
  matrix->indices = std::move(next.indices);
  matrix->values = std::move(next.values);
}

}  // namespace

std::string_view DataNameOf(const Setting& setting) {
  return setting.distorted ? "outliers added" : "as given";
}

void AddOutliers(std::uint64_t seed, LoadedMatrix* matrix) {
  constexpr double kShareOfUsers = 0.1;
  SeededNoise random(SeedFor(seed, "outliers"));
  const auto wanted = static_cast<std::size_t>(
      std::ceil(kShareOfUsers * static_cast<double>(matrix->users)));
  std::vector<bool> chosen(matrix->users);
  std::size_t left = wanted;
  for (std::size_t n = 0; n < matrix->users; ++n) {
    // A simple random sample (Fan, Muller and Rezucha 1962).
    chosen[n] = random.Uniform() * static_cast<double>(matrix->users - n) <
                static_cast<double>(left);
    left -= chosen[n] ? 1 : 0;
  }
  const float largest =
      matrix->values.empty()
          ? 1.0f
          : *std::max_element(matrix->values.begin(), matrix->values.end());
  ColumnDistorter distorter(largest, &random);
  if (matrix->sparse) return DistortSparse(chosen, &distorter, matrix);
  for (std::size_t n = 0; n < matrix->users; ++n) {
    if (!chosen[n]) continue;
    distorter.Spoil(std::span(matrix->values)
                        .subspan(n * matrix->features, matrix->features));
  }
}

std::vector<Summary> Summarise(const Evaluation& evaluation) {
  const auto same = [](const Result& a, const Result& b) {
    return a.setting == b.setting;
  };
  std::vector<Summary> summaries;
  for (const auto& repeats : RepeatsOf(evaluation.results, same))
    summaries.push_back(SummaryOf(repeats));
  return summaries;
}

absl::StatusOr<Evaluation> Evaluate(const EvaluateOptions& options,
                                    const EvaluateHooks& hooks) {
  DPNMF_RETURN_IF_ERROR(CheckEvaluateOptions(options));
  Evaluation evaluation;
  evaluation.name = std::filesystem::path(options.input).filename();
  if (!options.vocabulary.empty()) {
    DPNMF_ASSIGN_OR_RETURN(evaluation.vocabulary,
                           LoadNameList(options.vocabulary));
  }
  DPNMF_ASSIGN_OR_RETURN(const Data data,
                         LoadData(options, evaluation.vocabulary));
  DPNMF_RETURN_IF_ERROR(CheckAgainstData(options, *data.given));
  evaluation.features = data.given->features();
  evaluation.users = data.given->private_user_count();
  evaluation.lambda = options.lambda.value_or(
      2 / std::sqrt(static_cast<double>(evaluation.features)));
  evaluation.outlier_bound = options.outlier_bound.value_or(1);
  if (!options.save_models.empty())
    DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.save_models));
  std::shared_ptr<const std::vector<Prior>> priors;
  if (!options.priors.empty()) {
    DPNMF_ASSIGN_OR_RETURN(std::vector<Prior> loaded,
                           LoadPriors(options.priors, options.users_are_rows,
                                      evaluation.features));
    priors = std::make_shared<const std::vector<Prior>>(std::move(loaded));
  }
  DPNMF_ASSIGN_OR_RETURN(
      std::shared_ptr<const FeatureOrder> order,
      LoadOrder(options.feature_order, options.image_width,
                options.image_by_columns, evaluation.features));
  const absl::Status done = Evaluator(options, hooks, data, std::move(priors),
                                      std::move(order), &evaluation)
                                .Run();
  if (!done.ok() && !(absl::IsCancelled(done) && hooks.stop && hooks.stop()))
    return done;
  return evaluation;
}

}  // namespace dpnmf::curator::lab
