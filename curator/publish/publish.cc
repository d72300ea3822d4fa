#include "curator/publish/publish.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/base/utf8.h"
#include "common/base/view.h"
#include "common/base/whole_number.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "common/privacy/mechanism.h"
#include "curator/data/description.h"
#include "curator/data/removed.h"
#include "curator/draft/class_release.h"
#include "curator/draft/draft.h"
#include "curator/gate/release_store.h"
#include "curator/import/dataset_people.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/others_account.h"
#include "curator/publish/label.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

absl::Status Refused(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kFailedPrecondition, code, sentence);
}

absl::Status CheckOptions(const PublishOptions& options) {
  if (!IsName(options.name)) {
    return BadInput("name-malformed",
                    "`--name` must be 1 to 64 of the characters a-z 0-9 . _ - "
                    "and begin with a letter or digit.");
  }
  if (options.approver.empty()) {
    return Refused("approval-missing",
                   "Nobody approves the table: give --approve with the name of "
                   "the person who is responsible for it.");
  }
  if (options.approver.size() > kLongestApprover ||
      !IsPlainText(options.approver)) {
    return BadInput(
        "approver-malformed",
        absl::StrCat(
            "The name of the person who approves must be plain text of 1 to ",
            kLongestApprover, " bytes."));
  }
  const double accepted = options.accepted_linkage.value_or(1);
  if (!(accepted > 0 && accepted <= 1)) {
    return BadInput("linkage-out-of-range",
                    "`--accept-linkage` must be above 0 and at most 1.");
  }
  return absl::OkStatus();
}

// ---- People

// People that two groups have in common, and the data sets that have them.
struct Overlap {
  SharedPeople shared;
  std::vector<std::string> datasets;
};
using Overlaps = std::map<std::string, Overlap>;  // by population

absl::Status PeopleUnknown(const std::string& population,
                           const std::string& dataset) {
  return Refusal(absl::StatusCode::kNotFound, "people-missing",
                 absl::StrCat("The ledger has runs on data set ", dataset,
                              " of population ", population,
                              ", which is not in the data directory, so it is "
                              "not known whether its people are in the table: "
                              "restore the data set, or give --void-guarantee ",
                              population, "."));
}

// Runs of a federation have its name, and no row says which data set of the
// population they were about.
absl::Status PeopleOfFederationUnknown(const std::string& population,
                                       const std::string& federation) {
  return Refusal(
      absl::StatusCode::kNotFound, "people-missing",
      absl::StrCat("The ledger has runs of the federation ", federation,
                   " on population ", population,
                   " and does not say on which of its people, so it is not "
                   "known whether they are in the table: publish a table drawn "
                   "from a charged release, or give --void-guarantee ",
                   population, "."));
}

// Populations that have runs of a federation, and its name: each such run has a
// second one in the second account.
std::set<std::pair<std::string, std::string>> FederatedIn(
    const std::vector<LedgerRow>& rows) {
  std::set<std::pair<std::string, std::string>> opened, federated;
  for (const LedgerRow& row : rows)
    if (row.kind == RowKind::kOpen) opened.emplace(row.population, row.dataset);
  for (const auto& [population, name] : opened) {
    if (opened.contains({OthersPopulation(population), name}))
      federated.emplace(population, name);
  }
  return federated;
}

// Other fingerprints in the place of these would hide people of a guarantee.
absl::Status CheckPeopleFile(const KnownDataset& known, const Ledger& ledger,
                             const Digest& file_key) {
  const DatasetDescription& description = known.stored.description;
  const auto in_ledger =
      ledger.FilesOf(description.population, description.name);
  if (!in_ledger.ok() || !in_ledger->has_value()) return absl::OkStatus();
  return CheckFiles({{absl::StrCat(known.directory, "/", kPeopleFile),
                      {.digest = (*in_ledger)->people}}},
                    file_key);
}

