// Releases that another analyst hands on: a file and its messages are refused
// in one sentence, or are those that the curator has signed. What a curator's
// key signs for a hostile file (kind 2, where each round is signed again) is
// refused, or has the shapes of its plan.
#include <memory>
#include <string>

#include "analyst/planning/planner.h"
#include "analyst/runs/added_release.h"
#include "common/base/error.h"
#include "common/learning/paid_release.h"
#include "common/wire/convert.h"
#include "common/wire/receipt.h"
#include "common/wire/release.h"
#include "tests/analyst/fake_curator.h"
#include "tests/fuzz/fuzz_target.h"

namespace dpnmf::fuzz::release_file {
namespace {

using analyst::AddedRelease;

const SigningKey& ReleaseKey() {
  // Fixed, so that an input means the same in every process.
  static const SigningKey key = *SigningKey::FromPem(
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VwBCIEIAECAwQFBgcICQoLDA0ODxAREhMU"
      "FRYXGBkaGxwdHh8g\n"
      "-----END PRIVATE KEY-----\n");
  return key;
}

analyst::RunStore* Store() {
  static const analyst::TemporaryDirectory directory;
  static const std::unique_ptr<analyst::RunStore> store = [] {
    auto opened = *analyst::RunStore::Open(directory.path());
    (void)opened->GiveReceiptKey(std::string(ReleaseKey().public_key().begin(),
                                             ReleaseKey().public_key().end()));
    return opened;
  }();
  return store.get();
}

struct SmallRelease {
  v1::ReleaseHeader header;
  RunPlan plan;
  DatasetFacts facts;
};

// Three features; with a mean if `rows` is less.
SmallRelease HeaderOf(std::uint32_t rows) {
  SmallRelease release;
  v1::ReleaseHeader& header = release.header;
  header.set_version(1);
  header.mutable_run()->set_run_id(std::string(32, 'a'));
  v1::Dataset& dataset = *header.mutable_dataset();
  dataset.set_name("d");
  dataset.set_population("p");
  dataset.set_features(3);
  dataset.set_users(100);
  dataset.set_normalisation(v1::NORMALISATION_L2);
  dataset.set_column_bound(1);
  dataset.set_max_rank(9);
  dataset.set_max_rounds(9);
  dataset.set_named_features(true);
  dataset.mutable_guarantee()->set_adjacency(v1::ADJACENCY_REPLACE_ONE);
  dataset.mutable_guarantee()->set_conversion(v1::CONVERSION_RDP);
  v1::RunSpecification specification;
  v1::RunParameters& parameters = *specification.mutable_parameters();
  parameters.set_dataset("d");
  parameters.set_rank(2);
  parameters.set_mechanism("moments");
  parameters.set_moment_rows(rows);
  parameters.set_epsilon(1);
  parameters.set_delta(1e-5);
  *header.mutable_run()->mutable_specification() =
      analyst::WithDefaults(specification, dataset);
  release.facts = *FactsOf(dataset);
  release.plan = *PlanRun(*FromProto(header.run().specification().parameters()),
                          release.facts);
  return release;
}

// Signs each round as the curator would for these numbers, as far as they are
// rounds of the plan.
void SignRounds(const v1::ReleaseHeader& header,
                std::vector<CarriedRound>* rounds) {
  const auto facts = FactsOf(header.dataset());
  const auto parameters = FromProto(header.run().specification().parameters());
  if (!facts.ok() || !parameters.ok()) return;
  const auto plan = PlanRun(*parameters, *facts);
  if (!plan.ok()) return;
  const v1::RunParameters canonical = ToProto(*parameters);
  for (CarriedRound& round : *rounds) {
    if (round.round < 1 || round.round > parameters->rounds) continue;
    const v1::StagePlan stage = ToProto(plan->StageOf(round.round), *facts);
    v1::Receipt& receipt = round.receipt;
    receipt.set_ledger_id(std::string(32, '1'));
    receipt.set_sequence(7);
    receipt.set_row_hash(std::string(32, 'h'));
    receipt.set_population(header.dataset().population());
    receipt.set_dataset(parameters->dataset);
    receipt.set_run_id(header.run().run_id());
    receipt.set_round(round.round);
    *receipt.mutable_charged() = stage.cost_per_round();
    const Digest digest = DigestOfRelease(
        {&canonical, &stage, facts->users, round.rows}, round.parts);
    receipt.set_release_sha256(digest.data(), digest.size());
    Sign(ReleaseKey(), &receipt);
  }
}

std::string Framed(std::uint32_t rows, bool names) {
  const SmallRelease release = HeaderOf(rows);
  std::vector<CarriedRound> rounds;
  for (std::uint32_t r = 1; r <= (rows < 3 ? 2u : 1u); ++r) {
    const PartPlan& plan = release.plan.StageOf(r).parts[0];
    CarriedRound round;
    round.round = r;
    NoisedMatrix part;
    part.name = plan.name;
    part.rows = plan.rows;
    part.columns = plan.columns;
    part.symmetric = plan.symmetric;
    part.step_exponent = plan.step_exponent;
    part.lattice.assign(EntryCount(part.rows, part.columns, part.symmetric),
                        1000);
    if (plan.name == "G" && rows < 3) round.rows = {0, 2};
    round.parts = {part};
    rounds.push_back(round);
  }
  SignRounds(release.header, &rounds);
  v1::ReleaseReply header;
  *header.mutable_header() = release.header;
  std::string framed = FramedRelease(header);
  if (names) {
    v1::ReleaseReply items;
    for (const char* name : {"x", "y", "z"})
      items.mutable_items()->add_items()->set_id(name);
    framed += FramedRelease(items);
  }
  for (const CarriedRound& round : rounds) {
    WriteRound(round, [&](const v1::ReleaseReply& message) {
      framed += FramedRelease(message);
      return true;
    });
  }
  return framed;
}

void TryFile(const std::string& file) {
  AddedRelease release(Store());
  absl::Status status = ReadReleaseFile(
      file,
      [&](const v1::ReleaseReply& message) { return release.Add(message); });
  if (status.ok()) {
    const auto run = release.Finish();
    status = run.status();
    if (run.ok()) {
      Count("added");
      const auto paid = analyst::PaidMomentsOf(run->record.run, run->state);
      Demand(paid.ok(), "a release that cannot be fitted to");
      Demand(paid->moments.g.rows() ==
                 static_cast<Eigen::Index>(paid->rows.size()),
             "rows that are not those of G");
      Demand(paid->moments.stddev_off > 0, "a release without noise");
      Demand(run->record.run.added(), "a run that would be charged");
    }
  }
  if (status.ok()) return;
  DemandRefusal(status);
  Count(ReasonCode(status));
}

// The file with its rounds signed for what they say now.
std::string SignedAgain(const std::string& file) {
  v1::ReleaseHeader header;
  std::string begin;
  CarriedRoundsReader reader(64);
  const absl::Status read =
      ReadReleaseFile(file, [&](const v1::ReleaseReply& message) {
        if (message.has_header()) header = message.header();
        if (message.has_header() || message.has_items()) {
          begin += FramedRelease(message);
          return absl::OkStatus();
        }
        return reader.Add(message);
      });
  if (!read.ok() || !reader.complete()) return file;
  std::vector<CarriedRound> rounds = reader.Take();
  SignRounds(header, &rounds);
  for (const CarriedRound& round : rounds) {
    WriteRound(round, [&](const v1::ReleaseReply& message) {
      begin += FramedRelease(message);
      return true;
    });
  }
  return ReleaseFileOf(begin);
}

std::vector<std::string> FuzzSeeds() {
  // Kind, then the framed messages, or the file.
  std::vector<std::string> seeds;
  for (const std::uint32_t rows : {2u, 3u}) {
    for (const bool names : {false, true}) {
      const std::string framed = Framed(rows, names);
      seeds.push_back('\0' + ReleaseFileOf(framed));
      seeds.push_back('\1' + framed);
      seeds.push_back('\2' + framed);
    }
  }
  const std::string framed = Framed(2, true);
  seeds.push_back('\1' + framed.substr(0, framed.size() / 2));
  SmallRelease other = HeaderOf(3);
  other.header.mutable_run()->set_run_id("none");
  v1::ReleaseReply message;
  *message.mutable_header() = other.header;
  seeds.push_back('\1' + FramedRelease(message));
  other = HeaderOf(3);
  other.header.set_version(2);
  *message.mutable_header() = other.header;
  seeds.push_back('\1' + FramedRelease(message));
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  return {"added",         "release-file-malformed", "release-malformed",
          "release-newer", "release-differs",        "receipt-invalid"};
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  FuzzInput bytes(data, size);
  const std::uint8_t kind = bytes.Byte() % 3;
  std::string content(bytes.Rest());
  if (kind >= 1) content = ReleaseFileOf(content);
  if (kind == 2) content = SignedAgain(content);
  TryFile(content);
}

[[maybe_unused]] const bool kRegistered =
    Register({"release_file", 5'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::release_file
