// Three curators of one federation, in one process and without gRPC: the people
// of a planted data set, split in three. Noise is what the test says. NOT
// DIFFERENTIALLY PRIVATE.
#ifndef DPNMF_TESTS_CURATOR_FEDERATION_HOSPITALS_H_
#define DPNMF_TESTS_CURATOR_FEDERATION_HOSPITALS_H_

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "curator/federation/membership.h"
#include "curator/ledger/others_account.h"
#include "curator/session/session.h"
#include "gtest/gtest.h"
#include "tests/curator/gate/release_gate_for_testing.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {

inline constexpr std::uint64_t kRows = 12, kPeople = 200;
inline constexpr std::array<std::uint64_t, 3> kSizes = {60, 70, 70};
inline constexpr char kRunId[] = "0123456789abcdef0123456789abcdef";

// Columns of three planted parts.
inline std::vector<float> PlantedColumns() {
  std::vector<float> values(kRows * kPeople);
  for (std::uint64_t n = 0; n < kPeople; ++n) {
    for (std::uint64_t d = 0; d < kRows; ++d) {
      values[n * kRows + d] =
          d / 4 == n % 3
              ? 0.45f * (1.0f + 0.01f * static_cast<float>((n * 7 + d) % 11))
              : 0.0f;
    }
  }
  return values;
}

inline DatasetDescription DescriptionOfPeople(const std::string& name,
                                              std::uint64_t users) {
  DatasetDescription description;
  description.name = name;
  description.population = name + "-people";
  description.features = kRows;
  description.users = users;
  description.epsilon = 4;
  description.delta = 1e-5;
  return description;
}

inline std::unique_ptr<Dataset> PeopleOf(const std::string& name,
                                         std::uint64_t first,
                                         std::uint64_t users) {
  const std::vector<float> all = PlantedColumns();
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * kRows);
  return Dataset::FromDense(
             DescriptionOfPeople(name, users),
             {begin, begin + static_cast<std::ptrdiff_t>(users * kRows)})
      .value();
}

inline RunParameters FederatedRun(const std::string& mechanism,
                                  const std::string& dataset = "hospitals") {
  RunParameters run;
  run.dataset = dataset;
  run.rank = 3;
  run.rounds = mechanism == "moments" ? 1 : 2;
  run.moment_rows = mechanism == "moments" ? kRows : 0;
  run.epsilon = 1;
  run.delta = 1e-5;
  run.mechanism = mechanism;
  return run;
}

// Deviates that are different for every curator and entry, and of the size of
// the noise.
inline ReleaseGateForTesting::DrawNoise PatternOf(std::uint64_t who) {
  return [who](const std::vector<PartPlan>& parts, int) {
    std::vector<std::vector<std::int64_t>> noise;
    for (const PartPlan& part : parts) {
      noise.emplace_back(EntryCount(part.rows, part.columns, part.symmetric));
      std::uint64_t state = 77 + who;
      for (std::int64_t& value : noise.back()) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value = static_cast<std::int64_t>(state >> 40) - (1 << 23);
      }
    }
    return noise;
  };
}

// One curator: what is on its disk stays from Start to Start.
class Hospital {
 public:
  Hospital(std::string name, std::uint64_t first, std::uint64_t users,
           std::uint64_t who)
      : name_(std::move(name)),
        first_(first),
        users_(users),
        noise_(PatternOf(who)) {
    SetLimits({});
  }

  std::string Entry() const {
    return absl::StrCat("{\"name\": \"", name_, "\", \"dataset\": \"", name_,
                        "\", \"users\": ", users_, ", \"receipt_key\": \"",
                        HexOf(key_.public_key()),
                        "\", \"address\": \"localhost:1\"}");
  }

  // Starts as a new process does: keys of rounds are gone.
  void Start(const Federation& federation) {
    membership_.reset();
    gate_.reset();
    ledger_.reset();
    ledger_ = Ledger::Open({home_ / "ledger", home_ / "anchor", {}}).value();
    const DatasetDescription people = DescriptionOfPeople(name_, users_);
    const PopulationPolicy policy = {people.population, people.adjacency,
                                     people.conversion, people.epsilon,
                                     people.delta};
    ASSERT_TRUE(ledger_->DeclarePopulation(policy).ok());
    gate_ =
        ReleaseGateForTesting::Create(ledger_.get(), home_ / "releases", noise_)
            .value();
    membership_ = Membership::Create(federation, key_.public_key(),
                                     [this](std::span<const std::byte> b) {
                                       return key_.Sign(b);
                                     })
                      .value();
    ASSERT_TRUE(membership_->CheckData(people).ok());
    ASSERT_TRUE(DeclareOthers(people.population,
                              membership_->OthersPolicy(policy), ledger_.get())
                    .ok());
    std::vector<std::unique_ptr<Dataset>> datasets;
    datasets.push_back(PeopleOf(name_, first_, users_));
    catalog_ = Catalog::FromDatasets(std::move(datasets));
    ASSERT_TRUE(catalog_.AddAlias(federation.name, name_));
  }

