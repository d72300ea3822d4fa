#include "analyst/client/prior_flags.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyst/client/model_file.h"
#include "common/base/error.h"
#include "common/wire/prior.h"

namespace dpnmf::cli {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

absl::Status PriorInvalid(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

absl::Status MtxMalformed(const std::string& path, std::size_t line) {
  return PriorInvalid(
      "mtx-malformed",
      absl::StrCat("'", path, "', line ", line,
                   ": not a Matrix Market matrix of numbers (coordinate or "
                   "array, general or symmetric)."));
}

std::vector<std::string> Words(const std::string& line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
}

// Matrix Market: the header, comments, the shape, then entries.
absl::StatusOr<MatrixXd> ReadMtx(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Refusal(absl::StatusCode::kNotFound, "file-not-found",
                   absl::StrCat("'", path, "' cannot be opened."));
  }
  std::string line;
  std::size_t number = 1;
  std::getline(file, line);
  const std::vector<std::string> kind = Words(absl::AsciiStrToLower(line));
  const bool is_header =
      kind.size() == 5 && kind[0] == "%%matrixmarket" && kind[1] == "matrix" &&
      (kind[2] == "coordinate" || kind[2] == "array") &&
      (kind[3] == "real" || kind[3] == "integer" || kind[3] == "pattern") &&
      (kind[4] == "general" || kind[4] == "symmetric");
  if (!is_header) return MtxMalformed(path, number);
  const bool sparse = kind[2] == "coordinate", pattern = kind[3] == "pattern",
             symmetric = kind[4] == "symmetric";
  if (symmetric && !sparse) return MtxMalformed(path, number);
  MatrixXd matrix;
  Index at = 0;
  std::uint64_t left = 0;
  while (std::getline(file, line)) {
    ++number;
    const std::vector<std::string> words = Words(line);
    if (words.empty() || words[0][0] == '%') continue;
    if (matrix.size() == 0) {
      std::uint64_t rows = 0, columns = 0;
      if (words.size() != (sparse ? 3 : 2) ||
          !absl::SimpleAtoi(words[0], &rows) ||
          !absl::SimpleAtoi(words[1], &columns) || rows < 1 || columns < 1 ||
          (sparse && !absl::SimpleAtoi(words[2], &left)) ||
          rows > (std::uint64_t{1} << 31) / columns)
        return MtxMalformed(path, number);
      matrix =
          MatrixXd::Zero(static_cast<Index>(rows), static_cast<Index>(columns));
      if (!sparse) left = rows * columns;
      continue;
    }
    if (left-- == 0) return MtxMalformed(path, number);
    double value = 1;
    if (!sparse) {
      if (words.size() != 1 || !absl::SimpleAtod(words[0], &value))
        return MtxMalformed(path, number);
      matrix(at++) = value;
      continue;
    }
    Index row = 0, column = 0;
    if (words.size() != (pattern ? 2 : 3) ||
        !absl::SimpleAtoi(words[0], &row) ||
        !absl::SimpleAtoi(words[1], &column) ||
        (!pattern && !absl::SimpleAtod(words[2], &value)) || row < 1 ||
        column < 1 || row > matrix.rows() || column > matrix.cols() ||
        (symmetric && row > matrix.cols()))
      return MtxMalformed(path, number);
    matrix(row - 1, column - 1) = value;
    if (symmetric) matrix(column - 1, row - 1) = value;
  }
  if (matrix.size() == 0 || left > 0) return MtxMalformed(path, number);
  return matrix;
}

// The fields of a line of CSV, without quotes.
std::vector<std::string> CsvFields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += '"';
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

// Names of the features of a .csv, if it has them.
std::vector<std::string> NamesOf(const std::string& path,
                                 bool features_are_rows) {
  if (ExtensionOf(path) != ".csv") return {};
  std::ifstream file(path);
  std::vector<std::string> names;
  bool header = true;
  for (std::string line; std::getline(file, line);) {
    absl::StripTrailingAsciiWhitespace(&line);
    if (line.empty()) continue;
    std::vector<std::string> fields = CsvFields(line);
    if (!header) {
      names.push_back(std::move(fields.front()));
      continue;
    }
    header = false;
    double value = 0;
    if (std::any_of(fields.begin(), fields.end(), [&](const auto& field) {
          return absl::SimpleAtod(field, &value);
        }))
      return {};
    const bool labelled = fields.front() == "feature";
    if (!features_are_rows)
      return {fields.begin() + (labelled ? 1 : 0), fields.end()};
    if (!labelled) return {};
  }
  return names;
}

void MakeSparse(PriorToSend* prior) {
  const MatrixXd& full = prior->entries;
  const Index nonzeros = (full.array() != 0).count();
  if (nonzeros == 0 || 3 * nonzeros >= full.size()) return;
  MatrixXd triples(nonzeros, 3);
  Index at = 0;
  for (Index n = 0; n < full.cols(); ++n) {
    for (Index i = 0; i < full.rows(); ++i) {
      if (full(i, n) != 0)
        triples.row(at++) << static_cast<double>(i), static_cast<double>(n),
            full(i, n);
    }
  }
  prior->header.set_sparse(true);
  prior->header.set_nonzeros(static_cast<std::uint64_t>(nonzeros));
  prior->entries = std::move(triples);
}

constexpr std::string_view kRunPrior = "run:", kDictionaryPrior = "dictionary:",
                           kMomentPrior = "moment:";

absl::StatusOr<PriorToSend> ReadPrior(v1::PriorKind kind,
                                      const std::string& path,
                                      bool users_are_rows) {
  PriorToSend prior;
  prior.header.set_kind(kind);
  prior.header.set_source(
      std::filesystem::path(path).filename().string().substr(0,
                                                             kMostPriorSource));
  const bool is_mtx = ExtensionOf(path) == ".mtx";
  DPNMF_ASSIGN_OR_RETURN(prior.entries,
                         is_mtx ? ReadMtx(path) : ReadMatrixFile(path));
  const bool turned = kind == v1::PRIOR_KIND_COLUMNS && users_are_rows;
  if (turned) prior.entries = prior.entries.transpose().eval();
  prior.names = NamesOf(path, !turned);
  if (kind == v1::PRIOR_KIND_MOMENT) {
    if (prior.entries.rows() != prior.entries.cols())
      return PriorInvalid("prior-shape-invalid",
                          absl::StrCat("'", path,
                                       "' is no second moment: it must be "
                                       "square."));
  } else if (!(prior.entries.minCoeff() >= 0)) {
    return PriorInvalid("prior-negative",
                        absl::StrCat("'", path,
                                     "' has entries below 0 or that are no "
                                     "numbers; columns and parts have none."));
  }
  prior.header.mutable_shape()->set_rows(
      static_cast<std::uint64_t>(prior.entries.rows()));
  prior.header.mutable_shape()->set_columns(
      static_cast<std::uint64_t>(prior.entries.cols()));
  if (static_cast<Index>(prior.names.size()) != prior.entries.rows())
    prior.names.clear();
  prior.header.set_named(!prior.names.empty());
  if (kind == v1::PRIOR_KIND_COLUMNS) MakeSparse(&prior);
  if (static_cast<std::uint64_t>(prior.entries.size()) > kMostPriorEntries) {
    return PriorInvalid(
        "prior-too-large",
        absl::StrCat("'", path, "' has more than ", kMostPriorEntries,
                     " numbers; give fewer columns."));
  }
  prior.header.set_sha256(HashOfPrior(prior.names, prior.entries));
  return prior;
}

}  // namespace

