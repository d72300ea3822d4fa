#include "tests/attacks/attacked_curator.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "common/base/failpoint.h"
#include "common/nmf/dictionary.h"
#include "tests/curator/gate/release_gate_for_testing.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFeatures = 4, kUsers = 6;
constexpr double kDelta = 1e-5, kBobsEpsilon = 1.1;
constexpr double kPeoplesEpsilon = 2.2, kOthersEpsilon = 1.5;
AttackedCurator* g_attacked = nullptr;

std::unique_ptr<Dataset> SmallDataset(const std::string& name,
                                      const std::string& population,
                                      double epsilon) {
  DatasetDescription description;
  description.name = name;
  description.population = population;
  description.features = kFeatures;
  description.users = kUsers;
  description.epsilon = epsilon;
  description.delta = kDelta;
  std::vector<float> values(kFeatures * kUsers);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.01f * static_cast<float>((i * 7 + name.size()) % 40);
  return Dataset::FromDense(description, std::move(values)).value();
}

std::vector<std::unique_ptr<Dataset>> SmallDatasets() {
  std::vector<std::unique_ptr<Dataset>> datasets;
  datasets.push_back(SmallDataset("first", "people", kPeoplesEpsilon));
  datasets.push_back(SmallDataset("second", "people", kPeoplesEpsilon));
  datasets.push_back(SmallDataset("third", "others", kOthersEpsilon));
  return datasets;
}

// LargestCost of the cap on Bob.
Units BobsCap() {
  static const Units cap =
      LargestCost(Conversion::kRdp, kBobsEpsilon, kDelta)->units();
  return cap;
}

std::string TextOfParameters(const RunParameters& p) {
  std::string text;
  for (const std::string& field :
       {p.dataset, p.mechanism, std::to_string(p.rank),
        std::to_string(p.rounds), std::to_string(p.epsilon),
        std::to_string(p.inner_iterations), std::to_string(p.moment_rows),
        std::to_string(p.outliers)}) {
    text += field + "/";
  }
  return text;
}

std::vector<RunVariant> MakeVariants() {
  RunParameters usual;
  usual.dataset = "first";
  usual.rank = 2;
  usual.rounds = 3;
  usual.epsilon = 0.6;
  usual.delta = kDelta;
  usual.inner_iterations = 2;
  const auto with = [&](const auto& change) {
    RunParameters p = usual;
    change(p);
    return p;
  };
  const std::vector<RunParameters> all = {
      usual,
      // One parameter alone.
      with([](RunParameters& p) { p.dataset = "second"; }),
      with([](RunParameters& p) { p.mechanism = "gradient"; }),
      with([](RunParameters& p) { p.inner_iterations = 3; }),
      with([](RunParameters& p) { p.epsilon = 0.61; }),
      with([](RunParameters& p) { p.rounds = 4; }),
      with([](RunParameters& p) { p.dataset = "third"; }),
      // Other kinds and costs.
      with([](RunParameters& p) { p.rounds = 1, p.epsilon = 1; }),
      with([](RunParameters& p) {
        p.mechanism = "moments", p.rounds = 4, p.moment_rows = 2;
        p.epsilon = 0.7;
      }),
      with([](RunParameters& p) {
        p.mechanism = "moments", p.rounds = 2, p.moment_rows = 3;
        p.epsilon = 0.4;
      }),
      with([](RunParameters& p) {
        p.mechanism = "objective", p.rounds = 1, p.epsilon = 0.3;
      }),
      with([](RunParameters& p) {
        p.dataset = "third", p.rounds = 6, p.epsilon = 0.9;
      }),
  };
  const Catalog catalog = Catalog::FromDatasets(SmallDatasets());
  std::vector<RunVariant> variants;
  for (const RunParameters& parameters : all) {
    const DatasetFacts facts =
        FactsOf(catalog.Find(parameters.dataset)->description());
    variants.push_back({TextOfParameters(parameters), parameters, facts,
                        PlanRun(parameters, facts).value()});
  }
  return variants;
}

