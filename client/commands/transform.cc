#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/commands.h"
#include "client/files/model_file.h"
#include "client/session/model.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "common/files/match_names.h"
#include "common/nmf/coordinate_descent.h"
#include "common/tables/load.h"
#include "common/threads/parallel.h"
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

// The people of the file, one a column, in the order of W's rows.
absl::StatusOr<LoadedMatrix> ReadPeople(const TransformFlags& flags,
                                        const Model& model) {
  return LoadTable(flags.input, flags.users == "rows",
                   {.feature_names = model.names,
                    .features = static_cast<std::uint64_t>(model.w.rows()),
                    .flag = "--input"});
}

// How the features of the file became those of W.
std::string NamesText(const v1::TransformReport& report, Eigen::Index features,
                      const Model& model) {
  if (!report.by_name()) {
    return absl::StrFormat(
        "%s no names: the %d features of the file are taken in the run's "
        "order\n",
        model.names.empty() ? "the run's features have" : "the file has",
        features);
  }
  const auto size = static_cast<std::size_t>(features);
  return MatchText(size, size,
                   {report.respelled().begin(), report.respelled().end()},
                   {report.left_out().begin(), report.left_out().end()}) +
         "\n";
}

// H as text, with people in the direction of the input: `h` has the parts of a
// person in a row, or in a column.
std::string TextOfH(const Eigen::MatrixXd& h, bool people_are_rows,
                    std::vector<std::string> ids) {
  if (people_are_rows) {
    return CsvText(h, {.columns = NamesOfParts(h.cols()),
                       .rows = std::move(ids),
                       .corner = "person"});
  }
  if (ids.empty()) {
    for (Eigen::Index n = 1; n <= h.cols(); ++n)
      ids.push_back(absl::StrCat("person_", n));
  }
  return CsvText(h, {.columns = std::move(ids),
                     .rows = NamesOfParts(h.rows()),
                     .corner = "part"});
}

// Normalises people as the data set's columns were at import
// (docs/reference/formats.md).
absl::Status NormaliseAs(const v1::Dataset& dataset,
                         const std::vector<double>& weights,
                         Eigen::MatrixXd* people) {
  if (dataset.weighted_features()) {
    if (static_cast<Eigen::Index>(weights.size()) != people->rows()) {
      return Refusal(
          absl::StatusCode::kFailedPrecondition, "weights-missing",
          "The features of the run's data set have weights, and the analyst's "
          "server has not kept them: refit the run, or use the same version of "
          "the curator, the analyst's server and this program.");
    }
    people->array().colwise() *=
        Eigen::Map<const Eigen::ArrayXd>(weights.data(), people->rows());
  }
  const bool unit = dataset.normalisation() == v1::NORMALISATION_L2;
  for (Eigen::Index n = 0; n < people->cols(); ++n) {
    const double length = people->col(n).norm();
    const double most = unit ? 1 : dataset.column_bound();
    if (length > 0 && (unit || length > most)) people->col(n) *= most / length;
  }
  return absl::OkStatus();
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
  DPNMF_ASSIGN_OR_RETURN(LoadedMatrix read, ReadPeople(flags, model));
  Eigen::MatrixXd people = EntriesOf(read);
  DPNMF_RETURN_IF_ERROR(NormaliseAs(dataset, model.weights, &people));
  Eigen::MatrixXd h = Eigen::MatrixXd::Zero(model.w.cols(), people.cols());
  SweepNonNegative(model.w.transpose() * model.w, model.w.transpose() * people,
                   kTransformSweeps, DefaultThreads(), &h);
  v1::TransformReport report;
  report.set_run_id(run_id);
  report.set_people(static_cast<std::uint64_t>(people.cols()));
  report.set_rank(static_cast<std::uint32_t>(h.rows()));
  report.set_output(flags.output);
  report.set_mean_unexplained(MeanUnexplained(people, model.w, h));
  report.set_by_name(!model.names.empty() && !read.feature_names.empty());
  report.mutable_left_out()->Assign(read.left_out.begin(), read.left_out.end());
  report.mutable_respelled()->Assign(read.respelled.begin(),
                                     read.respelled.end());
  const bool rows = flags.users == "rows";
  if (rows) h.transposeInPlace();
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(
      flags.output,
      type == ".npy" ? NpyBytes(h) : TextOfH(h, rows, std::move(read.ids))));
  session.Print(report,
                absl::StrFormat("%swrote %s: H, %d people by %d parts; W "
                                "leaves %.1f %% of a person's squared length "
                                "unexplained, on average\n",
                                NamesText(report, people.rows(), model),
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
          "This is computed on this machine: the file is not sent, and nothing "
          "is charged. Columns\nare weighted and normalised like those of the "
          "run's data set; h >= 0 minimises |v - W h|.\nIf the run and the "
          "file have names of features, features are matched by name, and "
          "other\ncolumns are left out. Otherwise the file must have the data "
          "set's features in the data\nset's order.\n\nExample:\n  "
          "dpnmf transform 3f9a --input new.csv.gz --output H.csv",
      .flags = {Flag("run", &flags->run, "Id of the run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("--input", &flags->input,
                     "File of people, of any format that can be imported; "
                     "can be .gz",
                     {.value = "FILE", .required = true}),
                Flag("--output,-o", &flags->output,
                     "File for H, .npy, or .csv with the names of the parts "
                     "and ids of people, who lie as in the input; replaced if "
                     "it exists",
                     {.value = "FILE", .required = true}),
                Flag("--users", &flags->users,
                     "Which lines of the input are people",
                     {.one_of = "rows|columns", .shown = true})},
      .run = [session, flags] { return Transform(*session, *flags); }};
}

}  // namespace dpnmf::cli
