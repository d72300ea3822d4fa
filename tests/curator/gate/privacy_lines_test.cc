// Costs of each part of each release, beside the bounds that the gate
// enforces, and printed epsilons: tests/golden/privacy_lines.csv holds what the
// program computes, and proofs/check.sh proves that those lines are right.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/privacy/accounting.h"
#include "common/privacy/class_bounds.h"
#include "common/privacy/mechanism.h"
#include "common/privacy/ratings_bounds.h"
#include "common/privacy/run_plan.h"
#include "curator/factor/kernels/quantise.h"
#include "curator/mechanism/mechanism.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

constexpr Adjacency kRelations[] = {
    Adjacency::kReplaceOne, Adjacency::kAddRemoveOne, Adjacency::kOneRating};
constexpr double kCapDelta = 1e-6;

constexpr char kHeader[] =
    "# Written by tests/curator/gate/privacy_lines_test.cc, which says how to "
    "write it again; read by proofs/make_values.py.\n"
    "# run,mechanism,relation,units of all rounds; its parts and epsilons "
    "follow\n"
    "# part,release,part,rounds,symmetric,left norm,right norm,whole "
    "sensitivity,stddev,diagonal stddev,units of a round,bounds of the gate\n"
    "# cap or epsilon,units,delta,epsilon\n";

// A run of a mechanism that has rounds of all of its releases.
struct PlannedRun {
  DatasetFacts facts;
  RunParameters parameters;
};