// The request hash of those who go straight to the gate.
Digest HashOfText(const std::string& text) {
  return Sha256().AddString(text).Finish();
}

RoundRequest RequestOf(const RoundAttempt& attempt, const RunVariant& variant) {
  RoundRequest request;
  request.identity = attempt.identity;
  request.run_id = attempt.run;
  request.round = attempt.round;
  request.request_hash = HashOfText(attempt.request);
  const bool in_range =
      attempt.round >= 1 && attempt.round <= variant.parameters.rounds;
  request.parts = variant.plan.StageOf(in_range ? attempt.round : 1).parts;
  return request;
}

RoundSums ZeroSums(const std::vector<PartPlan>& parts) {
  RoundSums sums;
  for (const PartPlan& part : parts)
    sums.parts.emplace_back(
        EntryCount(part.rows, part.columns, part.symmetric));
  return sums;
}

template <typename T>
void AppendBytes(const std::vector<T>& values, std::string* bytes) {
  if (values.empty()) return;
  bytes->append(reinterpret_cast<const char*>(values.data()),
                values.size() * sizeof(T));
}

std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

const std::vector<RunVariant>& RunVariants() {
  static const auto& variants = *new std::vector<RunVariant>(MakeVariants());
  return variants;
}

InputVariant InputOf(const RunVariant& run, std::uint32_t round, int choice) {
  const bool in_range = round >= 1 && round <= run.parameters.rounds;
  const std::string& release = run.plan.StageOf(in_range ? round : 1).release;
  const bool bad = choice == kInputChoices - 1;
  InputVariant variant;
  if (release == "mean") {
    variant.text = "nothing";
    if (bad) variant.input.w = RandomDictionary(kFeatures, 2, 1);
    if (bad) variant.code = "matrix-shape";
  } else if (release == "moments") {
    const std::vector<std::uint32_t> rows[] = {{0, 1}, {0, 2}, {1}, {2, 1}};
    variant.input.rows = rows[choice];
    variant.text = "rows " + std::to_string(choice);
    if (bad) variant.code = "rows-malformed";
  } else {
    variant.input.w = RandomDictionary(kFeatures, 2, choice == 1 ? 5 : 4);
    // A dictionary that differs in its last bit.
    if (choice == 2)
      variant.input.w(1, 1) = std::nextafter(variant.input.w(1, 1), 0.0);
    variant.text = "w " + std::to_string(choice);
    if (bad) variant.input.w.conservativeResize(kFeatures, 1);
    if (bad) variant.code = "matrix-shape";
  }
  return variant;
}

OpenAttempt OpenAttemptOf(const std::string& identity, const std::string& run,
                          const RunVariant& variant) {
  OpenAttempt attempt;
  attempt.identity = identity;
  attempt.run = run;
  attempt.population = variant.facts.population;
  attempt.request = variant.text;
  attempt.rounds = variant.parameters.rounds;
  attempt.cost = variant.plan.cost.units();
  if (identity == kBob && attempt.population == "people")
    attempt.identity_cap = BobsCap();
  return attempt;
}

RoundAttempt RoundAttemptOf(const std::string& identity, const std::string& run,
                            const RunVariant& variant, std::uint32_t round,
                            int choice) {
  RoundAttempt attempt;
  attempt.identity = identity;
  attempt.run = run;
  attempt.round = round;
  attempt.request = variant.text + " round " + std::to_string(round) + " " +
                    InputOf(variant, round, choice).text;
  const bool in_range = round >= 1 && round <= variant.parameters.rounds;
  attempt.cost = CostOfDrawing(variant.plan.StageOf(in_range ? round : 1).parts,
                               Adjacency::kReplaceOne)
                     ->units();
  return attempt;
}

Answer AnswerOf(const absl::StatusOr<Released<ReleasedRound>>& released) {
  Answer answer;
  answer.code = ReasonCode(released.status());
  if (!released.ok()) return answer;
  const ReleasedRound& round = released->value();
  answer.found = true;
  answer.lost = round.lost;
  answer.cost = round.cost.units();
  answer.row_hash = HexOf(round.row_hash);
  answer.bytes = BytesOf(round.parts);
  return answer;
}

