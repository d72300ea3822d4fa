#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyst/client/commands/commands.h"
#include "analyst/client/model.h"
#include "analyst/client/model_file.h"
#include "analyst/client/run_id.h"
#include "common/base/error.h"
#include "common/base/parallel.h"
#include "common/nmf/coordinate_descent.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {
namespace {

// Enough for any h that people look at: the objective never rises.
constexpr int kTransformSweeps = 300;

struct TransformFlags {
  std::string run;
  std::string input;
  std::string output;
  std::string users = "rows";
};

absl::StatusOr<v1::Dataset> DatasetOf(const AnalystClient& client,
                                      const std::string& run_id,
                                      const Model& model) {
  if (model.header.has_dataset()) return model.header.dataset();
  DPNMF_ASSIGN_OR_RETURN(const v1::Run run, client.GetRun(run_id));
  DPNMF_ASSIGN_OR_RETURN(const v1::ListDatasetsReply list,
                         client.ListDatasets());
  const std::string& name = run.specification().parameters().dataset();
  for (const v1::Dataset& dataset : list.datasets())
    if (dataset.name() == name) return dataset;
  return Refusal(
      absl::StatusCode::kNotFound, "dataset-unknown",
      absl::StrCat("The curator no longer offers the data set ", name,
                   " of the run, so its normalisation is not "
                   "known."));
}

// One person a column, D rows; entries finite and not negative.
absl::StatusOr<Eigen::MatrixXd> ReadPeople(const TransformFlags& flags,
                                           Eigen::Index features) {
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd people, ReadMatrixFile(flags.input));
  if (flags.users == "rows") people.transposeInPlace();
  if (people.rows() != features) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "features-mismatch",
        absl::StrCat("'", flags.input, "' has ", people.rows(),
                     " features and the run ", features,
                     "; give the same features in the same order, and check "
                     "`--users`."));
  }
  for (Eigen::Index n = 0; n < people.cols(); ++n) {
    for (Eigen::Index i = 0; i < people.rows(); ++i) {
      if (people(i, n) >= 0 && std::isfinite(people(i, n))) continue;
      return Refusal(absl::StatusCode::kInvalidArgument, "input-negative",
                     absl::StrCat("Feature ", i + 1, " of person ", n + 1,
                                  " is negative or not finite; correct it."));
    }
  }
  return people;
}

// As the data set's columns were at import (docs/data.md).
void NormaliseAs(const v1::Dataset& dataset, Eigen::MatrixXd* people) {
  const bool unit = dataset.normalisation() == v1::NORMALISATION_L2;
  for (Eigen::Index n = 0; n < people->cols(); ++n) {
    const double length = people->col(n).norm();
    const double most = unit ? 1 : dataset.column_bound();
    if (length > 0 && (unit || length > most)) people->col(n) *= most / length;
  }
}

double MeanUnexplained(const Eigen::MatrixXd& people, const Eigen::MatrixXd& w,
                       const Eigen::MatrixXd& h) {
  double sum = 0;
  Eigen::Index counted = 0;
  for (Eigen::Index n = 0; n < people.cols(); ++n) {
    const double whole = people.col(n).squaredNorm();
    if (!(whole > 0)) continue;
    sum += (people.col(n) - w * h.col(n)).squaredNorm() / whole;
    ++counted;
  }
  return counted == 0 ? 0 : sum / static_cast<double>(counted);
}

absl::StatusOr<ExitCode> Transform(const Session& session,
                                   const TransformFlags& flags) {
  const std::string type = ExtensionOf(flags.output);
  if (type != ".npy" && type != ".csv")
    return OutputTypeUnknown(flags.output, ".npy or .csv");
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run_id, ResolveRunId(client, flags.run));
  DPNMF_ASSIGN_OR_RETURN(const Model model, client.GetModel(run_id));
  DPNMF_RETURN_IF_ERROR(CheckIsDictionary(model));
  DPNMF_ASSIGN_OR_RETURN(const v1::Dataset dataset,
                         DatasetOf(client, run_id, model));
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd people,
                         ReadPeople(flags, model.w.rows()));
  NormaliseAs(dataset, &people);
  Eigen::MatrixXd h = Eigen::MatrixXd::Zero(model.w.cols(), people.cols());
  SweepNonNegative(model.w.transpose() * model.w, model.w.transpose() * people,
                   kTransformSweeps, DefaultThreads(), &h);
  v1::TransformReport report;
  report.set_run_id(run_id);
  report.set_people(static_cast<std::uint64_t>(people.cols()));
  report.set_rank(static_cast<std::uint32_t>(h.rows()));
  report.set_output(flags.output);
  report.set_mean_unexplained(MeanUnexplained(people, model.w, h));
  if (flags.users == "rows") h.transposeInPlace();
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(
      flags.output, type == ".npy" ? NpyBytes(h) : CsvText(h)));
  session.Print(report,
                absl::StrFormat("wrote %s: H, %d people by %d parts; W leaves "
                                "%.1f %% of a person's squared length "
                                "unexplained, on average\n",
                                report.output(), report.people(), report.rank(),
                                100 * report.mean_unexplained()));
  return kExitOk;
}

}  // namespace

Command TransformCommand(const Session* session) {
  const auto flags = std::make_shared<TransformFlags>();
  return {
      .name = "transform",
      .summary = "Express your own people in the parts of a run",
      .footer =
          "Computed on this machine: the file is sent nowhere, and nothing is "
          "charged. Columns are\nnormalised as those of the run's data set; h "
          ">= 0 minimises |v - W h|. The features must be\nthose of the data "
          "set, in its order.\n\nExample:\n  dpnmf transform 3f9a --input "
          "new.csv --output H.csv",
      .flags = {Flag("run", &flags->run, "Id of the run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("--input", &flags->input,
                     "File of people, .npy or .csv with or without a header",
                     {.value = "FILE", .required = true}),
                Flag("--output,-o", &flags->output,
                     "File for H, .npy or .csv, turned as the input; replaced "
                     "if it exists",
                     {.value = "FILE", .required = true}),
                Flag("--users", &flags->users,
                     "Which lines of the input are people",
                     {.one_of = "rows|columns", .shown = true})},
      .run = [session, flags] { return Transform(*session, *flags); }};
}

}  // namespace dpnmf::cli
