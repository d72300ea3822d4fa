#include "client/render/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/render/names.h"
#include "client/render/number.h"
#include "client/render/position_text.h"
#include "client/render/table.h"
#include "common/base/view.h"
#include "common/privacy/budget.h"
#include "common/privacy/mechanism.h"
#include "common/wire/convert.h"

namespace dpnmf::cli {
namespace {

constexpr int kIndent = 2;

// Rows "rdp", "rdp_optimal", "gaussian": the columns are whole costs.
void AddEpsilonCells(const v1::Epsilons& epsilons,
                     std::vector<std::string>* cells) {
  cells->push_back(FormatUp(epsilons.rdp()));
  cells->push_back(FormatUp(epsilons.rdp_optimal()));
  cells->push_back(FormatUp(epsilons.gaussian()));
}

std::vector<std::string> CostRow(const std::string& name,
                                 const v1::MuSquared& cost,
                                 const v1::Epsilons& epsilons) {
  std::vector<std::string> cells = {name, FormatUp(cost.value())};
  AddEpsilonCells(epsilons, &cells);
  return cells;
}

Table CostTable(const v1::Epsilons& at) {
  const std::string delta =
      absl::StrCat("EPSILON AT DELTA ", FormatUp(at.delta()), ": RDP");
  return Table({{""},
                {"MU^2", Align::kRight},
                {delta, Align::kRight},
                {"RDP_OPTIMAL", Align::kRight},
                {"GAUSSIAN", Align::kRight}});
}

std::string InitialisationText(const v1::LearnerOptions& learner) {
  if (learner.initialisation() == v1::INITIALISATION_PUBLIC)
    return "a public dictionary";
  return absl::StrCat("random, seed ", learner.seed());
}

using Lines = std::vector<std::pair<std::string, std::string>>;

// Tells if a field plays a part in the run, as far as its mechanism is known
// here. No facts of the data set are at hand: assumes more features than
// moments have rows.
bool PlaysPart(std::string_view field, const RunParameters& parameters) {
  const Mechanism* const mechanism = Mechanisms().Find(parameters.mechanism);
  if (mechanism == nullptr) return true;
  DatasetFacts facts;
  facts.features = std::numeric_limits<std::uint64_t>::max();
  return mechanism->uses(field, parameters, facts);
}

void AddSpecificationLines(const v1::RunSpecification& specification,
                           Lines* lines) {
  const RunParameters parameters = ValuesOf(specification.parameters());
  lines->insert(lines->end(), {{"data set", parameters.dataset},
                               {"rank", absl::StrCat(parameters.rank)},
                               {"rounds", absl::StrCat(parameters.rounds)},
                               {"mechanism", parameters.mechanism}});
  for (const Knob* knob : Knobs()) {
    if (knob->line.text != nullptr && PlaysPart(knob->name, parameters))
      lines->push_back({knob->line.label, knob->line.text(parameters)});
  }
  if (specification.learner().non_negative())
    lines->push_back({"item model", "non-negative"});
  if (PlaysPart("initialisation", parameters)) {
    lines->push_back(
        {"first dictionary", InitialisationText(specification.learner())});
  }
  if (specification.learner().loss() == v1::LOSS_KL)
    lines->push_back({"loss", "kl"});
  if (specification.learner().sparseness() > 0) {
    lines->push_back({"least sparseness",
                      FormatNumber(specification.learner().sparseness())});
  }
}

// Noise of the means themselves (the sums divided by N), as it is drawn.
std::string NoiseText(const v1::RunPlan& plan) {
  Table table({{"RELEASE"},
               {"ROUNDS", Align::kRight},
               {"PART"},
               {"SHAPE"},
               {"SIGMA", Align::kRight},
               {"ON THE DIAGONAL", Align::kRight},
               {"SENSITIVITY OF THE SUM", Align::kRight},
               {"STEP OF THE SUM", Align::kRight}});
  for (const v1::StagePlan& stage : plan.stages()) {
    for (const v1::PartPlan& part : stage.parts()) {
      const bool first = &part == &stage.parts(0);
      table.AddRow(
          {first ? stage.release() : "",
           first ? absl::StrCat(stage.rounds()) : "", part.name(),
           ShapeText(part.shape()), FormatNumber(part.stddev()),
           part.diagonal_stddev() > 0 ? FormatNumber(part.diagonal_stddev())
                                      : "-",
           part.l2_sensitivity() > 0 ? FormatNumber(part.l2_sensitivity())
                                     : "-",
           absl::StrCat("2^", part.step_exponent())});
    }
  }
  return absl::StrCat(
      "noise of a round (standard deviation of each entry of the mean over "
      "people)\n",
      table.Render(kIndent));
}

std::string PriceText(const v1::RunPlan& plan, v1::Conversion enforced) {
  Table table = CostTable(plan.epsilons());
  table.AddRow(CostRow("this run", plan.cost(), plan.epsilons()));
  return absl::StrCat("cost of this run, at most (enforced: ", NameOf(enforced),
                      ")\n", table.Render(kIndent));
}

// Adds what this analyst's own limit is, if the operator has set one, and whom
// to ask if it is used up.
void AddOwnLimitLine(const v1::LedgerPosition& position,
                     const v1::Guarantee& guarantee, Lines* lines) {
  const auto own = FromProto(position.own_limit());
  const auto all = FromProto(position);
  const auto conversion = FromProto(guarantee.conversion());
  if (!position.has_own_limit() || !own.ok() || !conversion.ok()) return;
  const double delta = guarantee.delta();
  const auto limit = Epsilon(*conversion, own->cap, delta);
  const auto spent = SpentAndReserved(*own, *conversion, delta);
  const auto left = LargestRun(RoomOf(*own), *conversion, delta);
  if (!limit.ok() || !spent.ok() || !left.ok()) return;
  lines->push_back(
      {"own limit of this analyst",
       absl::StrCat("epsilon ", FormatUp(*limit), ", of which ",
                    FormatUp(*spent), " is spent or reserved",
                    !IsUsedUp(*left, own->cap, *conversion, delta) ? ""
                    : all.ok() && RoomOf(*all) > RoomOf(*own)
                        ? ": it is used up; ask the curator's operator, who "
                          "can raise it"
                        : ": it is used up, and so is the cap")});
}

// The guarantee, what is spent and what is left, as budget and plan show them.
void AddMoneyLines(const v1::LedgerPosition& position,
                   const v1::Guarantee& guarantee, Lines* lines) {
  lines->push_back({"guarantee of the cap", GuaranteeText(guarantee)});
  lines->push_back(
      {"spent so far",
       absl::StrCat("epsilon ",
                    SpentAndReservedText(position, guarantee.conversion(),
                                         guarantee.delta()),
                    " of ", FormatUp(guarantee.epsilon()),
                    position.reserved().value() > 0
                        ? ", with what open runs may spend"
                        : "")});
  lines->push_back(
      {"largest run",
       absl::StrCat(
           "epsilon ",
           LargestRunText(position, guarantee.conversion(), guarantee.delta()),
           " at delta ", FormatUp(guarantee.delta()))});
  AddOwnLimitLine(position, guarantee, lines);
}

// "This run fits 12 more times.", by the ledger's own units.
std::string FitsText(const v1::PlanRunReply& reply) {
  const auto cost = FromProto(reply.plan().cost());
  const auto room = RoomOf(reply.position());
  if (!cost.ok() || !room.ok() || *cost == MuSquared()) return "";
  const Uint128 times = room->units() / cost->units();
  if (times == 0) return "";
  return times == 1 ? "This run fits once more into what is left.\n"
                    : absl::StrCat(
                          "This run fits ",
                          times > 1000000
                              ? "more than 1000000"
                              : absl::StrCat(static_cast<std::uint64_t>(times)),
                          " more times into what is left.\n");
}

// Adds the rest of this analyst's own limit, if the operator has set one.
void AddOwnLimitRow(const v1::LedgerPosition& position, Table* table) {
  const auto own = FromProto(position.own_limit());
  if (!position.has_own_limit() || !own.ok()) return;
  table->AddRow({"left of this analyst's own limit",
                 FormatDown(RoomOf(*own).ToDouble())});
}

// Whose budget it is.
std::string AccountOf(const v1::LedgerPosition& position) {
  return absl::StrCat("population ", position.population(),
                      position.partition().empty()
                          ? std::string()
                          : absl::StrCat(", partition ", position.partition()));
}

std::string PlanBudgetText(const v1::PlanRunReply& reply) {
  const v1::LedgerPosition& position = reply.position();
  Table table({{""}, {"MU^2", Align::kRight}});
  // Cut like what is left of it: both are the same as long as nothing is
  // charged.
  table.AddRow({"cap", FormatDown(position.cap().value())});
  table.AddRow({"charged", FormatUp(position.charged().value())});
  table.AddRow({"reserved", FormatUp(position.reserved().value())});
  table.AddRow({"left before the run", FormatDown(position.left().value())});
  AddOwnLimitRow(position, &table);
  table.AddRow({"this run", FormatUp(reply.plan().cost().value())});
  table.AddRow(
      {"left after the run", reply.would_be_refused()
                                 ? "-"
                                 : FormatDown(reply.left_after().value())});
  Table after = CostTable(reply.epsilons_after());
  std::vector<std::string> cells = {
      "charged, reserved and this run",
      CostWithText(position, reply.plan().cost())};
  AddEpsilonCells(reply.epsilons_after(), &cells);
  after.AddRow(cells);
  return absl::StrCat(
      "budget of ", AccountOf(position), "\n", table.Render(kIndent),
      "spent and reserved after the run\n", after.Render(kIndent));
}

std::string HexOf(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes)
    absl::StrAppend(&text, absl::Hex(byte, absl::kZeroPad2));
  return text;
}

// "2 charges WHAT (run 0123abcd, round 1; run ...)", or nothing.
template <typename Charges>
std::string ChargesText(const Charges& charges, std::string_view what) {
  if (charges.empty()) return "";
  std::string runs;
  for (const v1::UnmirroredCharge& charge : charges) {
    absl::StrAppend(&runs, runs.empty() ? "" : "; ", "run ",
                    ShortRunId(charge.run_id()), ", round ", charge.round());
  }
  return absl::StrCat("; ", charges.size(),
                      charges.size() == 1 ? " charge " : " charges ",
                      View(what), " (", runs, ")");
}

std::string AgreementText(const v1::GetBudgetReply& reply) {
  if (reply.agree()) {
    return absl::StrCat("our copy of the ledger agrees with the curator's",
                        ChargesText(reply.under_way(), "under way"),
                        ChargesText(reply.never_fetched(),
                                    "of runs that ended before they had the "
                                    "release; they are spent nevertheless"),
                        "\n");
  }
  return absl::StrCat(
      "OUR COPY AND THE CURATOR'S LEDGER DIFFER: ", reply.disagreement(), "\n");
}

std::string RecordsText(const v1::GetBudgetReply& reply) {
  Table table({{""},
               {"OWN CHARGES", Align::kRight},
               {"OWN MU^2", Align::kRight},
               {"LEDGER ROWS", Align::kRight},
               {"CHAIN HEAD"}});
  const auto head = [](const std::string& bytes) {
    return bytes.empty() ? "-" : HexOf(bytes).substr(0, 16);
  };
  table.AddRow({"curator's ledger", absl::StrCat(reply.own_charge_count()),
                FormatUp(reply.own_charged().value()),
                absl::StrCat(reply.record().row_count()),
                head(reply.record().head())});
  table.AddRow({"our copy", absl::StrCat(reply.mirror().charge_count()),
                FormatUp(reply.mirror().charged().value()),
                absl::StrCat(reply.mirror().row_count()),
                head(reply.mirror().head())});
  return table.Render(kIndent);
}

std::string BudgetCostsText(const v1::GetBudgetReply& reply) {
  Table table = CostTable(reply.cap_epsilons());
  const v1::LedgerPosition& record = reply.record();
  std::vector<std::string> cap =
      CostRow("cap", record.cap(), reply.cap_epsilons());
  cap[1] = FormatDown(record.cap().value());  // as what is left of it
  table.AddRow(cap);
  table.AddRow(
      CostRow("charged, all", record.charged(), reply.charged_epsilons()));
  table.AddRow(CostRow("charged, own",
                       reply.has_own_charged_here() ? reply.own_charged_here()
                                                    : reply.own_charged(),
                       reply.own_epsilons()));
  table.AddRow({"reserved", FormatUp(record.reserved().value())});
  table.AddRow({"left", FormatDown(record.left().value())});
  AddOwnLimitRow(record, &table);
  return table.Render(kIndent);
}

// Table of a population's partitions of people: each has the whole cap.
std::string PartitionsText(const v1::LedgerPosition& position) {
  if (position.partitions().empty()) return "";
  Table table({{"PARTITION"},
               {"CHARGED MU^2", Align::kRight},
               {"RESERVED", Align::kRight},
               {"LEFT", Align::kRight}});
  for (const v1::PartitionPosition& partition : position.partitions()) {
    table.AddRow({partition.name(), FormatUp(partition.charged().value()),
                  FormatUp(partition.reserved().value()),
                  FormatDown(partition.left().value())});
  }
  return absl::StrCat("partitions of the people; each has the whole cap\n",
                      table.Render(kIndent), "\n");
}

std::string RdpCurveText(const v1::GetBudgetReply& reply) {
  if (reply.rdp_curve().empty()) return "";
  Table table({{"ORDER", Align::kRight}, {"EPSILON", Align::kRight}});
  for (const v1::RdpPoint& point : reply.rdp_curve())
    table.AddRow({FormatNumber(point.order()), FormatUp(point.epsilon())});
  return absl::StrCat("Renyi divergence of what is charged\n",
                      table.Render(kIndent));
}

std::string ReasonText(const v1::PlanRunReply& reply) {
  if (reply.reason().empty()) return "";
  return absl::StrCat(
      "why ", reply.specification().parameters().mechanism(), "\n  ",
      absl::StrReplaceAll(reply.reason(), {{". ", ".\n  "}}), "\n\n");
}

std::string ForecastText(const v1::PlanRunReply& reply) {
  if (!reply.has_forecast()) return "";
  // A sentence a line.
  return absl::StrCat(
      "forecast, from public numbers alone\n  ",
      absl::StrReplaceAll(reply.forecast().sentence(), {{". ", ".\n  "}}),
      "\n\n");
}

std::string LearningText(const v1::LearningEstimate& learning) {
  if (learning.memory_bytes() == 0) return "";
  constexpr double kMebibyte = 1 << 20;
  const double seconds = learning.seconds();
  const std::string time =
      seconds < 1      ? "less than a second"
      : seconds < 120  ? absl::StrFormat("about %.0f s", seconds)
      : seconds < 7200 ? absl::StrFormat("about %.0f min", seconds / 60)
                       : absl::StrFormat("about %.0f h", seconds / 3600);
  return absl::StrFormat(
      "learning at the analyst takes up to %.0f MiB of memory and %s of an "
      "idle processor (estimates)\n\n",
      std::ceil(static_cast<double>(learning.memory_bytes()) / kMebibyte),
      time);
}

std::string ColumnsText(const v1::Dataset& dataset) {
  if (dataset.has_ratings()) {
    return absl::StrCat(
        "ratings ", FormatNumber(kRatingUnit * dataset.ratings().low_units()),
        " to ", FormatNumber(kRatingUnit * dataset.ratings().high_units()));
  }
  return absl::StrCat(
      NameOf(dataset.normalisation()),
      dataset.weighted_features() ? ", weighted" : "",
      dataset.sparse() ? ", sparse" : "", dataset.has_sums() ? ", sums" : "",
      dataset.has_classes()
          ? absl::StrCat(", ", dataset.classes().names_size(), " classes")
          : "");
}

}  // namespace

