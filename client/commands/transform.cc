#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/commands.h"
#include "client/files/input_stream.h"
#include "client/files/model_file.h"
#include "client/session/model.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "common/nmf/coordinate_descent.h"
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

absl::Status FeaturesMismatch(const std::string& sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "features-mismatch",
                 sentence);
}

// People of the file, one a column, and what they lack and have too much.
struct People {
  Eigen::MatrixXd columns = {};
  bool by_name = false;
  std::vector<std::string> left_out = {};
};

// The rows of W, found by name: `names` are those of the file.
absl::StatusOr<People> ByName(const Eigen::MatrixXd& columns,
                              const std::vector<std::string>& names,
                              const Model& model) {
  std::unordered_map<std::string, Eigen::Index> places;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (places.emplace(names[i], static_cast<Eigen::Index>(i)).second) continue;
    return FeaturesMismatch(absl::StrCat("The file has '", names[i],
                                         "' twice; give each feature once."));
  }
  People people{.by_name = true};
  people.columns.resize(model.w.rows(), columns.cols());
  for (Eigen::Index i = 0; i < model.w.rows(); ++i) {
    const auto place = places.find(model.names[static_cast<std::size_t>(i)]);
    if (place == places.end()) {
      return FeaturesMismatch(absl::StrCat(
          "The file lacks '", model.names[static_cast<std::size_t>(i)],
          "', which is feature ", i + 1,
          " of the run, but has other names of the run; add it, or leave out "
          "the names and give the features in the run's order."));
    }
    people.columns.row(i) = columns.row(place->second);
    places.erase(place);
  }
  for (const std::string& name : names)
    if (places.contains(name)) people.left_out.push_back(name);
  return people;
}

// 0, 1, 2, ... in the first line of the file, as pandas writes for columns that
// have no names.
bool BeginsWithNumbersOfColumns(const Eigen::MatrixXd& lines) {
  if (lines.cols() < 3 || lines.rows() < 2) return false;
  for (Eigen::Index j = 0; j < lines.cols(); ++j)
    if (lines(0, j) != static_cast<double>(j)) return false;
  return true;
}

// D rows; entries finite and not negative.
absl::StatusOr<People> ReadPeople(const TransformFlags& flags,
                                  const Model& model) {
  DPNMF_ASSIGN_OR_RETURN(MatrixFile file, ReadMatrixAndNames(flags.input));
  const bool rows = flags.users == "rows";
  if (rows && InputTypeOf(flags.input) == ".csv" && file.column_names.empty() &&
      BeginsWithNumbersOfColumns(file.entries)) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "input-ambiguous",
        absl::StrCat("The first line of '", flags.input,
                     "' is 0, 1, 2, ...: it can be a header, as pandas writes "
                     "it, or a person. Write the file without a header "
                     "(header=False), or as .npy."));
  }
  const std::vector<std::string>& names =
      rows ? file.column_names : file.row_names;
  if (rows) file.entries.transposeInPlace();
  const std::unordered_set<std::string> known(model.names.begin(),
                                              model.names.end());
  People people;
  if (std::any_of(names.begin(), names.end(),
                  [&](const auto& name) { return known.contains(name); })) {
    DPNMF_ASSIGN_OR_RETURN(people, ByName(file.entries, names, model));
  } else {
    people.columns = std::move(file.entries);
  }
  if (people.columns.rows() != model.w.rows()) {
    return FeaturesMismatch(
        absl::StrCat("'", flags.input, "' has ", people.columns.rows(),
                     " features and the run has ", model.w.rows(),
                     "; give the same features in the same order, without "
                     "columns of ids, and check `--users`."));
  }
  for (Eigen::Index n = 0; n < people.columns.cols(); ++n) {
    for (Eigen::Index i = 0; i < people.columns.rows(); ++i) {
      const double entry = people.columns(i, n);
      if (entry >= 0 && std::isfinite(entry)) continue;
      return Refusal(absl::StatusCode::kInvalidArgument, "input-negative",
                     absl::StrCat("Feature ", i + 1, " of person ", n + 1,
                                  " is negative or not finite; correct it."));
    }
  }
  return people;
}

// "features by name; left out: id, age" as a line; empty where there is nothing
// to say.
std::string NamesText(const v1::TransformReport& report) {
  if (!report.by_name()) return "";
  if (report.left_out().empty()) return "features were found by name\n";
  constexpr int kNamed = 5;
  std::string text = "features were found by name; left out: ";
  for (int i = 0; i < std::min(kNamed, report.left_out_size()); ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", report.left_out(i));
  if (report.left_out_size() > kNamed)
    absl::StrAppend(&text, " and ", report.left_out_size() - kNamed, " more");
  return text + "\n";
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
  DPNMF_ASSIGN_OR_RETURN(People read, ReadPeople(flags, model));
  Eigen::MatrixXd& people = read.columns;
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
  report.set_by_name(read.by_name);
  report.mutable_left_out()->Assign(read.left_out.begin(), read.left_out.end());
  if (flags.users == "rows") h.transposeInPlace();
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(
      flags.output, type == ".npy" ? NpyBytes(h) : CsvText(h)));
  session.Print(report, absl::StrFormat(
                            "%swrote %s: H, %d people by %d parts; W "
                            "leaves %.1f %% of a person's squared length "
                            "unexplained, on average\n",
                            NamesText(report), report.output(), report.people(),
                            report.rank(), 100 * report.mean_unexplained()));
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
          "run's data set; h >= 0 minimises |v - W h|.\nIf the header of a "
          ".csv has names of the run's features, features are matched by "
          "name,\nand other columns are left out. Otherwise the file must have "
          "the data set's features in\nthe data set's order.\n\nExample:\n  "
          "dpnmf transform 3f9a --input new.csv.gz --output H.csv",
      .flags = {Flag("run", &flags->run, "Id of the run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("--input", &flags->input,
                     "File of people: .npy, .mtx, or .csv with or without a "
                     "header; also compressed, as .csv.gz",
                     {.value = "FILE", .required = true}),
                Flag("--output,-o", &flags->output,
                     "File for H, .npy or .csv, with people in the same "
                     "direction as in the input; replaced if it exists",
                     {.value = "FILE", .required = true}),
                Flag("--users", &flags->users,
                     "Which lines of the input are people",
                     {.one_of = "rows|columns", .shown = true})},
      .run = [session, flags] { return Transform(*session, *flags); }};
}

}  // namespace dpnmf::cli
