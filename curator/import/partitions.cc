#include "curator/import/partitions.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/tables/sum_rows.h"
#include "curator/import/dataset_people.h"

namespace dpnmf::curator {
namespace {

// Returns whether the id looks like a large number as programs print it, maybe
// after rounding: 1e+05, 1.23457E+11 and, with a decimal comma, 1,23457E+11. An
// id of letters and digits, as 12e4, has neither point nor plus.
bool MayBeRounded(std::string_view id) {
  std::string text(absl::StripAsciiWhitespace(View(id)));
  std::replace(text.begin(), text.end(), ',', '.');
  if (text.find_first_of(".+") == std::string::npos) return false;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read =
      std::from_chars(text.data(), end, value, std::chars_format::scientific);
  return read.ptr == end && read.ec != std::errc::invalid_argument;
}

absl::Status PartitionMixed(std::string_view what) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "partition-mixed",
      absl::StrCat(View(what),
                   " and --partition exclude each other: a partition needs a "
                   "column of ids in a text file with --users rows. Without "
                   "--partition every run is charged to all partitions."));
}

// The data set is there, with the people that the ledger has in it.
absl::Status CheckKnown(const PeopleElsewhere& one,
                        const std::vector<KnownDataset>& known) {
  bool has_name = false;
  for (const KnownDataset& there : known) {
    const DatasetDescription& description = there.stored.description;
    has_name = has_name || description.name == one.dataset;
    if (description.name == one.dataset && description.people == one.people)
      return absl::OkStatus();
  }
  return Refusal(
      absl::StatusCode::kNotFound, "people-missing",
      absl::StrCat("The ledger has data set ", one.dataset,
                   " in another partition, and ",
                   has_name ? "the directory of that name holds other people"
                            : "nothing says who is in it",
                   ": restore its directory from a backup, or, if its import "
                   "did not end, import a file under that name."));
}

// At least so many people. N0 is declared and says nothing of them; each of
// their ids has one form or two (MoreFormsOf).
std::uint64_t FewestPeople(const DatasetDescription& description,
                           const PeopleFingerprints& people) {
  return description.adjacency == Adjacency::kAddRemoveOne
             ? (people.ids.size() + 1) / 2
             : description.users;
}

// Compares the people of an import with a data set in another partition.
// `fewest`: the number of people in the smaller of both.
absl::Status CheckApart(const ImportOptions& options,
                        const SharedPeople& shared,
                        const DatasetDescription& other, std::uint64_t fewest) {
  const std::string there =
      absl::StrCat("Data set ", other.name, " of partition ", other.partition);
  if (shared.ids > 0) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "people-in-two-partitions",
        absl::StrCat(there, " has ", shared.ids,
                     " of these ids, and a person is in one partition for "
                     "ever: leave these people out of the file, or import it "
                     "without --partition, so that its runs are charged to "
                     "every partition."));
  }
  // Rows that coincide are told apart from people who got other ids by their
  // number alone.
  if (2 * shared.rows > fewest && !options.accept_equal_rows) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "rows-in-two-partitions",
        absl::StrCat(there, " has ", shared.rows,
                     " of these rows under other ids, so many that they may be "
                     "the same people: give everybody the id of earlier files, "
                     "or import the file without --partition, so that its runs "
                     "are charged to every partition. If they are other people "
                     "whose rows coincide, give --accept-equal-rows."));
  }
  if (shared.rows > 0 && options.note) {
    options.note(absl::StrCat(
        there, " has ", shared.rows,
        " of these rows under other ids; if they are the same people, the "
        "limit does not hold for them: remove one of the two data sets"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MoreFormsOf(
    const std::vector<std::string>& ids) {
  std::map<std::string, std::string> id_of;  // by canonical form
  std::vector<std::string> more;
  for (const std::string& id : ids) {
    if (MayBeRounded(id)) {
      return Refusal(
          absl::StatusCode::kInvalidArgument, "partition-id-rounded",
          absl::StrCat("The id `", id,
                       "` is a number with an exponent, as programs write "
                       "large numbers, and may be rounded; write ids out in "
                       "full (in R: options(scipen = 99); in a spreadsheet: "
                       "as text)."));
    }
    const std::string form = CanonicalId(id);
    const auto [known, is_new] = id_of.emplace(form, id);
    if (!is_new) {
      return Refusal(
          absl::StatusCode::kInvalidArgument, "partition-ids-alike",
          absl::StrCat("The ids `", known->second, "` and `", id,
                       "` are taken for one person's, and a person has one "
                       "row; write each person's id in one way, or give "
                       "different people ids that differ in more than case "
                       "and leading zeros."));
    }
    if (form != id) more.push_back(form);
  }
  return more;
}

absl::Status CheckPartitionOptions(const ImportOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckPartitions(options.partitions));
  if (options.partition.empty()) return absl::OkStatus();
  if (!options.ratings.empty()) return PartitionMixed("The flag --ratings");
  if (options.are_sums) return PartitionMixed("Sums");
  if (!options.users_are_rows.value_or(true))
    return PartitionMixed("The flag --users columns");
  if (!options.partitions.any() ||
      options.partitions.Find(options.partition).has_value())
    return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "partition-unknown",
      absl::StrCat("The population ", options.population, " has no partition ",
                   options.partition, "; it has ",
                   absl::StrJoin(options.partitions.names, ", "),
                   ". Partitions are declared with the cap, by the first "
                   "import of the population."));
}

std::uint64_t PeopleInPartitions(
    const std::string& population,
    const std::vector<DatasetDescription>& datasets) {
  std::map<std::string, std::uint64_t> most;
  for (const DatasetDescription& one : datasets) {
    if (one.population != population || one.partition.empty() || one.is_public)
      continue;
    std::uint64_t& people = most[one.partition];
    people = std::max(people, one.users);
  }
  std::uint64_t sum = 0;
  for (const auto& [partition, people] : most) sum += people;
  return sum;
}

absl::Status CheckInOnePartition(const ImportOptions& options,
                                 const std::vector<PeopleElsewhere>& elsewhere,
                                 const std::vector<KnownDataset>& known,
                                 const DatasetDescription& description,
                                 const PeopleFingerprints& people) {
  for (const PeopleElsewhere& one : elsewhere)
    DPNMF_RETURN_IF_ERROR(CheckKnown(one, known));
  for (const KnownDataset& one : known) {
    const DatasetDescription& other = one.stored.description;
    // Versions of a data set share their partition; one in no partition is
    // charged to all.
    if (other.population != options.population || other.partition.empty() ||
        other.partition == options.partition)
      continue;
    DPNMF_ASSIGN_OR_RETURN(const PeopleFingerprints others,
                           ReadPeople(one.directory));
    DPNMF_RETURN_IF_ERROR(CheckSameKey(
        people, others, absl::StrCat("the people of data set ", other.name)));
    DPNMF_RETURN_IF_ERROR(CheckApart(options, SharedBy(people, others), other,
                                     std::min(FewestPeople(description, people),
                                              FewestPeople(other, others))));
  }
  return absl::OkStatus();
}

}  // namespace dpnmf::curator