std::vector<Flag> FlagsOfPriors(PriorFlags* flags) {
  return {
      Flag("--prior", &flags->priors,
           "Public knowledge that W is fitted with, for nothing: FILE "
           "(columns of public people), dictionary:FILE, moment:FILE "
           "(.npy, .csv or .mtx) or run:ID (an earlier paid release); "
           "several with commas",
           {.value = "FILE"}),
      Flag("--users", &flags->users, "Which lines of a --prior FILE are people",
           {.one_of = "rows|columns", .shown = true})};
}

absl::StatusOr<std::vector<PriorToSend>> ReadPriors(
    const PriorFlags& flags,
    const std::function<absl::StatusOr<std::string>(const std::string&)>&
        find_run) {
  std::vector<PriorToSend> priors;
  for (const std::string& text : flags.priors) {
    const auto after = [&](std::string_view prefix) {
      return text.substr(prefix.size());
    };
    if (text.starts_with(kRunPrior)) {
      PriorToSend prior;
      prior.header.set_kind(v1::PRIOR_KIND_RUN);
      DPNMF_ASSIGN_OR_RETURN(*prior.header.mutable_run_id(),
                             find_run(after(kRunPrior)));
      prior.header.set_source(prior.header.run_id());
      priors.push_back(std::move(prior));
      continue;
    }
    const bool dictionary = text.starts_with(kDictionaryPrior);
    const bool moment = text.starts_with(kMomentPrior);
    DPNMF_ASSIGN_OR_RETURN(PriorToSend prior,
                           ReadPrior(dictionary ? v1::PRIOR_KIND_DICTIONARY
                                     : moment   ? v1::PRIOR_KIND_MOMENT
                                                : v1::PRIOR_KIND_COLUMNS,
                                     dictionary ? after(kDictionaryPrior)
                                     : moment   ? after(kMomentPrior)
                                                : text,
                                     flags.users == "rows"));
    priors.push_back(std::move(prior));
  }
  return priors;
}

}  // namespace dpnmf::cli
