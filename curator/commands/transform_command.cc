// dpnmf-curator transform: H of the operator's own people, on this machine.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/files/durable_file.h"
#include "common/files/npy.h"
#include "common/files/read_file.h"
#include "common/nmf/coordinate_descent.h"
#include "common/tables/load.h"
#include "common/threads/interruption.h"
#include "common/threads/parallel.h"
#include "curator/commands/commands.h"
#include "curator/commands/verify_on_disk.h"
#include "curator/control/transform_record.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {
namespace {

// Number of sweeps, the same as in `dpnmf transform`: the objective never
// rises.
constexpr int kTransformSweeps = 300;
constexpr std::uint64_t kTransformBlock = 4096;

struct TransformFlags {
  std::string data_dir, name, model, output, audit_log;
  int threads = 0;
};

// W (D x K) as `dpnmf model` writes it, from the file's bytes: text has names
// of the features in its first column where the header calls it so.
absl::StatusOr<Eigen::MatrixXd> DictionaryOf(const std::string& path,
                                             const std::string& bytes,
                                             std::uint64_t features) {
  LoadOptions options;
  options.content = bytes;
  if (!absl::EndsWith(path, ".npy")) {
    options.header = absl::StartsWith(bytes, "feature,");
    options.label_columns = *options.header ? 1 : 0;
  }
  DPNMF_ASSIGN_OR_RETURN(const LoadedMatrix loaded,
                         LoadMatrix(path, /*users_are_rows=*/false, options));
  if (loaded.sparse || loaded.features != features) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "features-mismatch",
        absl::StrCat("The model `", path, "` has ", loaded.features,
                     " features and the data set has ", features,
                     ": give a .npy or .csv file of `dpnmf model` of a run on "
                     "this data set."));
  }
  return Eigen::Map<const Eigen::MatrixXf>(
             loaded.values.data(), static_cast<Eigen::Index>(loaded.features),
             static_cast<Eigen::Index>(loaded.users))
      .cast<double>();
}

// W'v of one person.
Eigen::VectorXd ProjectionOf(const Dataset& dataset, const Eigen::MatrixXd& w,
                             std::uint64_t person) {
  Eigen::VectorXd product = Eigen::VectorXd::Zero(w.cols());
  if (!dataset.sparse()) {
    const std::span<const float> column = dataset.DenseColumn(person);
    const Eigen::VectorXd v =
        Eigen::Map<const Eigen::VectorXf>(column.data(), w.rows())
            .cast<double>();
    product.noalias() = w.transpose() * v;
    return product;
  }
  const SparseColumn column = dataset.SparseColumnOf(person);
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const auto value = static_cast<double>(column.values[i]);
    product += value * w.row(column.rows[i]).transpose();
  }
  return product;
}

std::string HeadOf(bool npy, std::uint64_t people, Eigen::Index rank) {
  if (npy) {
    return NpyHeaderBytes(
        {.dtype = "<f8", .shape = {people, static_cast<std::uint64_t>(rank)}});
  }
  std::string head;
  for (Eigen::Index k = 1; k <= rank; ++k)
    absl::StrAppend(&head, k > 1 ? "," : "", "part_", k);
  return head + "\n";
}

// A person a row. h: K x n.
std::string RowsText(bool npy, const Eigen::MatrixXd& h) {
  if (npy) {
    return std::string(reinterpret_cast<const char*>(h.data()),
                       static_cast<std::size_t>(h.size()) * sizeof(double));
  }
  std::string text;
  for (Eigen::Index n = 0; n < h.cols(); ++n) {
    for (Eigen::Index k = 0; k < h.rows(); ++k) {
      if (k > 0) text += ',';
      AppendShortest(h(k, n), &text);
    }
    text += '\n';
  }
  return text;
}

absl::Status CheckTransform(const TransformFlags& flags,
                            const Dataset& dataset) {
  if (!absl::EndsWith(flags.output, ".npy") &&
      !absl::EndsWith(flags.output, ".csv")) {
    return Refusal(absl::StatusCode::kInvalidArgument, "file-type-unknown",
                   "`--output` must end in .npy or .csv.");
  }
  if (dataset.description().sums.has_value()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "sums-only",
                   "The data set was made by add-sums and contains no people: "
                   "use one that was imported from people's rows.");
  }
  if (!dataset.description().ratings.has_value())
    return CheckHasColumns(dataset);
  return Refusal(absl::StatusCode::kFailedPrecondition, "dataset-ratings",
                 "The data set holds ratings, which have no W: use "
                 "dpnmf-curator recommend.");
}