std::string BytesOf(const std::vector<NoisedMatrix>& parts) {
  std::string bytes;
  for (const NoisedMatrix& part : parts) {
    bytes += part.name + std::to_string(part.rows) + "x" +
             std::to_string(part.columns) + ":";
    AppendBytes(part.lattice, &bytes);
    AppendBytes(part.reals, &bytes);
  }
  return bytes;
}

AttackedCurator::AttackedCurator()
    : live_(root_ / "live"),
      policies_{{"people", Adjacency::kReplaceOne, Conversion::kRdp,
                 kPeoplesEpsilon, kDelta},
                {"others", Adjacency::kReplaceOne, Conversion::kRdp,
                 kOthersEpsilon, kDelta}},
      catalog_(Catalog::FromDatasets(SmallDatasets())) {
  fs::create_directory(live_);
  Grant alice{kAlice, {Role::kAnalyst}, {}, true, {}};
  Grant bob{kBob,
            {Role::kAnalyst},
            {"first", "second"},
            false,
            {{"people", kBobsEpsilon}}};
  access_ = AccessControl::FromGrants({alice, bob});
}

AttackedCurator::~AttackedCurator() { DisarmCrash(); }

Ledger::Options AttackedCurator::LedgerOptions() const {
  Ledger::Options options;
  options.directory = LedgerDirectoryPath();
  options.anchor_directory = AnchorDirectoryPath();
  options.unix_seconds = [] { return std::int64_t{1'700'000'000}; };
  return options;
}

absl::Status AttackedCurator::TryStart() {
  DPNMF_ASSIGN_OR_RETURN(ledger_, Ledger::Open(LedgerOptions()));
  for (const PopulationPolicy& policy : policies_)
    DPNMF_RETURN_IF_ERROR(ledger_->DeclarePopulation(policy));
  DPNMF_ASSIGN_OR_RETURN(gate_, ReleaseGateForTesting::Create(
                                    ledger_.get(), live_ + "/releases",
                                    [this](const std::vector<PartPlan>& parts,
                                           int) { return Draw(parts); }));
  locks_ = std::make_unique<RunLocks>();
  return absl::OkStatus();
}

void AttackedCurator::Start() {
  const absl::Status started = TryStart();
  ASSERT_TRUE(started.ok()) << started;
}

void AttackedCurator::Stop() {
  locks_.reset();
  gate_.reset();
  ledger_.reset();
}

SessionContext AttackedCurator::Context() const {
  return {ledger_.get(), gate_.get(), &catalog_, access_.get(),
          locks_.get(),  1,           nullptr};
}

Session AttackedCurator::NewSession(const std::string& identity) const {
  return Session(Context(), {identity});
}

Answer AttackedCurator::Open(const OpenAttempt& attempt,
                             const RunVariant& variant) {
  RunOpening opening;
  opening.identity = attempt.identity;
  opening.run_id = attempt.run;
  opening.population = attempt.population;
  opening.dataset = variant.parameters.dataset;
  opening.mechanism = variant.parameters.mechanism;
  opening.parameters_hash = HashOfText(attempt.request);
  opening.rounds = attempt.rounds;
  opening.cost = MuSquared::FromUnits(attempt.cost);
  if (attempt.identity_cap.has_value())
    opening.identity_cap = MuSquared::FromUnits(*attempt.identity_cap);
  const auto opened = ledger_->OpenRun(opening);
  Answer answer;
  answer.code = ReasonCode(opened.status());
  if (opened.ok()) answer.next_round = opened->next_round;
  return answer;
}

Answer AttackedCurator::Ask(const std::string& identity, const std::string& run,
                            const RunVariant& variant, std::uint32_t round,
                            int choice) {
  const RoundRequest request =
      RequestOf(RoundAttemptOf(identity, run, variant, round, choice), variant);
  return AnswerOf(
      gate_->Release(request, ZeroSums(request.parts),
                     [](std::vector<NoisedMatrix> noised) { return noised; }));
}

Answer AttackedCurator::Find(const std::string& identity,
                             const std::string& run, const RunVariant& variant,
                             std::uint32_t round, int choice) {
  const auto found = gate_->Find(RequestOf(
      RoundAttemptOf(identity, run, variant, round, choice), variant));
  Answer answer;
  answer.code = ReasonCode(found.status());
  if (found.ok() && found->has_value()) answer = AnswerOf(**found);
  return answer;
}

Answer AttackedCurator::Close(const std::string& identity,
                              const std::string& run) {
  const auto returned = ledger_->CloseRun(identity, run);
  Answer answer;
  answer.code = ReasonCode(returned.status());
  if (returned.ok()) answer.returned = returned->units();
  return answer;
}

void AttackedCurator::ArmCrash(const std::string& place) {
  crash_at_ = place;
  g_attacked = this;
  failpoint::on_reach = OnCrashPoint;
}

void AttackedCurator::DisarmCrash() {
  crash_at_.clear();
  if (g_attacked == this) failpoint::on_reach = nullptr;
}

void AttackedCurator::OnCrashPoint(const char* place) {
  g_attacked->MaybeCrash(place);
}

void AttackedCurator::MaybeCrash(const std::string& place) {
  if (place != crash_at_) return;
  DisarmCrash();
  crashed_copy_ = KeepCopy();
  throw Crashed();
}

void AttackedCurator::Recover() {
  Stop();
  PutBack(crashed_copy_);
  Start();
}

std::string AttackedCurator::KeepCopy() {
  const std::string copy = root_ / ("copy-" + std::to_string(++copies_));
  fs::copy(live_, copy, fs::copy_options::recursive);
  return copy;
}

void AttackedCurator::PutBack(const std::string& copy) {
  fs::remove_all(live_);
  fs::copy(copy, live_, fs::copy_options::recursive);
}

std::vector<std::vector<std::int64_t>> AttackedCurator::Draw(
    const std::vector<PartPlan>& parts) {
  const std::uint64_t draw = draws_.fetch_add(1) + 1;
  ExpectDurable(draw);
  MaybeCrash("drawing");
  std::vector<std::vector<std::int64_t>> noise;
  std::uint64_t state = Mix(draw);
  for (const PartPlan& part : parts) {
    noise.emplace_back(EntryCount(part.rows, part.columns, part.symmetric));
    for (std::int64_t& value : noise.back())
      value = static_cast<std::int64_t>((state = Mix(state)) >> 34);
  }
  return noise;
}

// Rows, then the anchor, then noise: the rows that the anchor knows pay for
// all that was ever drawn.
void AttackedCurator::ExpectDurable(std::uint64_t draw) const {
  const FileAnchor anchor = ReadAnchorFile(AnchorDirectoryPath());
  const FileCounts counts = CountLedgerFile(LedgerDirectoryPath(), anchor.rows);
  EXPECT_GE(counts.charges, draw + undrawn_)
      << "noise was drawn before its row, or twice for one";
  if (alone) {
    EXPECT_EQ(counts.charges, draw + undrawn_);
  }
}

std::uint64_t AttackSeed(const char* test) {
  const char* text = std::getenv("DPNMF_ATTACK_SEED");
  const std::uint64_t seed = text != nullptr
                                 ? std::strtoull(text, nullptr, 10)
                                 : std::random_device()() * 1'000'003ull;
  std::printf("%s: DPNMF_ATTACK_SEED=%llu\n", test,
              static_cast<unsigned long long>(seed));
  return seed;
}

int AttackTrials(int usual) {
  const char* text = std::getenv("DPNMF_ATTACK_TRIALS");
  const int times = text != nullptr ? std::atoi(text) : 1;
  return usual * std::max(times, 1);
}

void ReportAttack(const std::string& line) {
  std::printf("attack: %s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace dpnmf::curator