  Session NewSession(const std::string& analyst = "dns:analyst") {
    return Session(Context(), {analyst});
  }
  SessionContext Context() {
    SessionContext context;
    context.ledger = ledger_.get();
    context.gate = gate_.get();
    context.catalog = &catalog_;
    context.access = access_.get();
    context.locks = &locks_;
    context.membership = membership_.get();
    return context;
  }
  // The analyst's caps, by population.
  void SetLimits(std::map<std::string, double> epsilons) {
    access_ = AccessControl::FromGrants({Grant{
        "dns:analyst", {Role::kAnalyst}, {}, true, std::move(epsilons)}});
  }
  // Sets the noise of the next Start.
  void SetNoise(ReleaseGateForTesting::DrawNoise noise) {
    noise_ = std::move(noise);
  }

  MuSquared Charged() const {
    return ledger_->PositionOf(name_ + "-people")->charged;
  }
  MuSquared ChargedOfOthers() const {
    return ledger_->PositionOf(name_ + "-people.others")->charged;
  }
  MuSquared ReservedOfBoth() const {
    return *MuSquared::Add(
        ledger_->PositionOf(name_ + "-people")->reserved,
        ledger_->PositionOf(name_ + "-people.others")->reserved);
  }
  const SigningKey& key() const { return key_; }
  const Membership& membership() const { return *membership_; }
  const std::string& name() const { return name_; }
  std::string Releases() const { return home_ / "releases"; }
  Ledger& ledger() { return *ledger_; }

 private:
  const std::string name_;
  const std::uint64_t first_, users_;
  ReleaseGateForTesting::DrawNoise noise_;
  const TempDirectory home_;
  const SigningKey key_ = SigningKey::Generate();
  std::unique_ptr<AccessControl> access_;
  RunLocks locks_;
  Catalog catalog_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<ReleaseGate> gate_;
  std::unique_ptr<Membership> membership_;
};

inline std::string FederationText(const std::vector<std::string>& entries,
                                  std::uint32_t colluders = 1,
                                  double others = 8, std::uint32_t copies = 1) {
  return absl::StrCat(
      "{\"federation\": \"hospitals\", \"colluders\": ", colluders,
      ", \"copies\": ", copies,
      ", \"adjacency\": \"replace_one\", \"conversion\": \"rdp\", "
      "\"features\": 12, \"normalisation\": \"l2\", "
      "\"column_bound\": 1, \"max_rank\": 12, \"max_rounds\": 100, "
      "\"epsilon_if_others_collude\": ",
      others, ", \"members\": [", absl::StrJoin(entries, ", "), "]}");
}

class HospitalsTest : public ::testing::Test {
 protected:
  HospitalsTest() : HospitalsTest(8) {}
  explicit HospitalsTest(double others, std::uint32_t copies = 1) {
    std::uint64_t first = 0;
    std::vector<std::string> entries;
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      hospitals_.push_back(std::make_unique<Hospital>(
          std::string(1, static_cast<char>('a' + i)), first, kSizes[i], i));
      entries.push_back(hospitals_.back()->Entry());
      first += kSizes[i];
    }
    federation_ =
        ParseFederation(FederationText(entries, 1, others, copies)).value();
    for (const auto& hospital : hospitals_) hospital->Start(federation_);
  }

  Hospital& at(std::size_t i) { return *hospitals_[i]; }

  // Sessions of all three, with the run open.
  void OpenAll(const RunParameters& run) {
    sessions_.clear();
    for (const auto& hospital : hospitals_) {
      sessions_.push_back(std::make_unique<Session>(hospital->NewSession()));
      const auto opened = sessions_.back()->Open(kRunId, run);
      ASSERT_TRUE(opened.ok()) << opened.status();
    }
  }
  std::vector<FederationOffer> OfferAll(std::uint32_t round,
                                        const RoundInput& input) {
    std::vector<FederationOffer> offers;
    for (const auto& session : sessions_) {
      auto offer = session->Offer(round, input);
      EXPECT_TRUE(offer.ok()) << offer.status();
      if (offer.ok()) offers.push_back(*std::move(offer));
    }
    return offers;
  }

  Federation federation_;
  std::vector<std::unique_ptr<Hospital>> hospitals_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_FEDERATION_HOSPITALS_H_