std::string DatasetsText(const v1::ListDatasetsReply& reply) {
  if (reply.datasets().empty())
    return "The curator offers no data set to this analyst.\n";
  Table table({{"NAME"},
               {"POPULATION"},
               {"D", Align::kRight},
               {"N", Align::kRight},
               {"COLUMNS"},
               {"BOUND", Align::kRight},
               {"MAX RANK", Align::kRight},
               {"GUARANTEE (OF THE CAP)"}});
  for (const v1::Dataset& dataset : reply.datasets()) {
    table.AddRow(
        {dataset.name(),
         dataset.partition().empty()
             ? dataset.population()
             : absl::StrCat(dataset.population(), "/", dataset.partition()),
         absl::StrCat(dataset.features()), absl::StrCat(dataset.users()),
         absl::StrCat(ColumnsText(dataset),
                      dataset.is_public() ? ", public" : ""),
         FormatNumber(dataset.column_bound()), absl::StrCat(dataset.max_rank()),
         GuaranteeText(dataset.guarantee())});
  }
  return table.Render();
}

std::string PlanText(const v1::PlanRunReply& reply, bool details) {
  Lines lines;
  AddSpecificationLines(reply.specification(), &lines);
  const v1::Guarantee& guarantee = reply.guarantee();
  lines.push_back(
      {"cost of this run, at most",
       absl::StrCat("epsilon ",
                    FormatUp(EnforcedEpsilon(reply.plan().epsilons(),
                                             guarantee.conversion())),
                    " at delta ", FormatUp(reply.plan().epsilons().delta()))});
  AddMoneyLines(reply.position(), guarantee, &lines);
  const std::string verdict =
      reply.would_be_refused()
          ? absl::StrCat("This run would be refused: ", reply.refusal(), " [",
                         reply.refusal_code(), "]\n")
          : absl::StrCat(FitsText(reply),
                         "This run would be accepted. Nothing was spent by "
                         "asking.\n");
  return absl::StrCat(
      ForecastText(reply), KeyValueText(lines), "\n",
      details ? absl::StrCat(PriceText(reply.plan(), guarantee.conversion()),
                             "\n", PlanBudgetText(reply), "\n",
                             NoiseText(reply.plan()), "\n")
              : "",
      ReasonText(reply), LearningText(reply.learning()), verdict);
}