// Populations that have people of the draft. The people of every data set that
// anything was released about must be known, but for the populations that are
// given up.
absl::StatusOr<Overlaps> OverlapsOf(const PublishOptions& options,
                                    const PeopleFingerprints& people,
                                    const std::set<std::string>& given_up,
                                    const Ledger& ledger,
                                    const Digest& file_key) {
  Overlaps overlaps;
  std::set<std::pair<std::string, std::string>> known;
  DPNMF_ASSIGN_OR_RETURN(const std::vector<LedgerRow> rows,
                         Ledger::ReadRows(options.ledger));
  // Digests of the people of data sets in partitions.
  std::map<std::pair<std::string, std::string>, Digest> people_of;
  for (const LedgerRow& row : rows) {
    if (row.kind == RowKind::kPartition)
      people_of[{row.population, row.dataset}] = row.request_hash;
  }
  DPNMF_ASSIGN_OR_RETURN(const std::vector<KnownDataset> datasets,
                         KnownDatasets(options.data_dir));
  for (const KnownDataset& one : datasets) {
    const std::string& population = one.stored.description.population;
    const std::string& name = one.stored.description.name;
    auto read = ReadPeople(one.directory);
    // Removed data sets never had a release. One that was imported before
    // people had fingerprints cannot be brought up to date.
    if (one.removed && ReasonCode(read.status()) == "people-missing") continue;
    // A directory of other people says nothing of those that were read.
    const auto in_ledger = people_of.find({population, name});
    if (in_ledger == people_of.end() ||
        in_ledger->second == one.stored.description.people)
      known.emplace(population, name);
    if (given_up.contains(population)) continue;
    DPNMF_ASSIGN_OR_RETURN(const PeopleFingerprints others, std::move(read));
    DPNMF_RETURN_IF_ERROR(CheckPeopleFile(one, ledger, file_key));
    if (others.key_check != people.key_check) {
      return Refusal(
          absl::StatusCode::kDataLoss, "people-damaged",
          absl::StrCat("The fingerprints of the people of data set ", name,
                       " were made with another key: make them "
                       "again with `dpnmf-curator people`."));
    }
    const SharedPeople shared = SharedBy(people, others);
    if (!shared.any()) continue;
    Overlap& overlap = overlaps[population];
    overlap.shared.ids += shared.ids;
    overlap.shared.rows += shared.rows;
    overlap.datasets.push_back(name);
  }
  for (const auto& [population, federation] : FederatedIn(rows)) {
    if (!given_up.contains(population))
      return PeopleOfFederationUnknown(population, federation);
  }
  for (const LedgerRow& row : rows) {
    if (row.kind == RowKind::kOpen && !given_up.contains(row.population) &&
        !known.contains({row.population, row.dataset})) {
      return PeopleUnknown(row.population, row.dataset);
    }
  }
  return overlaps;
}

absl::Status Capped(const std::string& population, const Overlap& overlap,
                    bool is_void) {
  return Refused(
      "population-capped",
      absl::StrCat(
          "Population ", population,
          is_void ? " has a cap, which is void already, and people of this "
                    "table are in its data set "
                  : " has a cap, and people of this table are in its data set ",
          absl::StrJoin(overlap.datasets, ", "), " (", overlap.shared.ids,
          " ids and ", overlap.shared.rows,
          " fingerprints of rows are the same): publish a table drawn from a "
          "charged release; or ",
          is_void ? "have this table recorded, too, with --void-guarantee "
                  : "give its guarantee up for ever with --void-guarantee ",
          population,
          overlap.shared.ids > 0
              ? "."
              : absl::StrCat("; or, if they are other people whose rows "
                             "coincide, give --accept-overlap ",
                             population, ".")));
}

absl::Status CheckDraftPeople(const Draft& draft, const FingerprintKey& key) {
  if (!draft.people.has_value() ||
      (draft.people->ids.empty() && draft.people->rows.empty())) {
    return Refused(
        "draft-people-missing",
        "The draft does not record who is in the table: make it again with "
        "--data-dir, so that people with a guarantee are recognised.");
  }
  if (draft.people->key_check != CheckOfKey(key)) {
    return Refused("draft-key-differs",
                   "The draft's people were recorded with the key of another "
                   "data directory: make it again with this --data-dir.");
  }
  return absl::OkStatus();
}

