#include "client/session/model.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/commands.h"
#include "client/files/model_file.h"
#include "client/render/names.h"
#include "client/render/part_text.h"
#include "client/render/picture.h"
#include "client/render/table.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "common/ratings/similar.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {
namespace {

struct ModelFlags {
  std::string run;
  std::string output;
  std::string errors;
  std::string parts;
  std::string shape;
  std::string order = "row";
  std::string similar;
  std::uint32_t top = 10;
  bool non_negative = false;
  bool both_signs = false;

  // Which item model; nothing: as the run was started.
  std::optional<bool> wants_non_negative() const {
    if (non_negative == both_signs) return std::nullopt;
    return non_negative;
  }
};

// Checks if both names lead to the same file, there or not.
bool IsSameFile(const std::string& one, const std::string& other) {
  const auto place = [](const std::string& path) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path, error);
    const auto plain = std::filesystem::weakly_canonical(absolute, error);
    return error ? absolute.lexically_normal() : plain;
  };
  return place(one) == place(other);
}

// Checks the flags that can be checked before the run is known.
absl::Status CheckOutput(const ModelFlags& flags) {
  if (flags.output.empty() == flags.similar.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "flags-conflict",
                   "Give either `--output FILE` or `--similar ITEM`.");
  }
  if (flags.non_negative && flags.both_signs) {
    return Refusal(absl::StatusCode::kInvalidArgument, "flags-conflict",
                   "Give either `--non-negative` or `--both-signs`.");
  }
  if (flags.output.empty()) return absl::OkStatus();
  const std::string type = ExtensionOf(flags.output);
  if (type != ".npy" && type != ".csv" && type != ".mtx" && type != ".png" &&
      type != ".npz")
    return OutputTypeUnknown(flags.output, ".npy, .npz, .csv, .mtx or .png");
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
                                      const Eigen::MatrixXd& w,
                                      const std::vector<std::string>& names) {
  const std::string type = ExtensionOf(file);
  if (type == ".npy") return NpyBytes(w);
  if (type == ".csv" && names.empty()) return CsvText(w);
  if (type == ".csv")
    return CsvText(w, {.columns = NamesOfParts(w.cols()), .rows = names});
  if (type == ".mtx") return MatrixMarketText(w);
  DPNMF_ASSIGN_OR_RETURN(
      const TileShape shape,
      TileShapeOf(flags.shape, static_cast<std::uint64_t>(w.rows()),
                  flags.order == "row"));
  return TilesPng(w, shape);
}

std::string PartsCsv(const v1::PartsReply& parts) {
  std::string text = "part,explained,reliability,noise\n";
  for (int k = 0; k < parts.parts_size(); ++k) {
    const v1::PartFacts& part = parts.parts(k);
    absl::StrAppendFormat(&text, "%d,%.17g,%.17g,%d\n", k + 1, part.explained(),
                          part.reliability(), part.noise() ? 1 : 0);
  }
  return text;
}

std::string PartsText(const v1::PartsReply& parts) {
  Table table({{"part", Align::kRight},
               {"explains", Align::kRight},
               {"reliability", Align::kRight},
               {"", Align::kLeft}});
  double explained = 0;
  for (int k = 0; k < parts.parts_size(); ++k) {
    const v1::PartFacts& part = parts.parts(k);
    explained += part.explained();
    table.AddRow({absl::StrCat(k + 1),
                  absl::StrFormat("%.1f %%", 100 * part.explained()),
                  absl::StrFormat("%.2f", part.reliability()),
                  JudgementText(part.reliability())});
  }
  return absl::StrFormat("%sW explains %.0f %% of the released moment\n",
                         table.Render(), 100 * explained);
}

v1::ModelReport ReportOf(const ModelFlags& flags, const Model& model) {
  v1::ModelReport report;
  *report.mutable_shape() = model.header.shape();
  report.set_rounds_done(model.header.rounds_done());
  report.set_state(v1::RunState_Name(model.header.state()));
  report.set_output(flags.output);
  if (model.header.has_prior_share())
    report.set_prior_share(model.header.prior_share());
  if (flags.errors.empty()) return report;
  report.set_errors(flags.errors);
  report.set_errors_root_mean_square(std::sqrt(
      model.errors.squaredNorm() / static_cast<double>(model.errors.size())));
  return report;
}