namespace {

// Origin of a run that was fitted here; `otherwise` for other runs.
std::string OriginText(const v1::Run& run, const std::string& otherwise) {
  if (run.joined_size() > 0)
    return absl::StrCat("sum of ", run.joined_size(), " runs");
  if (!run.parent().empty())
    return absl::StrCat("refit of ", ShortRunId(run.parent()));
  return run.added() ? "added release" : otherwise;
}

}  // namespace

std::string RunsText(const v1::ListRunsReply& reply) {
  if (reply.runs().empty()) return "No run has been started yet.\n";
  const bool any_void =
      std::any_of(reply.runs().begin(), reply.runs().end(),
                  [](const v1::Run& run) { return run.has_void_since(); });
  Table table({{"RUN"},
               {"STATE"},
               {"DATA SET"},
               {"RANK", Align::kRight},
               {"ROUNDS", Align::kRight},
               {"MECHANISM"},
               {"EPSILON SPENT", Align::kRight},
               {"OF", Align::kRight},
               {"STARTED"},
               {any_void ? "GUARANTEE" : ""}});
  for (const v1::Run& run : reply.runs()) {
    const v1::RunParameters& parameters = run.specification().parameters();
    table.AddRow(
        {ShortRunId(run.run_id()), NameOf(run.state()), parameters.dataset(),
         absl::StrCat(parameters.rank()),
         absl::StrCat(run.rounds_done(), "/", parameters.rounds()),
         OriginText(run, parameters.mechanism()),
         FormatUp(EnforcedEpsilon(run.spent(), parameters.conversion())),
         FormatUp(parameters.epsilon()),
         FormatMoment(run.created_unix_seconds()),
         run.has_void_since() ? VoidText(run.void_since()) : ""});
  }
  return table.Render();
}

