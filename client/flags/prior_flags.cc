#include "client/flags/prior_flags.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/files/model_file.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/files/match_names.h"
#include "common/tables/load.h"
#include "common/wire/prior.h"

namespace dpnmf::cli {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

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
                                      const std::string& users) {
  PriorToSend prior;
  prior.header.set_kind(kind);
  prior.header.set_source(
      std::filesystem::path(path).filename().string().substr(0,
                                                             kMostPriorSource));
  const bool is_moment = kind == v1::PRIOR_KIND_MOMENT;
  DPNMF_ASSIGN_OR_RETURN(
      LoadedMatrix file,
      LoadTable(path, users != "columns" && kind == v1::PRIOR_KIND_COLUMNS,
                {.negative = is_moment, .flag = "--prior"}));
  prior.entries = EntriesOf(file);
  prior.names = std::move(file.feature_names);
  if (is_moment && file.features != file.users) {
    return BadInput("prior-shape-invalid",
                    absl::StrCat("'", path,
                                 "' is not a second moment: it must be "
                                 "square."));
  }
  if (kind == v1::PRIOR_KIND_COLUMNS && users.empty() && prior.names.empty() &&
      file.features == file.users) {
    return BadInput("prior-shape-invalid",
                    absl::StrCat("'", path,
                                 "' is square and names no features, so people "
                                 "may lie in its rows or columns: add --users "
                                 "rows or --users columns."));
  }
  // The names above a moment are those of its rows too.
  if (is_moment && prior.names.empty()) prior.names = std::move(file.ids);
  prior.header.mutable_shape()->set_rows(
      static_cast<std::uint64_t>(prior.entries.rows()));
  prior.header.mutable_shape()->set_columns(
      static_cast<std::uint64_t>(prior.entries.cols()));
  prior.header.set_named(!prior.names.empty());
  if (kind == v1::PRIOR_KIND_COLUMNS) MakeSparse(&prior);
  if (static_cast<std::uint64_t>(prior.entries.size()) > kMostPriorEntries) {
    return BadInput(
        "prior-too-large",
        absl::StrCat("'", path, "' has more than ", kMostPriorEntries,
                     " numbers; give fewer columns."));
  }
  prior.header.set_sha256(HashOfPrior(prior.names, prior.entries));
  return prior;
}

// How the features of the file become those of the run.
std::string PriorText(const PriorToSend& prior,
                      const std::vector<std::string>& features) {
  const std::string begin = absl::StrCat(prior.header.source(), ": ");
  const std::size_t rows = prior.header.shape().rows();
  if (prior.names.empty())
    return absl::StrCat(begin, "the file has no names: its ", rows,
                        " features are taken in the run's order");
  if (features.empty())
    return absl::StrCat(begin, "the file has names of ", rows, " features (",
                        ExamplesOf(prior.names),
                        "), which the server matches by name");
  const NameMatch match = MatchNames(features, prior.names);
  std::vector<bool> taken(prior.names.size());
  for (const std::ptrdiff_t place : match.places)
    if (place >= 0) taken[static_cast<std::size_t>(place)] = true;
  std::vector<std::string> left_out;
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (!taken[i]) left_out.push_back(prior.names[i]);
  return begin +
         MatchText(match.found, features.size(), match.respelled, left_out);
}

}  // namespace

std::vector<Flag> FlagsOfPriors(PriorFlags* flags) {
  return {
      Flag("--prior", &flags->priors,
           "Public knowledge for the fit of W; free: FILE (public "
           "people), dictionary:FILE, moment:FILE (of any format that can be "
           "imported) or run:ID (an earlier paid release); several are "
           "separated by commas",
           {.value = "FILE|dictionary:FILE|moment:FILE|run:ID"}),
      Flag("--users", &flags->users,
           "Which lines of a --prior FILE are people [rows; required if FILE "
           "is square and has no names]",
           {.one_of = "rows|columns"})};
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
                                     flags.users));
    priors.push_back(std::move(prior));
  }
  return priors;
}

void NotePriors(const std::vector<PriorToSend>& priors,
                const std::vector<std::string>& features, std::ostream* err) {
  for (const PriorToSend& prior : priors) {
    if (prior.header.kind() != v1::PRIOR_KIND_RUN)
      *err << "dpnmf: note: --prior " << PriorText(prior, features) << ".\n";
  }
}

}  // namespace dpnmf::cli
