#include "lab/synthesise/synthesise.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/moments/class_model.h"
#include "common/privacy/mechanism.h"
#include "curator/factor/class_moments.h"
#include "lab/attack/attack.h"
#include "lab/synthesise/classifier.h"

namespace dpnmf::curator::lab {
namespace {

RunParameters MeasuredRun(const DatasetFacts& facts, double epsilon,
                          double delta) {
  RunParameters parameters;
  parameters.mechanism = kClassMomentsMechanism.name;
  parameters.rank = parameters.rounds = 1;
  parameters.epsilon = epsilon;
  parameters.delta = delta;
  parameters.adjacency = facts.adjacency;
  parameters.conversion = facts.conversion;
  return parameters;
}

absl::StatusOr<std::unique_ptr<Dataset>> DatasetOf(const Table& table,
                                                   const DatasetFacts& facts) {
  DatasetDescription description;
  description.name = description.population = "measured";
  description.features = facts.features;
  description.users = facts.users;
  description.normalisation = Normalisation::kNone;
  description.column_bound = facts.column_bound;
  description.adjacency = facts.adjacency;
  description.conversion = facts.conversion;
  description.classes = facts.classes;
  description.range = facts.range;
  const Eigen::MatrixXf columns = table.values.transpose().cast<float>();
  std::vector<std::int32_t> labels;
  const auto& names = facts.classes->names;
  for (const std::string& label : table.classes) {
    const auto found = std::find(names.begin(), names.end(), label);
    if (found == names.end()) {
      return Refusal(absl::StatusCode::kInvalidArgument, "class-unknown",
                     absl::StrCat("The label ", label,
                                  " is not declared; declare it with "
                                  "--classes, or correct it."));
    }
    labels.push_back(static_cast<std::int32_t>(found - names.begin()));
  }
  return Dataset::FromDense(std::move(description),
                            {columns.data(), columns.data() + columns.size()},
                            std::move(labels));
}

Table RowsOfTable(const Table& table, const std::vector<int>& rows) {
  Table part;
  part.columns = table.columns;
  part.values.resize(static_cast<Eigen::Index>(rows.size()),
                     table.values.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    part.values.row(static_cast<Eigen::Index>(i)) = table.values.row(rows[i]);
    part.classes.push_back(table.classes[static_cast<std::size_t>(rows[i])]);
  }
  return part;
}

absl::Status SynthesisCancelled() {
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "The measurement was interrupted; nothing was written.");
}

}  // namespace

absl::StatusOr<Table> SynthesiseTable(const ClassRelease& release,
                                      std::uint64_t count, Draws* draws) {
  DPNMF_ASSIGN_OR_RETURN(const NoisedClasses noised,
                         NoisedClassesOf(release.facts, release.data_bits,
                                         release.stddev_steps, release.sums));
  const DrawnPeople people =
      DrawPeople(FitClasses(noised), release.facts, count,
                 [draws] { return draws->Normal(); });
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  draws->Sample(order.size(), &order);
  Table table;
  table.columns = release.features;
  table.values.resize(people.values.rows(), people.values.cols());
  for (std::size_t i = 0; i < order.size(); ++i) {
    table.values.row(static_cast<Eigen::Index>(i)) =
        people.values.row(order[i]);
    table.classes.push_back(
        release.facts.classes->names[static_cast<std::size_t>(
            people.labels[static_cast<std::size_t>(order[i])])]);
  }
  return table;
}

double DefaultGamma(const DatasetFacts& facts) {
  const double width = facts.range.has_value()
                           ? facts.range->high - facts.range->low
                           : facts.column_bound;
  return 1 / (static_cast<double>(facts.features) * width * width);
}

absl::StatusOr<ClassRelease> MeasuredRelease(const Table& table,
                                             DatasetFacts facts, double epsilon,
                                             double delta, int threads,
                                             Draws* draws) {
  facts.name = facts.population = "measured";
  facts.features = static_cast<std::uint64_t>(table.values.cols());
  facts.users = static_cast<std::uint64_t>(table.people());
  facts.max_rank = facts.max_rounds = 1;
  ClassRelease release;
  release.epsilon = epsilon;
  release.delta = delta;
  DPNMF_ASSIGN_OR_RETURN(const RunPlan plan,
                         PlanRun(MeasuredRun(facts, epsilon, delta), facts));
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data,
                         DatasetOf(table, facts));
  Execution execution;
  execution.threads = threads;
  release.data_bits = plan.data_bits;
  release.stddev_steps = plan.stages.at(0).parts.at(0).stddev_steps;
  DPNMF_ASSIGN_OR_RETURN(release.sums,
                         ComputeClassMoments(*data, plan.data_bits, execution));
  for (std::int64_t& sum : release.sums) {
    sum += std::llround(static_cast<double>(release.stddev_steps) *
                        draws->Normal());
  }
  release.facts = std::move(facts);
  release.features = table.columns;
  return release;
}

absl::StatusOr<SynthesisMeasure> MeasureSynthesis(
    const Table& table, const DatasetFacts& facts,
    const SynthesisOptions& options) {
  Draws draws(options.seed);
  DatasetFacts shaped = facts;
  shaped.features = static_cast<std::uint64_t>(table.values.cols());
  const double gamma = options.gamma > 0 ? options.gamma : DefaultGamma(shaped);
  SynthesisMeasure measure;
  DPNMF_ASSIGN_OR_RETURN(measure.accuracy_on_itself,
                         TrainedAccuracy(table, table, gamma));
  for (const double epsilon : options.epsilons) {
    const auto publish = [&](const Table& people) -> absl::StatusOr<Table> {
      DPNMF_ASSIGN_OR_RETURN(
          const ClassRelease release,
          MeasuredRelease(people, facts, epsilon, options.delta,
                          options.threads, &draws));
      return SynthesiseTable(
          release, static_cast<std::uint64_t>(people.people()), &draws);
    };
    for (int repeat = 1; repeat <= options.repeats; ++repeat) {
      if (options.stop && options.stop()) return SynthesisCancelled();
      SynthesisTrial trial{.epsilon = epsilon, .repeat = repeat};
      DPNMF_ASSIGN_OR_RETURN(const Table published, publish(table));
      DPNMF_ASSIGN_OR_RETURN(trial.accuracy,
                             TrainedAccuracy(published, table, gamma));
      if (options.attack) {
        AttackOptions attack;
        attack.seed = draws.Bits();
        attack.threads = options.threads;
        attack.stop = options.stop;
        attack.publish = [&](const std::vector<int>& rows) {
          return publish(RowsOfTable(table, rows));
        };
        DPNMF_ASSIGN_OR_RETURN(AttackReport report,
                               Attack(table, published, attack));
        trial.membership_auc = report.membership_auc;
        if (repeat == 1) trial.attacks = std::move(report);
      }
      measure.trials.push_back(std::move(trial));
    }
  }
  return measure;
}

}  // namespace dpnmf::curator::lab