std::string RunText(const v1::Run& run) {
  const v1::RunParameters& parameters = run.specification().parameters();
  Lines lines = {{"run", run.run_id()}, {"state", NameOf(run.state())}};
  if (!run.error().empty())
    lines.push_back(
        {"error", absl::StrCat(run.error(), " [", run.error_code(), "]")});
  const std::string origin = OriginText(run, "");
  if (!origin.empty())
    lines.push_back({"origin", absl::StrCat(origin, "; nothing is charged")});
  for (const v1::JoinedRun& joined : run.joined()) {
    lines.push_back(
        {"parent", absl::StrCat(ShortRunId(joined.run_id()), " on ",
                                joined.dataset(), " of population ",
                                joined.population(), ", N ", joined.users())});
  }
  lines.push_back({"rounds done", absl::StrCat(run.rounds_done())});
  if (run.has_explained()) {
    lines.push_back(
        {"explains", absl::StrFormat("%.0f %% of people's squared length, "
                                     "estimated from the release",
                                     100 * run.explained())});
  }
  AddSpecificationLines(run.specification(), &lines);
  lines.push_back(
      {"asked for", absl::StrCat("epsilon ", FormatUp(parameters.epsilon()),
                                 " at delta ", FormatUp(parameters.delta()),
                                 " (", NameOf(parameters.conversion()), ", ",
                                 NameOf(parameters.adjacency()), ")")});
  if (run.has_void_since())
    lines.push_back({"guarantee of the cap", VoidText(run.void_since())});
  lines.push_back({"started", FormatMoment(run.created_unix_seconds())});
  lines.push_back({"last change", FormatMoment(run.updated_unix_seconds())});
  lines.push_back({"started by", run.started_by()});
  Table costs = CostTable(run.spent());
  costs.AddRow(CostRow("spent so far", run.charged(), run.spent()));
  if (origin.empty()) {
    costs.AddRow(
        CostRow("cost, at most", run.plan().cost(), run.plan().epsilons()));
  }
  return absl::StrCat(KeyValueText(lines), "\n", costs.Render(), "\n",
                      NoiseText(run.plan()));
}