// The operator's own word, before a number of people is computed.
absl::Status Record(const TransformFlags& flags, const Dataset& dataset,
                    const std::string& model) {
  TransformRecord record;
  record.dataset = flags.name;
  record.population = dataset.description().population;
  record.model = Sha256().AddBytes(std::as_bytes(std::span(model))).Finish();
  std::error_code ignored;
  record.output = std::filesystem::absolute(flags.output, ignored).string();
  record.by = absl::StrFormat("operator, uid %d", ::getuid());
  return RecordTransform(flags.data_dir, flags.audit_log, record);
}

absl::StatusOr<ExitCode> Transform(const TransformFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                         Dataset::OpenNamed(flags.data_dir, flags.name));
  DPNMF_RETURN_IF_ERROR(CheckTransform(flags, *dataset));
  DPNMF_RETURN_IF_ERROR(VerifyOnDisk(flags.data_dir, *dataset));
  // Read once: what the entry's hash is of is what is computed with.
  DPNMF_ASSIGN_OR_RETURN(const std::string model,
                         ReadFile(flags.model, kListFileLimit));
  DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd w,
                         DictionaryOf(flags.model, model, dataset->features()));
  const bool npy = absl::EndsWith(flags.output, ".npy");
  const int threads = flags.threads > 0 ? flags.threads : DefaultThreads();
  const std::uint64_t people = dataset->private_user_count();
  const Eigen::MatrixXd gram = w.transpose() * w;
  InterruptGently();
  DPNMF_ASSIGN_OR_RETURN(GrowingFile file, GrowingFile::Create(flags.output));
  DPNMF_RETURN_IF_ERROR(Record(flags, *dataset, model));
  DPNMF_RETURN_IF_ERROR(file.Append(HeadOf(npy, people, w.cols())));
  for (std::uint64_t first = 0; first < people; first += kTransformBlock) {
    const auto count =
        static_cast<Eigen::Index>(std::min(kTransformBlock, people - first));
    Eigen::MatrixXd products(w.cols(), count);
    ParallelFor(static_cast<std::size_t>(count), threads,
                [&](std::size_t n, int) {
                  products.col(static_cast<Eigen::Index>(n)) =
                      ProjectionOf(*dataset, w, first + n);
                });
    Eigen::MatrixXd h = Eigen::MatrixXd::Zero(w.cols(), count);
    SweepNonNegative(gram, products, kTransformSweeps, threads, &h,
                     Interrupted);
    if (Interrupted()) {
      return Refusal(absl::StatusCode::kCancelled, "interrupted",
                     "Interrupted: no file was written.");
    }
    DPNMF_RETURN_IF_ERROR(file.Append(RowsText(npy, h)));
  }
  DPNMF_RETURN_IF_ERROR(file.Publish());
  // No figure of how well W fits: nothing is charged for it, and an analyst who
  // was told would choose by it.
  absl::PrintF("wrote %s: H, %d people by %d parts\n", flags.output, people,
               w.cols());
  absl::FPrintF(
      stderr,
      "dpnmf-curator: warning: H is private data and not a release: it has a "
      "row of exact numbers for each person, and no noise. Keep the file, and "
      "what it shows about W, on this machine: an analyst who learns it gets "
      "an answer about private data without spending budget.\n");
  return kExitOk;
}

}  // namespace

Command TransformCommand() {
  const auto flags = std::make_shared<TransformFlags>();
  return {
      .name = "transform",
      .summary = "Express the people of a data set in the parts of a model",
      .footer =
          "For the operator, computed on this machine: h >= 0 minimises |v - W "
          "h| for each\nperson, in the normalisation of the data set. The file "
          "is private data and not a\nrelease; nothing is sent and no budget "
          "is spent. If the server is running, it writes\nthe entry of the "
          "audit log (transform-asked), without which nothing is "
          "computed.\nExample:\n  dpnmf-curator transform --data-dir "
          "/var/lib/dpnmf --name visits \\\n    --model W.npy --output H.npy",
      .flags = {Flag("--data-dir", &flags->data_dir,
                     "Directory of data sets, ledger and releases",
                     {.value = "DIR", .env = true, .required = true}),
                Flag("--name", &flags->name, "Data set",
                     {.value = "DATASET", .required = true}),
                Flag("--model", &flags->model,
                     "File of `dpnmf model RUN --output`, .npy or .csv",
                     {.value = "FILE", .required = true}),
                Flag("--output", &flags->output,
                     "File for H, .npy or .csv, a person a row in the order of "
                     "the imported file (mode 0600); replaced if it exists",
                     {.value = "FILE", .required = true}),
                Flag("--threads", &flags->threads, "Threads [all cores]",
                     {.range = {0, 1024}}),
                Flag("--audit-log", &flags->audit_log,
                     "Audit log file while no server runs "
                     "[DATA_DIR/audit.jsonl]",
                     {.value = "FILE", .env = true})},
      .run = [flags] { return Transform(*flags); }};
}

}  // namespace dpnmf::curator