absl::Status CheckLinkage(const PublishOptions& options, const Draft& draft) {
  if (draft.attacks.is_null() || !draft.largest_linkage.has_value()) {
    return Refused("approval-missing",
                   "The draft has no figures of an attack, so nobody can "
                   "approve it: make it again with the attacks.");
  }
  if (!options.accepted_linkage.has_value()) {
    return Refused("approval-missing",
                   "No rate of linked people is accepted: give "
                   "--accept-linkage, such as 0.05.");
  }
  if (!(*draft.largest_linkage <= *options.accepted_linkage)) {
    return Refused(
        "linkage-too-high",
        absl::StrFormat("Attacks find the rows of up to %.4g %% of the people, "
                        "and %.4g %% is accepted: distort more, or publish a "
                        "table drawn from a charged release.",
                        100 * *draft.largest_linkage,
                        100 * *options.accepted_linkage));
  }
  return absl::OkStatus();
}

// ---- Files

struct OutputFile {
  std::string name;
  std::string_view content;
};

// Returns whether the file exists already, with exactly this content.
absl::StatusOr<bool> IsThere(const std::string& directory,
                             const OutputFile& file) {
  const std::string path = absl::StrCat(directory, "/", file.name);
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return false;
  const auto there = ReadFile(path, kOwnFileLimit);
  if (there.ok() && *there == file.content) return true;
  return Refusal(absl::StatusCode::kAlreadyExists, "publication-exists",
                 absl::StrCat("`", path,
                              "` exists and is another table: choose another "
                              "--output; each table has its own directory."));
}

// The label comes first: no table is ever without it.
absl::Status WriteBoth(const PublishOptions& options, const OutputFile& label,
                       const OutputFile& table,
                       const std::function<absl::Status()>& record) {
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.output));
  std::vector<std::pair<StagedFile, const OutputFile*>> missing;
  for (const OutputFile* file : {&label, &table}) {
    DPNMF_ASSIGN_OR_RETURN(const bool there, IsThere(options.output, *file));
    if (there) continue;
    DPNMF_ASSIGN_OR_RETURN(StagedFile staged,
                           StagedFile::Create(options.output, file->name));
    // A full disk shows before a guarantee is given up. Nothing of the table is
    // written yet.
    DPNMF_RETURN_IF_ERROR(staged.Reserve(file->content.size()));
    missing.emplace_back(std::move(staged), file);
  }
  DPNMF_FAILPOINT("publish-before-rows");
  DPNMF_RETURN_IF_ERROR(record());
  DPNMF_FAILPOINT("publish-after-rows");
  for (auto& [staged, file] : missing) {
    DPNMF_RETURN_IF_ERROR(staged.Write(file->content));
    DPNMF_FAILPOINT("publish-before-file");
    DPNMF_RETURN_IF_ERROR(staged.PublishAs(file->name));
    DPNMF_FAILPOINT("publish-after-file");
  }
  return absl::OkStatus();
}

PublishedTable PathsOf(const PublishOptions& options,
                       const std::string& table) {
  PublishedTable published;
  published.table = absl::StrCat(options.output, "/", table);
  published.label = absl::StrCat(options.output, "/", kLabelFile);
  return published;
}

// ---- Tables without privacy

// The populations whose guarantee is given up, each with its second account.
absl::StatusOr<std::set<std::string>> GivenUp(
    const std::vector<std::string>& populations, const Ledger& ledger) {
  std::set<std::string> given_up;
  for (const std::string& population : populations) {
    DPNMF_RETURN_IF_ERROR(ledger.Policy(population).status());
    DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> accounts,
                           AccountsOf(ledger, population));
    given_up.insert(accounts.begin(), accounts.end());
  }
  return given_up;
}