std::string RunEndText(const v1::Run& run, const std::string& guarantee,
                       const v1::LedgerPosition& position) {
  const v1::RunParameters& parameters = run.specification().parameters();
  const std::string id = ShortRunId(run.run_id());
  Lines lines = {{"spent by this run",
                  absl::StrCat("epsilon ",
                               FormatUp(EnforcedEpsilon(
                                   run.spent(), parameters.conversion())),
                               " at delta ", FormatUp(run.spent().delta()),
                               " (", NameOf(parameters.conversion()), ")")}};
  if (!guarantee.empty()) {
    lines.push_back({"guarantee of the cap", guarantee});
  } else if (position.has_void_since()) {
    lines.push_back({"guarantee of the cap", VoidText(position.void_since())});
  }
  if (!position.head().empty()) {
    lines.push_back(
        {"largest run",
         absl::StrCat("epsilon ",
                      LargestRunText(position, parameters.conversion(),
                                     parameters.delta()),
                      " at delta ", FormatUp(parameters.delta()))});
  }
  const Mechanism* const mechanism = Mechanisms().Find(parameters.mechanism());
  const bool has_dictionary =
      mechanism == nullptr || mechanism->learns_dictionary;
  if (run.rounds_done() > 0 &&
      MechanismHas(parameters.mechanism(), &Mechanism::draws_people)) {
    lines.push_back({"its people", absl::StrCat("dpnmf synthesise ", id,
                                                " --count 1000 --output "
                                                "people.csv")});
  }
  if (run.rounds_done() > 0 && has_dictionary) {
    const bool items = mechanism != nullptr && mechanism->for_ratings;
    lines.push_back({items ? "its items" : "its dictionary",
                     absl::StrCat("dpnmf model ", id, " --output ",
                                  items ? "items.npz" : "W.npy")});
  }
  return absl::StrCat("run ", id, " ", NameOf(run.state()), " after ",
                      run.rounds_done(), " of ", parameters.rounds(),
                      " rounds\n", KeyValueText(lines, kIndent));
}

