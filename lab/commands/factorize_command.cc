#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/base/stopwatch.h"
#include "common/files/durable_file.h"
#include "common/files/npy.h"
#include "common/tables/load.h"
#include "common/threads/interruption.h"
#include "common/threads/parallel.h"
#include "common/wire/json.h"
#include "curator/import/columns.h"
#include "dpnmf/v1/local.pb.h"
#include "lab/commands/commands.h"
#include "lab/factorize/factorize.h"

namespace dpnmf::curator::lab {
namespace {

struct FactorizeFlags {
  std::string input, users, output;
  std::string format_in = "auto", array;
  std::string format = "text";
  FactorizeOptions options;
};

// One line that is rewritten on a terminal, else a line now and then.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(int iterations) : iterations_(iterations) {}

  void operator()(const FactorizeProgress& progress) {
    if (progress.iteration > 1 && progress.seconds < next_) return;
    next_ = progress.seconds + (terminal_ ? 0.1 : 5.0);
    absl::FPrintF(stderr, "%siteration %d of %d, objective %.6f, %.1f s%s",
                  terminal_ ? "\r\033[K" : "", progress.iteration, iterations_,
                  progress.objective, progress.seconds, terminal_ ? "" : "\n");
  }

  void Clear() const {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  const int iterations_;
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  double next_ = 0;
};

absl::StatusOr<std::unique_ptr<Dataset>> Load(const FactorizeFlags& flags) {
  LoadOptions options;
  options.format = MatrixFormatOfName(flags.format_in).value();
  options.array = flags.array;
  options.interrupted = Interrupted;
  options.note = [](const std::string& sentence) {
    absl::FPrintF(stderr, "dpnmf-lab: note: %s.\n", sentence);
  };
  DPNMF_ASSIGN_OR_RETURN(
      LoadedMatrix matrix,
      LoadMatrix(flags.input, flags.users == "rows", options));
  NormaliseColumns(&matrix, Normalisation::kL2, /*column_bound=*/1);
  return ToDataset(std::move(matrix), DatasetDescription());
}

// D x K, float64, Fortran order: Eigen's own order. Replaces an older file only
// when the new one is complete.
absl::Status WriteNpy(const std::string& path, const Eigen::MatrixXd& w) {
  NpyHeader header;
  header.dtype = "<f8";
  header.fortran_order = true;
  header.shape = {static_cast<std::uint64_t>(w.rows()),
                  static_cast<std::uint64_t>(w.cols())};
  return ReplaceDurably(
      path, NpyHeaderBytes(header),
      std::as_bytes(std::span(w.data(), static_cast<std::size_t>(w.size()))));
}

v1::FactorizeReport ReportOf(const FactorizeFlags& flags, const Dataset& data,
                             const FactorizeResult& result,
                             double load_seconds) {
  v1::FactorizeReport report;
  report.set_features(data.features());
  report.set_users(data.private_user_count());
  report.set_rank(static_cast<std::uint32_t>(result.w.cols()));
  report.set_iterations(static_cast<std::uint32_t>(result.iterations));
  report.set_objective(result.objective);
  report.set_seconds(result.seconds);
  report.set_stopped_by(std::string(NameOf(result.stop)));
  report.set_output(flags.output);
  const auto add = [&report](const char* stage, double seconds) {
    v1::StageTime* const time = report.add_time();
    time->set_stage(stage);
    time->set_seconds(seconds);
  };
  add("reading", load_seconds);
  add("first W", result.start_seconds);
  add("people", result.users_seconds);
  add("W", result.seconds - result.start_seconds - result.users_seconds);
  return report;
}

void PrintText(const v1::FactorizeReport& report) {
  absl::PrintF("factorised %d features (D) x %d users (N), rank %d\n",
               report.features(), report.users(), report.rank());
  absl::PrintF(
      "  objective   %.6f  (1/(2N) |V - WH|^2, columns of V of length 1)\n",
      report.objective());
  if (report.stopped_by() == "converged") {
    absl::PrintF("  converged after %d iterations\n", report.iterations());
  } else {
    absl::PrintF("  %d iterations, stopped by %s\n", report.iterations(),
                 report.stopped_by());
  }
  absl::PrintF("  seconds     %.3f, and %.3f for reading the file\n",
               report.seconds(), report.time(0).seconds());
  absl::PrintF(
      "              of these: %.3f for the first W, %.3f for passes over the "
      "people, %.3f for W\n",
      report.time(1).seconds(), report.time(2).seconds(),
      report.time(3).seconds());
  absl::PrintF("  W           %s\n", report.output());
}

absl::Status CheckOutput(const std::string& path) {
  if (std::filesystem::path(path).extension() != ".npy") {
    return Refusal(absl::StatusCode::kInvalidArgument, "file-type-unknown",
                   absl::StrCat("W is written as NumPy's .npy only; give ",
                                path, " the extension .npy."));
  }
  const std::filesystem::path directory =
      std::filesystem::path(path).parent_path();
  if (directory.empty() || std::filesystem::is_directory(directory)) {
    return absl::OkStatus();
  }
  return Refusal(
      absl::StatusCode::kNotFound, "directory-not-found",
      absl::StrCat("There is no directory ", directory.string(), " for ", path,
                   "; make it first, or choose another --output."));
}

absl::StatusOr<ExitCode> RunFactorize(FactorizeFlags* flags) {
  DPNMF_RETURN_IF_ERROR(CheckOutput(flags->output));
  InterruptGently();
  const Stopwatch watch;
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data, Load(*flags));
  const double loading = watch.Seconds();
  ProgressPrinter progress(flags->options.iterations);
  flags->options.progress = std::ref(progress);
  flags->options.interrupted = Interrupted;
  const absl::StatusOr<FactorizeResult> result =
      Factorize(*data, flags->options);
  progress.Clear();
  DPNMF_RETURN_IF_ERROR(result.status());
  DPNMF_RETURN_IF_ERROR(WriteNpy(flags->output, result->w));
  const v1::FactorizeReport report = ReportOf(*flags, *data, *result, loading);
  if (flags->format == "json") {
    std::fputs(dpnmf::ToJson(report).c_str(), stdout);
  } else {
    PrintText(report);
  }
  return result->stop == FactorizeStop::kInterrupted ? kExitInterrupted
                                                     : kExitOk;
}

}  // namespace