absl::StatusOr<PublishedTable> PublishWithoutPrivacy(
    const PublishOptions& options, const StoredDraft& stored,
    const FingerprintKey& key, Ledger* ledger) {
  const Draft& draft = stored.draft;
  DPNMF_RETURN_IF_ERROR(CheckLinkage(options, draft));
  DPNMF_RETURN_IF_ERROR(CheckDraftPeople(draft, key));
  const std::set<std::string> others(options.accept_overlaps.begin(),
                                     options.accept_overlaps.end());
  for (const std::string& population : others)
    DPNMF_RETURN_IF_ERROR(ledger->Policy(population).status());
  DPNMF_ASSIGN_OR_RETURN(const std::set<std::string> given_up,
                         GivenUp(options.void_guarantees, *ledger));
  DPNMF_ASSIGN_OR_RETURN(
      const Overlaps overlaps,
      OverlapsOf(options, *draft.people, given_up, *ledger, KeyOfFiles(key)));
  std::vector<std::string> accepted;
  for (const auto& [population, overlap] : overlaps) {
    if (!others.contains(population) || overlap.shared.ids > 0) {
      DPNMF_ASSIGN_OR_RETURN(const Position position,
                             ledger->PositionOf(population));
      return Capped(population, overlap, position.void_since.has_value());
    }
    accepted.push_back(population);
  }
  for (const std::string& population : others) {
    if (overlaps.contains(population)) continue;
    return BadInput(
        "flag-unused",
        absl::StrCat("There is no overlap to accept with population ",
                     population,
                     ", or its guarantee is given up: leave out "
                     "--accept-overlap ",
                     population, "."));
  }
  const std::string name = options.name + ".not-dp.csv";
  PublishedTable published = PathsOf(options, name);
  published.voided.assign(given_up.begin(), given_up.end());
  published.accepted = std::move(accepted);
  const std::string label =
      LabelWithoutPrivacy({.table_name = name,
                           .approver = options.approver,
                           .accepted_linkage = *options.accepted_linkage,
                           .voided = published.voided,
                           .accepted_overlaps = published.accepted},
                          stored, key);
  const Digest label_hash = LabelHash(label, key);
  const auto record = [&]() -> absl::Status {
    DPNMF_RETURN_IF_ERROR(
        RecordPublished(options.data_dir, {label_hash, *draft.people}));
    for (const std::string& population : published.voided) {
      DPNMF_RETURN_IF_ERROR(
          ledger->VoidGuarantee({population, label_hash, options.approver}));
    }
    for (const std::string& population : published.accepted) {
      DPNMF_RETURN_IF_ERROR(
          ledger->AcceptOverlap({population, label_hash, options.approver}));
    }
    return absl::OkStatus();
  };
  DPNMF_RETURN_IF_ERROR(WriteBoth(options, {kLabelFile, label},
                                  {name, stored.table_csv}, record));
  return published;
}

// ---- Tables drawn from a charged release

bool LabelsArePublic(const DatasetDescription& description) {
  return description.classes.has_value() && !description.classes->sizes.empty();
}

absl::Status ChargeNotFound(std::string_view what) {
  return Refused("charge-not-in-ledger",
                 absl::StrCat("The draft does not come from a release that "
                              "this ledger has charged: ",
                              View(what),
                              "; draw the table from the file that "
                              "`dpnmf-curator synthesise` wrote."));
}

// The bytes that were released under the row, as the draft was drawn from them.
absl::Status CheckSums(const std::string& data_dir, const LedgerRow& row,
                       const std::string& sums_sha256) {
  DPNMF_ASSIGN_OR_RETURN(const ReleaseStore store,
                         ReleaseStore::Open(ReleaseDirectory(data_dir)));
  const auto release = store.Read(row.hash);
  if (absl::IsNotFound(release.status()))
    return ChargeNotFound("the sums that it released are no longer stored");
  DPNMF_RETURN_IF_ERROR(release.status());
  if (release->parts.size() != 1 ||
      HexOf(HashOfSums(release->parts[0].lattice)) != sums_sha256)
    return ChargeNotFound("its sums are not those that were released");
  return absl::OkStatus();
}