PlannedRun RunOf(const dpnmf::Mechanism& mechanism, Adjacency relation,
                 double epsilon, bool declares_range) {
  PlannedRun run;
  DatasetFacts& facts = run.facts;
  facts.name = facts.population = "people";
  facts.features = 100;
  facts.users = 5000;
  facts.adjacency = relation;
  facts.conversion = Conversion::kGaussian;
  facts.column_bound = mechanism.for_ratings ? 1 : 1.25;
  facts.max_rank = 20;
  facts.max_rounds = 100;
  if (mechanism.for_ratings)
    facts.ratings = RatingScale{.low_units = 5000, .high_units = 50'000};
  if (mechanism.for_classes)
    facts.classes = ClassFacts{.names = {"one", "other"}};
  if (declares_range) facts.range = EntryRange{.low = 0, .high = 0.125};
  RunParameters& parameters = run.parameters;
  parameters.dataset = facts.name;
  parameters.mechanism = std::string(mechanism.name);
  parameters.rank = 5;
  parameters.epsilon = epsilon;
  parameters.delta = kCapDelta;
  parameters.adjacency = relation;
  parameters.conversion = facts.conversion;
  parameters.share_of_a = 0.25;
  if (mechanism.for_ratings) {
    parameters.shares = {0.3, 0.2, 0.2, 0.2, 0.1};
    parameters.profile_directions = 2;
  }
  if (mechanism.uses("moment_rows", parameters, facts))
    parameters.moment_rows = 20;
  // A run of moments has rounds of statistics besides.
  const RoundsRange rounds = mechanism.rounds(parameters, facts);
  parameters.rounds = std::min(rounds.least + 2, rounds.most);
  return run;
}

// The integers to which the gate holds every person who adds to the part, as
// the sums' own code computes them (curator/factor). Their order is that of
// gate_of in proofs/ProgramCheck.v. None: this file does not know the part.
std::vector<std::uint64_t> GateBounds(const PlannedRun& run,
                                      const RunPlan& plan,
                                      const std::string& release,
                                      const PartPlan& part) {
  const auto is = [&](std::string_view a_release, std::string_view a_part) {
    return release == a_release && part.name == a_part;
  };
  const std::uint64_t data =
      LatticeBoundsOf(plan.data_bound, plan.data_bits)->norm_bound;
  const std::uint64_t coefficients =
      LatticeBoundsOf(plan.coefficient_bound, plan.coefficient_bits)
          ->norm_bound;
  if (is("statistics", "A") || is("gradient", "A")) return {coefficients};
  if (is("statistics", "B") || is("gradient", "B")) return {data, coefficients};
  if (is("mean", "mean") || is("moments", "G") || is("aimed", "Z"))
    return {data};
  if (is("objective", "objective"))
    return {LargestLossSteps(plan.data_bound, plan.data_bits)};
  if (is("class moments", "Z")) {
    const ClassBounds bounds = ClassBoundsOf(run.facts, plan.data_bits);
    return {bounds.constant, bounds.norm_bound};
  }
  if (!run.facts.ratings.has_value()) return {};
  const RatingScale& scale = *run.facts.ratings;
  const ItemsLattice lattice = ItemsLatticeOf(scale, -part.step_exponent);
  if (is("items", "mean")) return {static_cast<std::uint64_t>(lattice.most)};
  if (is("items", "items")) {
    if (run.facts.adjacency == Adjacency::kOneRating) {  // no lengths
      return {static_cast<std::uint64_t>(lattice.range_units),
              static_cast<std::uint64_t>(lattice.bits), run.facts.features,
              static_cast<std::uint64_t>(lattice.largest_rating),
              static_cast<std::uint64_t>(lattice.mask_step)};
    }
    return {lattice.mask_norm, lattice.rating_norm, lattice.ratio.numerator,
            lattice.ratio.denominator};
  }
  const int bits = -part.step_exponent / 2;
  if (is("co-ratings", "C")) return {NormBoundSteps(1, bits)};
  if (is("profiles", "P"))
    return {ProfileMomentNorm(run.parameters.rank, bits)};
  if (is("residuals", "S")) return {ResidualNorm(scale, bits)};
  if (is("corrections", "A")) return {ProfileNorm(bits)};
  if (is("corrections", "B")) {
    const int g_bits = plan.stages.back().parts.at(1).step_exponent / -2;
    return {ResidualNorm(scale, -part.step_exponent - g_bits),
            ProfileNorm(g_bits)};
  }
  return {};
}

std::string EpsilonLine(const char* word, MuSquared cost, double delta,
                        double epsilon) {
  return absl::StrFormat("%s,%s,%a,%a\n", word, cost.UnitsText(), delta,
                         epsilon);
}

// Lines of one run. Adds its releases to `walked`.
std::string LinesOf(const PlannedRun& run, std::set<std::string>* walked) {
  const absl::StatusOr<RunPlan> plan = PlanRun(run.parameters, run.facts);
  if (!plan.ok()) {
    ADD_FAILURE() << run.parameters.mechanism << ": " << plan.status();
    return "";
  }
  std::string lines =
      absl::StrFormat("run,%s,%s,%s\n", run.parameters.mechanism,
                      NameOf(run.facts.adjacency), plan->cost.UnitsText());
  for (const StagePlan& stage : plan->stages) {
    walked->insert(stage.release);
    for (const PartPlan& part : stage.parts) {
      const std::vector<std::uint64_t> gate =
          GateBounds(run, *plan, stage.release, part);
      EXPECT_FALSE(gate.empty())
          << "Part " << part.name << " of " << stage.release
          << " needs its bounds in GateBounds, and a theorem in "
             "proofs/ProgramCheck.v.";
      absl::StrAppend(&lines, "part,", stage.release, ",", part.name, ",",
                      stage.rounds, ",", part.symmetric, ",",
                      part.left_norm_steps, ",", part.right_norm_steps, ",",
                      part.whole_sensitivity, ",", part.stddev_steps, ",",
                      part.diagonal_stddev_steps, ",",
                      CostOfDrawing({part}, run.facts.adjacency)->UnitsText(),
                      ",", absl::StrJoin(gate, ","), "\n");
    }
  }
  const double cap = run.parameters.epsilon;
  lines +=
      EpsilonLine("cap", *LargestCost(Conversion::kGaussian, cap, kCapDelta),
                  kCapDelta, cap);
  for (const double delta : {1e-5, 1e-9}) {
    lines += EpsilonLine("epsilon", plan->cost, delta,
                         *Epsilon(Conversion::kGaussian, plan->cost, delta));
  }
  return lines;
}

std::vector<std::string> LinesIn(std::istream& text) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(PrivacyLines, AreWhatTheProgramComputes) {
  std::string computed = kHeader;
  for (const Adjacency relation : kRelations) {
    for (const dpnmf::Mechanism* mechanism : dpnmf::Mechanisms().rows()) {
      SCOPED_TRACE(absl::StrFormat("%s %s", mechanism->name, NameOf(relation)));
      std::set<std::string> walked;
      for (const double epsilon : {0.5, 4.0}) {
        for (const bool declares_range : {false, true}) {
          if (declares_range && !mechanism->for_classes) continue;
          const PlannedRun run =
              RunOf(*mechanism, relation, epsilon, declares_range);
          if (relation == Adjacency::kOneRating && !mechanism->for_ratings) {
            EXPECT_FALSE(PlanRun(run.parameters, run.facts).ok());
            continue;
          }
          computed += LinesOf(run, &walked);
        }
      }
      if (relation == Adjacency::kOneRating && !mechanism->for_ratings)
        continue;
      // The curator's table is what can be charged for.
      for (const ReleaseKind& kind :
           Mechanisms().Find(mechanism->name)->releases) {
        EXPECT_TRUE(walked.contains(std::string(kind.name)))
            << "RunOf has no round of " << kind.name << ".";
      }
    }
  }
  const std::string golden = DPNMF_GOLDEN_DIR "/privacy_lines.csv";
  std::ifstream file(golden);
  std::istringstream text(computed);
  const std::vector<std::string> held = LinesIn(file), wanted = LinesIn(text);
  if (held == wanted) return;
  std::size_t line = 0;
  while (line < held.size() && line < wanted.size() &&
         held[line] == wanted[line])
    ++line;
  const std::string written = DPNMF_WRITTEN;
  std::ofstream(written) << computed;
  FAIL() << "Line " << line + 1 << " of " << golden << " is\n"
         << (line < held.size() ? held[line] : "missing")
         << "\nbut the program computes\n"
         << (line < wanted.size() ? wanted[line] : "no such line")
         << "\nIf what a release costs was changed on purpose:\n  cp "
         << written << " " << golden << "\n  proofs/check.sh";
}

}  // namespace
}  // namespace dpnmf::curator