std::string ModelReportText(const v1::ModelReport& report, v1::RunState state) {
  std::string text = absl::StrCat(
      "wrote ", report.output(), ": W, ", ShapeText(report.shape()), ", after ",
      report.rounds_done(), report.rounds_done() == 1 ? " round" : " rounds",
      " (run ", NameOf(state), ")\n");
  if (report.has_prior_share()) {
    absl::StrAppendFormat(&text,
                          "%.0f %% of the estimate came from the prior, the "
                          "rest from the release\n",
                          100 * report.prior_share());
  }
  if (report.has_errors()) {
    absl::StrAppendFormat(&text,
                          "wrote %s: standard errors of W from the noise only, "
                          "%.2g in the root mean square of an entry\n",
                          report.errors(), report.errors_root_mean_square());
  }
  return text;
}

// ---- Runs on ratings

std::string NameOfItem(const NamedItemModel& model, std::int32_t item) {
  return model.names.empty() ? std::string()
                             : model.names[static_cast<std::size_t>(item)];
}

v1::SimilarItemsReport SimilarReport(const NamedItemModel& model,
                                     std::int32_t item,
                                     const std::vector<SimilarItem>& similar) {
  v1::SimilarItemsReport report;
  report.set_item(model.items[static_cast<std::size_t>(item)]);
  report.set_name(NameOfItem(model, item));
  for (const SimilarItem& one : similar) {
    auto* const row = report.add_similar();
    row->set_item(model.items[static_cast<std::size_t>(one.item)]);
    row->set_name(NameOfItem(model, one.item));
    row->set_similarity(one.similarity);
  }
  return report;
}

std::string SimilarItemsText(const v1::SimilarItemsReport& report) {
  const auto title = [](const auto& row) {
    return row.name().empty() ? row.item() : row.name();
  };
  std::string text = absl::StrCat("nearest to ", title(report), ":\n");
  for (const auto& row : report.similar())
    absl::StrAppendFormat(&text, "  %6.3f  %s\n", row.similarity(), title(row));
  return text;
}

std::string ItemsText(const ModelFlags& flags, const v1::ModelHeader& header,
                      const ItemModel& model) {
  return absl::StrFormat(
      "wrote %s: the item model, %d items, %d %sfactors (the person's bias "
      "among them), after %d %s (run %s)\nratings from %g to %g; %.3g standard "
      "deviation of a rating about its prediction from a known profile\n",
      flags.output, model.base.size(), model.loadings.cols(),
      model.level > 0 ? "non-negative " : "", header.rounds_done(),
      header.rounds_done() == 1 ? "round" : "rounds", NameOf(header.state()),
      model.low, model.high, model.residual_stddev);
}

absl::StatusOr<ExitCode> UseItems(const Session& session,
                                  const ModelFlags& flags,
                                  const v1::ModelHeader& header,
                                  const NamedItemModel& items) {
  if (!flags.similar.empty()) {
    DPNMF_ASSIGN_OR_RETURN(const std::int32_t item,
                           FindItem(items, flags.similar));
    DPNMF_ASSIGN_OR_RETURN(const std::vector<SimilarItem> similar,
                           SimilarItems(items, item, flags.top));
    const v1::SimilarItemsReport report = SimilarReport(items, item, similar);
    session.Print(report, SimilarItemsText(report));
    return kExitOk;
  }
  const std::string type = ExtensionOf(flags.output);
  if (type != ".npz" && type != ".csv")
    return OutputTypeUnknown(flags.output, ".npz or .csv for a run on ratings");
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(
      flags.output, type == ".npz" ? NpzText(items) : ItemCsvText(items)));
  v1::ModelReport report;
  *report.mutable_shape() = header.shape();
  report.set_rounds_done(header.rounds_done());
  report.set_state(v1::RunState_Name(header.state()));
  report.set_output(flags.output);
  report.set_residual_stddev(items.model.residual_stddev);
  session.Print(report, ItemsText(flags, header, items.model));
  return kExitOk;
}