// The row that paid, which must say what the draft says.
absl::StatusOr<LedgerRow> ChargeOf(const nlohmann::ordered_json& charge,
                                   const std::string& data_dir,
                                   const Ledger& ledger) {
  const auto text = [&](const char* field) {
    return charge.value(field, std::string());
  };
  try {
    if (text("ledger") != ledger.id())
      return ChargeNotFound("it names another ledger");
    const auto row = ledger.RowAt(WholeNumberOf(charge.at("sequence")));
    if (!row.ok() || row->kind != RowKind::kCharge ||
        HexOf(row->hash) != text("row_hash")) {
      return ChargeNotFound("its row is not in it");
    }
    if (row->population != text("population") ||
        row->dataset != text("dataset") || row->run_id != text("run_id") ||
        row->mechanism != text("mechanism") ||
        row->round != WholeNumberOf(charge.at("round")) ||
        row->cost.UnitsText() != text("cost_units")) {
      return ChargeNotFound("the row is of another release");
    }
    if (row->mechanism != kClassMomentsMechanism.name) {
      return ChargeNotFound(
          "its release is not of the mechanism class_moments");
    }
    DPNMF_RETURN_IF_ERROR(CheckSums(data_dir, *row, text("sums_sha256")));
    return *row;
  } catch (const nlohmann::json::exception&) {
    return ChargeNotFound("its charge is malformed");
  }
}

absl::StatusOr<PublishedTable> PublishSynthetic(const PublishOptions& options,
                                                const StoredDraft& stored,
                                                Ledger* ledger) {
  if (!options.void_guarantees.empty() || !options.accept_overlaps.empty()) {
    return BadInput("flag-unused",
                    "A table drawn from a charged release keeps the "
                    "guarantee: leave out --void-guarantee and "
                    "--accept-overlap.");
  }
  DPNMF_ASSIGN_OR_RETURN(
      const LedgerRow row,
      ChargeOf(stored.draft.charge, options.data_dir, *ledger));
  DPNMF_ASSIGN_OR_RETURN(
      const StoredDescription dataset,
      ReadDescription(DatasetDirectory(options.data_dir, row.dataset)));
  DPNMF_ASSIGN_OR_RETURN(const PopulationPolicy policy,
                         ledger->Policy(row.population));
  DPNMF_ASSIGN_OR_RETURN(const Position position,
                         ledger->PositionOf(row.population));
  const std::string name = options.name + ".csv";
  DPNMF_ASSIGN_OR_RETURN(const std::string label,
                         LabelOfCharge(name, row, policy, position,
                                       LabelsArePublic(dataset.description)));
  DPNMF_RETURN_IF_ERROR(WriteBoth(options, {kLabelFile, label},
                                  {name, stored.table_csv},
                                  [] { return absl::OkStatus(); }));
  PublishedTable published = PathsOf(options, name);
  published.is_private = true;
  published.void_since = position.void_since;
  return published;
}

}  // namespace

absl::StatusOr<PublishedTable> Publish(const PublishOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckOptions(options));
  DPNMF_ASSIGN_OR_RETURN(const StoredDraft stored, ReadDraft(options.draft));
  std::error_code error;
  if (!fs::exists(options.ledger.directory + "/ledger.sqlite", error)) {
    return Refusal(
        absl::StatusCode::kNotFound, "ledger-missing",
        absl::StrCat("There is no ledger in `", options.ledger.directory,
                     "`; give the curator's data directory."));
  }
  // Neither a server nor an import changes who has a guarantee meanwhile.
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Ledger> ledger,
                         Ledger::Open(options.ledger));
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.data_dir + "/datasets"));
  DPNMF_ASSIGN_OR_RETURN(const FileLock lock, TakeImportLock(options.data_dir));
  if (stored.draft.kind == DraftKind::kSynthetic)
    return PublishSynthetic(options, stored, ledger.get());
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(options.data_dir));
  return PublishWithoutPrivacy(options, stored, key, ledger.get());
}

}  // namespace dpnmf::curator