// Table of what a federation's curators have left; their own ledgers decide.
static std::string MembersText(const v1::GetBudgetReply& reply) {
  if (reply.members().empty()) return "";
  Table table({{"CURATOR"},
               {"POPULATION"},
               {"GUARANTEE (OF THE CAP)"},
               {"CHARGED MU^2", Align::kRight},
               {"RESERVED", Align::kRight},
               {"LEFT", Align::kRight}});
  for (const v1::MemberBudget& member : reply.members()) {
    const v1::LedgerPosition& position = member.position();
    table.AddRow({member.curator(), position.population(),
                  GuaranteeText(member.guarantee()),
                  FormatUp(position.charged().value()),
                  FormatUp(position.reserved().value()),
                  FormatDown(position.left().value())});
  }
  return absl::StrCat("budgets of the federation's curators\n",
                      table.Render(kIndent), "\n");
}

std::string BudgetText(const v1::GetBudgetReply& reply, bool details) {
  const v1::Guarantee& guarantee = reply.guarantee();
  Lines lines = {{"population", reply.record().population()}};
  if (!reply.record().partition().empty())
    lines.push_back({"partition", reply.record().partition()});
  AddMoneyLines(reply.record(), guarantee, &lines);
  const std::string curve = RdpCurveText(reply);
  return absl::StrCat(
      KeyValueText(lines), "\n",
      details ? absl::StrCat(BudgetCostsText(reply), "\n") : "",
      PartitionsText(reply.record()), MembersText(reply),
      details ? RecordsText(reply) : "", AgreementText(reply),
      details && !curve.empty() ? absl::StrCat("\n", curve) : "");
}

std::string AccountText(const v1::AccountReport& report) {
  const v1::Epsilons& epsilon = report.epsilon();
  const auto at_order = [](double value, double order) {
    return absl::StrCat(FormatExactUp(value), "  (best order ",
                        FormatNumber(order), ")");
  };
  return KeyValueText(
      {{"releases", absl::StrCat(report.releases())},
       {"noise_multiplier", absl::StrCat(report.noise_multiplier())},
       {"delta", absl::StrCat(epsilon.delta())},
       {"mu", absl::StrFormat("%.12g", report.mu())},
       {"rho", absl::StrFormat("%.12g", report.rho())},
       {"epsilon.rdp", at_order(epsilon.rdp(), epsilon.rdp_order())},
       {"epsilon.rdp_optimal",
        at_order(epsilon.rdp_optimal(), epsilon.rdp_optimal_order())},
       {"epsilon.gaussian", FormatExactUp(epsilon.gaussian())}});
}

}  // namespace dpnmf::cli
