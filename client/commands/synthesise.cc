#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/commands.h"
#include "client/files/model_file.h"
#include "client/session/run_id.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/wire/item_pages.h"
#include "common/wire/matrix_stream.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {
namespace {

struct SynthesiseFlags {
  std::string run, output;
  std::uint64_t count = 0;
  std::uint64_t seed = 1;
};

absl::Status PeopleMalformed() {
  return Refusal(absl::StatusCode::kDataLoss, "people-malformed",
                 "The server's people are incomplete; ask again.");
}

// A field of CSV (RFC 4180).
std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos)
    return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// Gathers the replies: people are the columns of a matrix on the wire.
class PeopleReader {
 public:
  explicit PeopleReader(std::uint64_t count) : count_(count) {}

  absl::Status Add(const v1::SynthesiseReply& reply) {
    if (reply.has_header()) return Begin(reply.header());
    if (!people_.has_value()) return PeopleMalformed();
    if (reply.has_items()) {
      return names_->Add(reply.items()).ok() ? absl::OkStatus()
                                             : PeopleMalformed();
    }
    if (!reply.has_labels()) return people_->Add(reply.people());
    for (const std::uint32_t label : reply.labels().labels()) {
      if (label >= static_cast<std::uint32_t>(header_.classes_size()))
        return PeopleMalformed();
      labels_.push_back(label);
    }
    return absl::OkStatus();
  }

  absl::Status Check() const {
    const std::uint64_t labels = header_.classes_size() > 0 ? count_ : 0;
    return people_.has_value() && people_->complete() &&
                   labels_.size() == labels
               ? absl::OkStatus()
               : PeopleMalformed();
  }

  const v1::SynthesiseHeader& header() const { return header_; }
  // Those of the data set, where they were declared; else feature_1 and so on.
  std::vector<std::string> TakeNames() {
    if (names_->complete()) return names_->Take().ids;
    std::vector<std::string> names;
    for (std::uint64_t i = 1; i <= header_.features(); ++i)
      names.push_back(absl::StrCat("feature_", i));
    return names;
  }
  Eigen::MatrixXd TakePeople() { return people_->Take(); }
  const std::string& ClassOf(std::size_t person) const {
    return header_.classes(static_cast<int>(labels_[person]));
  }

 private:
  absl::Status Begin(const v1::SynthesiseHeader& header) {
    if (people_.has_value() || header.count() != count_)
      return PeopleMalformed();
    header_ = header;
    v1::MatrixShape shape;
    shape.set_rows(header.features());
    shape.set_columns(count_);
    DPNMF_ASSIGN_OR_RETURN(auto people, RealMatrixReader::Create(
                                            shape, header.features(), count_));
    people_.emplace(std::move(people));
    names_.emplace(header.features(), 0);
    return absl::OkStatus();
  }

  const std::uint64_t count_;
  v1::SynthesiseHeader header_;
  std::optional<RealMatrixReader> people_;
  std::optional<ItemPagesReader> names_;
  std::vector<std::uint32_t> labels_;
};

std::string PeopleCsv(PeopleReader* reader) {
  const bool has_classes = reader->header().classes_size() > 0;
  std::string text;
  for (const std::string& name : reader->TakeNames())
    absl::StrAppend(&text, text.empty() ? "" : ",", CsvField(name));
  text += has_classes ? ",class\n" : "\n";
  const Eigen::MatrixXd people = reader->TakePeople();
  for (Eigen::Index n = 0; n < people.cols(); ++n) {
    for (Eigen::Index i = 0; i < people.rows(); ++i) {
      if (i > 0) text += ',';
      AppendShortest(people(i, n), &text);
    }
    if (has_classes) {
      absl::StrAppend(&text, ",",
                      CsvField(reader->ClassOf(static_cast<std::size_t>(n))));
    }
    text += '\n';
  }
  return text;
}

std::string NormalisationText(const v1::SynthesiseHeader& header) {
  return header.dataset().normalisation() == v1::NORMALISATION_L2
             ? "each person is scaled to length 1, as in the data set"
             : absl::StrFormat(
                   "a person's length is at most %g, as in the data set",
                   header.dataset().column_bound());
}

std::string SynthesiseText(const SynthesiseFlags& flags,
                           const v1::SynthesiseHeader& header) {
  std::string text =
      absl::StrFormat("wrote %s: %d synthetic people, %d features",
                      flags.output, header.count(), header.features());
  if (header.classes_size() > 0)
    absl::StrAppend(&text, ", ", header.classes_size(), " classes");
  if (header.integers()) text += ", whole numbers";
  return absl::StrCat(
      text, "; ", NormalisationText(header),
      "\nDrawn from the paid release: free, and as private as that release.\n");
}

absl::StatusOr<ExitCode> Synthesise(const Session& session,
                                    const SynthesiseFlags& flags) {
  const std::string type = ExtensionOf(flags.output);
  if (type != ".npy" && type != ".csv")
    return OutputTypeUnknown(flags.output, ".npy or .csv");
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  v1::SynthesiseRequest request;
  DPNMF_ASSIGN_OR_RETURN(*request.mutable_run_id(),
                         ResolveRunId(client, flags.run));
  request.set_count(flags.count);
  request.set_seed(flags.seed);
  request.set_feature_names(type == ".csv");
  PeopleReader reader(flags.count);
  DPNMF_RETURN_IF_ERROR(client.Synthesise(
      request, [&](const v1::SynthesiseReply& reply) -> absl::Status {
        if (reply.header().classes_size() > 0 && type == ".npy") {
          return Refusal(absl::StatusCode::kInvalidArgument,
                         "file-type-unknown",
                         "People with classes need an `--output` that ends in "
                         ".csv: .npy holds no labels.");
        }
        return reader.Add(reply);
      }));
  DPNMF_RETURN_IF_ERROR(reader.Check());
  std::string file;
  if (type == ".csv") {
    file = PeopleCsv(&reader);
  } else {
    file = NpyBytes(reader.TakePeople().transpose());
  }
  DPNMF_RETURN_IF_ERROR(WriteFileAtomically(flags.output, file));
  session.Print(reader.header(), SynthesiseText(flags, reader.header()));
  return kExitOk;
}

}  // namespace

Command SynthesiseCommand(const Session* session) {
  const auto flags = std::make_shared<SynthesiseFlags>();
  return {
      .name = "synthesise",
      .summary = "Draw synthetic people from the paid release of a run",
      .footer =
          "This is post-processing of a release: the curator is not contacted, "
          "and nothing is\ncharged, however often you draw. People are rows. "
          "From a run of moments they have the\nreleased second moment; from a "
          "run of class_moments they have the released classes, in a\nlast "
          "column `class`.\n\nExample:\n  dpnmf synthesise 3f9a --count 10000 "
          "--output people.csv",
      .flags = {Flag("run", &flags->run, "Id of the run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("--count", &flags->count,
                     "Number of people: 1 to 10,000,000", {.required = true}),
                Flag("--seed", &flags->seed,
                     "Seed: the same seed gives the same people",
                     {.shown = true}),
                Flag("--output,-o", &flags->output,
                     "File for the people, .csv or .npy; replaced if it exists",
                     {.value = "FILE", .required = true})},
      .run = [session, flags] { return Synthesise(*session, *flags); }};
}

}  // namespace dpnmf::cli