Command FactorizeCommand() {
  static const std::string formats = FormatNames();
  const auto flags = std::make_shared<FactorizeFlags>();
  FactorizeOptions& options = flags->options;
  options.threads = DefaultThreads();
  return {
      .name = "factorize",
      .summary = "Factorise a file on this machine, without privacy",
      .footer =
          "Writes W of V ~ WH, where columns of V (one a person) are scaled to "
          "length 1\nand W, H >= 0. Nothing protects the people in the file: W "
          "and all\noutput are as private as the file. Ctrl-C ends with the "
          "current W.\nExample:\n  dpnmf-lab factorize --input faces.npy "
          "--users columns --rank 50 \\\n    --output W.npy --iterations 200",
      .flags =
          {Flag("--input", &flags->input, "File to read; .gz is read too",
                {.value = "FILE", .required = true}),
           Flag("--users", &flags->users, "Which lines of the file are people",
                {.one_of = "rows|columns", .required = true}),
           Flag("--format-in", &flags->format_in, "Format of the file",
                {.one_of = formats.c_str(), .shown = true}),
           Flag("--array", &flags->array,
                "Name of the array of an .npz file that has several"),
           Flag("--rank", &options.rank, "K: columns of W", {.required = true}),
           Flag("--output", &flags->output, "File for W: .npy, D x K, float64",
                {.value = "FILE", .required = true}),
           Flag("--iterations", &options.iterations, "Most iterations",
                {.shown = true}),
           Flag("--target-objective", &options.target_objective,
                "Objective at which to stop"),
           Flag("--seconds", &options.seconds,
                "Seconds of work after which to stop"),
           Flag("--seed", &options.seed, "Seed of the start", {.shown = true}),
           Flag("--threads", &options.threads, "Number of threads",
                {.shown = true}),
           Flag("--format", &flags->format, "Output format: text or json",
                {.one_of = "text|json", .shown = true})},
      .run = [flags] { return RunFactorize(flags.get()); }};
}

}  // namespace dpnmf::curator::lab
