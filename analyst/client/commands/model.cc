#include "analyst/client/model.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyst/client/commands/commands.h"
#include "analyst/client/model_file.h"
#include "analyst/client/render/names.h"
#include "analyst/client/render/picture.h"
#include "analyst/client/run_id.h"
#include "common/base/error.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {
namespace {

struct ModelFlags {
  std::string run;
  std::string output;
  std::string errors;
  std::string shape;
  std::string order = "row";
};

// Whether both names lead to the same file, there or not.
bool IsSameFile(const std::string& one, const std::string& other) {
  const auto place = [](const std::string& path) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path, error);
    const auto plain = std::filesystem::weakly_canonical(absolute, error);
    return error ? absolute.lexically_normal() : plain;
  };
  return place(one) == place(other);
}

absl::Status CheckOutput(const ModelFlags& flags) {
  const std::string type = ExtensionOf(flags.output);
  if (type != ".npy" && type != ".csv" && type != ".mtx" && type != ".png") {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "file-type-unknown",
        absl::StrCat("`--output` must end in .npy, .csv, .mtx or .png, and '",
                     flags.output, "' does not."));
  }
  const std::string of_errors = ExtensionOf(flags.errors);
  if (!flags.errors.empty() && of_errors != ".npy" && of_errors != ".csv" &&
      of_errors != ".mtx") {
    return Refusal(absl::StatusCode::kInvalidArgument, "file-type-unknown",
                   absl::StrCat("`--errors` must end in .npy, .csv or .mtx, "
                                "and '",
                                flags.errors, "' does not."));
  }
  if (!flags.errors.empty() && IsSameFile(flags.output, flags.errors)) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "outputs-equal",
        absl::StrCat("`--output` and `--errors` are the same file, '",
                     flags.output, "'; give each its own."));
  }
  if (type != ".png" && !flags.shape.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "shape-without-picture",
                   "`--shape` is for a .png; leave it out for other files.");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FileBytes(const ModelFlags& flags,
                                      const std::string& file,
                                      const Eigen::MatrixXd& w) {
  const std::string type = ExtensionOf(file);
  if (type == ".npy") return NpyBytes(w);
  if (type == ".csv") return CsvText(w);
  if (type == ".mtx") return MatrixMarketText(w);
  DPNMF_ASSIGN_OR_RETURN(
      const TileShape shape,
      TileShapeOf(flags.shape, static_cast<std::uint64_t>(w.rows()),
                  flags.order == "row"));
  return TilesPng(w, shape);
}

v1::ModelReport ReportOf(const ModelFlags& flags, const Model& model) {
  v1::ModelReport report;
  *report.mutable_shape() = model.header.shape();
  report.set_rounds_done(model.header.rounds_done());
  report.set_state(v1::RunState_Name(model.header.state()));
  report.set_output(flags.output);
  if (flags.errors.empty()) return report;
  report.set_errors(flags.errors);
  report.set_errors_root_mean_square(std::sqrt(
      model.errors.squaredNorm() / static_cast<double>(model.errors.size())));
  return report;
}

std::string TextOf(const v1::ModelReport& report, v1::RunState state) {
  std::string text = absl::StrCat(
      "wrote ", report.output(), ": W, ", ShapeText(report.shape()), ", after ",
      report.rounds_done(), report.rounds_done() == 1 ? " round" : " rounds",
      " (run ", NameOf(state), ")\n");
  if (report.has_errors()) {
    absl::StrAppendFormat(
        &text,
        "wrote %s: standard errors of W by the noise alone, %.2g in the root "
        "mean square of an entry\n",
        report.errors(), report.errors_root_mean_square());
  }
  return text;
}

absl::StatusOr<ExitCode> SaveModel(const Session& session,
                                   const ModelFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckOutput(flags));
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run_id, ResolveRunId(client, flags.run));
  DPNMF_ASSIGN_OR_RETURN(const auto model,
                         client.GetModel(run_id, !flags.errors.empty()));
  DPNMF_ASSIGN_OR_RETURN(const auto bytes,
                         FileBytes(flags, flags.output, model.w));
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(flags.output, bytes));
  if (!flags.errors.empty()) {
    DPNMF_ASSIGN_OR_RETURN(const auto error_bytes,
                           FileBytes(flags, flags.errors, model.errors));
    DPNMF_RETURN_IF_ERROR(WriteFileAtomically(flags.errors, error_bytes));
  }
  const v1::ModelReport report = ReportOf(flags, model);
  session.Print(report, TextOf(report, model.header.state()));
  return kExitOk;
}

}  // namespace

Command ModelCommand(const Session* session) {
  const auto flags = std::make_shared<ModelFlags>();
  return {
      .name = "model",
      .summary = "Writes the dictionary W (D x K) of a run to a file",
      .footer =
          "A run that is still going gives W as it stands. In the picture each "
          "part is one\ntile, blank where it is 0 and darkest at its largest "
          "entry.\n\n--errors says how far the noise may have moved each "
          "entry: "
          "the analyst fits W anew\nfor 16 draws of it, which takes as many "
          "times as long as the fit. The errors\ndo not hold what other people "
          "would have changed, nor bias.\n\nExamples:\n"
          "  dpnmf model 3f9a --output W.npy\n"
          "  dpnmf model 3f9a --output parts.png --shape 8x8",
      .flags =
          {Flag("run", &flags->run, "Its id, or the first digits of it",
                {.value = "RUN", .required = true}),
           Flag("--output,-o", &flags->output,
                "Ends in .npy, .csv, .mtx or .png; replaced if it exists",
                {.value = "FILE", .required = true}),
           Flag("--errors", &flags->errors,
                "Writes the standard errors of W too; ends in .npy, .csv or "
                ".mtx. "
                "Runs of moments and of statistics, once completed",
                {.value = "FILE"}),
           Flag("--shape", &flags->shape,
                ".png: how a column of W becomes a tile; a square if not given",
                {.value = "ROWSxCOLUMNS"}),
           Flag("--order", &flags->order,
                ".png: whether a tile is filled row by row or column by column",
                {.one_of = "row|column", .shown = true})},
      .run = [session, flags] { return SaveModel(*session, *flags); }};
}

}  // namespace dpnmf::cli