absl::StatusOr<ExitCode> SaveModel(const Session& session,
                                   const ModelFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckOutput(flags));
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run_id, ResolveRunId(client, flags.run));
  DPNMF_ASSIGN_OR_RETURN(
      const auto model,
      client.GetModel(run_id, !flags.errors.empty(), !flags.parts.empty(),
                      flags.wants_non_negative()));
  if (model.items.has_value())
    return UseItems(session, flags, model.header, *model.items);
  if (!flags.similar.empty()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "run-not-ratings",
                   "The run is not on ratings, so it has no items to compare: "
                   "use `--output`.");
  }
  if (flags.wants_non_negative().has_value()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "run-not-ratings",
                   "The run is not on ratings: its W is non-negative. Leave "
                   "out `--non-negative` and `--both-signs`.");
  }
  if (ExtensionOf(flags.output) == ".npz")
    return OutputTypeUnknown(flags.output, ".npy, .csv, .mtx or .png");
  DPNMF_ASSIGN_OR_RETURN(const auto bytes,
                         FileBytes(flags, flags.output, model.w, model.names));
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(flags.output, bytes));
  if (!flags.errors.empty()) {
    DPNMF_ASSIGN_OR_RETURN(
        const auto error_bytes,
        FileBytes(flags, flags.errors, model.errors, model.names));
    DPNMF_RETURN_IF_ERROR(WriteFileAtomically(flags.errors, error_bytes));
  }
  std::string parts_text;
  if (!flags.parts.empty()) {
    DPNMF_RETURN_IF_ERROR(
        WriteFileAtomically(flags.parts, PartsCsv(model.parts)));
    parts_text = PartsText(model.parts);
  }
  const v1::ModelReport report = ReportOf(flags, model);
  session.Print(report,
                ModelReportText(report, model.header.state()) + parts_text);
  return kExitOk;
}

}  // namespace

Command ModelCommand(const Session* session) {
  const auto flags = std::make_shared<ModelFlags>();
  return {
      .name = "model",
      .summary =
          "Write the dictionary W (D x K) or the item model of a run to a file",
      .footer =
          "A run in progress gives its current W. In the picture each part is "
          "one tile,\nblank where it is 0 and darkest at its largest "
          "entry.\n\n--errors estimates how far the noise may have moved each "
          "entry. For this the analyst\nfits W to 16 draws of the noise, which "
          "takes 16 times as long as one fit. The errors do\nnot include "
          "sampling error (other people would give another W) or bias.\n\nFor "
          "a run on ratings the file has the items' effects and counts with "
          "their standard\nerrors, and the items' factors; "
          "docs/reference/recommender.md describes the format.\n--non-negative "
          "and --both-signs select one "
          "of two item models. Every run on ratings has\nboth: they follow "
          "from the same releases, and nothing is charged.\n\nExamples:\n  "
          "dpnmf model 3f9a --output W.npy\n  dpnmf model 3f9a --output "
          "parts.png --shape 8x8\n  dpnmf model 7c21 --output items.npz\n  "
          "dpnmf model 7c21 --similar 'Star Wars (1977)'\n  dpnmf model 7c21 "
          "--non-negative --output parts.npz",
      .flags =
          {Flag("run", &flags->run, "Id of the run, or its first digits",
                {.value = "RUN", .required = true}),
           Flag("--output,-o", &flags->output,
                "File for W; ends in .npy, .csv, .mtx or .png, or in .npz or "
                ".csv for ratings; replaced if it exists",
                {.value = "FILE"}),
           Flag(
               "--errors", &flags->errors,
               "File for the standard errors of W; ends in .npy, .csv or "
               ".mtx. Only for completed runs of moments, aimed and statistics",
               {.value = "FILE", .needs = "--output"}),
           Flag("--parts", &flags->parts,
                "CSV file with the share that each part explains and its "
                "reliability; they are also printed. Only for completed runs "
                "of moments and aimed",
                {.value = "FILE", .needs = "--output"}),
           Flag("--shape", &flags->shape,
                "For .png: shape of the tile of a column of W [a square]",
                {.value = "ROWSxCOLUMNS"}),
           Flag("--order", &flags->order,
                "For .png: whether a tile is filled row by row or column by "
                "column",
                {.one_of = "row|column", .shown = true}),
           Flag("--similar", &flags->similar,
                "For ratings: print the items nearest to this one, an id or a "
                "name",
                {.value = "ITEM"}),
           Flag("--top", &flags->top, "For --similar: number of items",
                {.range = {1, 1000}, .shown = true}),
           Flag("--non-negative", &flags->non_negative,
                "For ratings: the item model with non-negative parts, which "
                "are easier to interpret [as the run was started]"),
           Flag("--both-signs", &flags->both_signs,
                "For ratings: the item model with factors of both signs, "
                "which predicts better")},
      .run = [session, flags] { return SaveModel(*session, *flags); }};
}

}  // namespace dpnmf::cli
