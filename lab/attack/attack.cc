#include "lab/attack/attack.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "lab/attack/known_pairs.h"
#include "lab/attack/nearest.h"
#include "lab/attack/reconstruction.h"
#include "lab/attack/sampling.h"
#include "lab/tables/draws.h"

namespace dpnmf::curator::lab {
namespace {

using Json = nlohmann::ordered_json;

// --- who is attacked

// In standard deviations of each column.
constexpr double kValueError = 0.25;
// Groups of people, each attacked with pairs of its own.
constexpr std::int64_t kPairGroups = 5;
// The search for own rows reads few columns of most rows.
constexpr double kComparisons = 4e10, kOwnComparisons = 2e11;
constexpr double kDrawWork = 1e8;  // known values are drawn again below it
constexpr std::int64_t kFewestPeople = 200;
constexpr std::int64_t kPredicates = 500;

std::int64_t PeopleWithin(double comparisons, const Table& table,
                          std::int64_t people) {
  const double affordable =
      comparisons /
      std::max<double>(1, static_cast<double>(table.values.size()));
  if (affordable >= static_cast<double>(people)) return people;
  return std::min(
      people, std::max(kFewestPeople, static_cast<std::int64_t>(affordable)));
}

absl::Status Mismatch(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "attack-mismatch",
                 sentence);
}

absl::Status CheckTables(const Table& original, const Table& published,
                         const Table* outsiders) {
  if (original.values.rows() != published.values.rows())
    return Mismatch(absl::StrFormat(
        "The original has %d people and the published table %d; row i of both "
        "must be the same person.",
        original.people(), published.people()));
  if (original.values.cols() != published.values.cols() ||
      (outsiders != nullptr &&
       outsiders->values.cols() != original.values.cols()))
    return Mismatch(absl::StrFormat(
        "The original has %d columns and %s %d; all tables must have the same "
        "columns.",
        original.values.cols(),
        original.values.cols() != published.values.cols()
            ? "the published table"
            : "that of outsiders",
        original.values.cols() != published.values.cols()
            ? published.values.cols()
            : outsiders->values.cols()));
  if (original.people() < 2 || original.values.cols() < 1)
    return Mismatch("An attack needs at least two people and one column.");
  if (!original.values.allFinite() || !published.values.allFinite() ||
      (outsiders != nullptr && !outsiders->values.allFinite()))
    return Mismatch("All numbers of the tables must be finite.");
  return absl::OkStatus();
}

// One run over one pair of tables.
class AttackScore {
 public:
  AttackScore(const Table& original, const Table& published,
              const AttackOptions& options)
      : original_(original),
        published_(published),
        options_(options),
        draws_(options.seed),
        kinds_(KindsOfRows(original.values)),
        reading_(ReadingOf(original.values, published.values)) {
    targets_ = kinds_.once.empty() ? AllOf(original.people()) : kinds_.once;
    Sample(PeopleWithin(kOwnComparisons, original, options.people), &targets_);
    pairs_ = DrawPairs();
  }

  absl::StatusOr<AttackReport> Run() {
    DescribePeople();
    DPNMF_RETURN_IF_ERROR(LinkByValues());
    DPNMF_RETURN_IF_ERROR(LinkByPairs());
    DPNMF_RETURN_IF_ERROR(FindMembers());
    DPNMF_RETURN_IF_ERROR(InferAttributes());
    DPNMF_RETURN_IF_ERROR(Begin("reconstruction"));
    report_.others["reconstruction"] =
        Reconstruct(original_.values, published_.values, reading_, pairs_);
    DPNMF_RETURN_IF_ERROR(Begin("singling out"));
    report_.others["singling_out"] =
        SingleOut(original_.values, published_.values, reading_,
                  PeopleWithin(kComparisons, original_, kPredicates), &draws_);
    for (const Linkage& linkage : report_.linkage)
      report_.largest_linkage =
          std::max(report_.largest_linkage, linkage.linked.high);
    return std::move(report_);
  }

 private:
  void Sample(std::int64_t count, std::vector<int>* from) {
    draws_.Sample(static_cast<std::size_t>(count), from);
  }

  Eigen::Index columns() const { return original_.values.cols(); }

  SearchRun RunOf(std::string_view attack) const {
    SearchRun run = {.threads = options_.threads, .stop = options_.stop};
    if (options_.progress)
      run.progress = [this, attack = std::string(attack)](double share) {
        options_.progress(attack, share);
      };
    return run;
  }

  absl::Status Begin(std::string_view attack) const {
    if (options_.stop && options_.stop())
      return Refusal(absl::StatusCode::kCancelled, "cancelled",
                     "The attack was interrupted.");
    if (options_.progress) options_.progress(attack, 0);
    return absl::OkStatus();
  }

  std::vector<int> DrawPairs() {
    const std::int64_t count =
        std::min<std::int64_t>(options_.known_pairs, original_.people() / 3);
    if (count < 3) return {};
    std::vector<int> pairs = AllOf(original_.people());
    Sample(count, &pairs);
    return pairs;
  }

  // D x targets.
  static Eigen::MatrixXd ValuesOf(const Table& table,
                                  const std::vector<int>& people) {
    return SelectRows(table.values, people).transpose();
  }

  void DescribePeople() {
    report_.others["people"] = {
        {"people", original_.people()},
        {"columns", columns()},
        {"distinct_rows", kinds_.distinct},
        {"rows_that_occur_once", kinds_.once.size()},
        {"attacked", targets_.size()},
        {"drawn_from", kinds_.once.empty()
                           ? static_cast<std::size_t>(original_.people())
                           : kinds_.once.size()},
        {"attacked_are",
         kinds_.once.empty() ? "all people" : "people whose row occurs once"}};
  }

  Share Chance() const {
    const double value = 1 / static_cast<double>(original_.people());
    return {.value = value,
            .low = value,
            .high = value,
            .of = static_cast<std::int64_t>(targets_.size())};
  }

  // How many values are known: all of 1 to 32, then every fourth root of 2.
  std::vector<int> Counts() const {
    std::vector<int> counts;
    const int most = static_cast<int>(columns());
    for (int k = 1; k < most; k = k < 32 ? k + 1 : k + (k + 4) / 5)
      counts.push_back(k);
    counts.push_back(most);
    return counts;
  }

  // Columns of one unit, however large their numbers. A constant tells nothing.
  Eigen::VectorXd ScaledWeights() const {
    return reading_.stddevs.unaryExpr(
        [](double stddev) { return stddev > 0 ? 1 / (stddev * stddev) : 0; });
  }

  // Which values are known is drawn for each person; in small tables several
  // times, and the shares are means over these draws.
  std::vector<Eigen::MatrixXi> DrawOrders() {
    const double work = static_cast<double>(original_.values.size()) *
                        static_cast<double>(targets_.size());
    const int draws = static_cast<int>(std::clamp(kDrawWork / work, 1.0, 10.0));
    std::vector<Eigen::MatrixXi> orders(static_cast<std::size_t>(draws));
    for (Eigen::MatrixXi& orders_of_people : orders) {
      orders_of_people.resize(columns(),
                              static_cast<Eigen::Index>(targets_.size()));
      for (Eigen::Index t = 0; t < orders_of_people.cols(); ++t) {
        std::vector<int> order = AllOf(columns());
        Sample(columns(), &order);
        for (Eigen::Index j = 0; j < columns(); ++j)
          orders_of_people(j, t) = order[static_cast<std::size_t>(j)];
      }
    }
    return orders;
  }

  absl::Status LinkByValues() {
    const std::vector<Eigen::MatrixXi> orders = DrawOrders();
    Search search = {.known = ValuesOf(original_, targets_),
                     .weights = Eigen::VectorXd::Ones(columns()),
                     .counts = Counts()};
    DPNMF_RETURN_IF_ERROR(AddLinkage(&search, orders, "", 0));
    report_.linked_all_known = report_.linkage.back().linked;
    for (const Linkage& linkage : report_.linkage)
      if (linkage.known == 4) report_.linked_4_known = linkage.linked;
    search.weights = ScaledWeights();
    DPNMF_RETURN_IF_ERROR(
        AddLinkage(&search, orders, ", each on its column's scale", 0));
    for (Eigen::Index t = 0; t < search.known.cols(); ++t)
      for (Eigen::Index c = 0; c < columns(); ++c)
        search.known(c, t) +=
            kValueError * reading_.stddevs[c] * (2 * draws_.Uniform() - 1);
    return AddLinkage(&search, orders, " within an error", kValueError);
  }

  absl::Status AddLinkage(Search* search,
                          const std::vector<Eigen::MatrixXi>& orders,
                          std::string_view how, double error) {
    const std::string attack =
        absl::StrCat("linkage by values", std::string(how));
    Eigen::VectorXd found =
        Eigen::VectorXd::Zero(static_cast<Eigen::Index>(search->counts.size()));
    for (const Eigen::MatrixXi& order : orders) {
      search->order = order;
      DPNMF_ASSIGN_OR_RETURN(
          const Eigen::MatrixXd shares,
          FindOwnRows(published_.values, *search, targets_, RunOf(attack)));
      found += shares.rowwise().sum() / static_cast<double>(orders.size());
    }
    for (std::size_t k = 0; k < search->counts.size(); ++k) {
      const int known = search->counts[k];
      report_.linkage.push_back(
          {.knows = absl::StrCat(known, known == 1 ? " value" : " values",
                                 std::string(how)),
           .known = known,
           .error = error,
           .linked =
               ShareOfExpected(found[static_cast<Eigen::Index>(k)],
                               static_cast<std::int64_t>(targets_.size())),
           .chance = Chance()});
    }
    return absl::OkStatus();
  }

  // The attacker learns from pairs how a row is published, and looks for the
  // row nearest to what a person's would be, in units of what the pairs leave
  // unexplained.
  absl::Status LinkByPairs() {
    if (pairs_.empty()) return absl::OkStatus();
    Search search = {.counts = {static_cast<int>(columns())}};
    double found = 0;
    std::int64_t of = 0;
    for (std::int64_t group = 0; group < kPairGroups; ++group) {
      const std::vector<int> pairs = group == 0 ? pairs_ : DrawPairs();
      std::vector<int> targets;
      for (std::size_t t = static_cast<std::size_t>(group); t < targets_.size();
           t += static_cast<std::size_t>(kPairGroups))
        if (std::find(pairs.begin(), pairs.end(), targets_[t]) == pairs.end())
          targets.push_back(targets_[t]);
      if (targets.empty()) continue;
      const AffineMap map =
          FitPairs(original_.values, published_.values, pairs);
      const Eigen::Index people = static_cast<Eigen::Index>(targets.size());
      search.known = map(SelectRows(original_.values, targets)).transpose();
      search.order = Eigen::VectorXi::LinSpaced(columns(), 0,
                                                static_cast<int>(columns()) - 1)
                         .replicate(1, people);
      // A column that the pairs explain to the last bit must not drown the
      // others in its rounding.
      const double least = 1e-6 * map.residual_variances.mean() + 1e-12;
      search.weights =
          map.residual_variances.array().max(least).inverse().matrix();
      DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd shares,
                             FindOwnRows(published_.values, search, targets,
                                         RunOf("linkage after known pairs")));
      found += shares.sum();
      of += people;
    }
    if (of == 0) return absl::OkStatus();
    report_.linkage.push_back({.knows = absl::StrCat(pairs_.size(), " pairs"),
                               .known = static_cast<int>(columns()),
                               .linked = ShareOfExpected(found, of),
                               .chance = Chance()});
    return absl::OkStatus();
  }

  // --- membership

  struct Scores {
    std::vector<double> members, outsiders;  // the higher, the nearer
    bool enough() const { return members.size() > 1 && outsiders.size() > 1; }
  };

  absl::StatusOr<std::vector<double>> ScoresOf(const Eigen::MatrixXd& rows,
                                               std::vector<int> people,
                                               const Table& published) {
    Sample(PeopleWithin(kComparisons, published, options_.people), &people);
    DPNMF_ASSIGN_OR_RETURN(
        const Eigen::VectorXd distances,
        NearestDistances(published.values, SelectRows(rows, people).transpose(),
                         RunOf("membership")));
    std::vector<double> scores;
    for (const double distance : distances)
      scores.push_back(-std::sqrt(distance));
    return scores;
  }

  // A table made of half of the people; the others are outsiders.
  absl::StatusOr<Scores> ScoresOfHalf() {
    std::vector<int> half = AllOf(original_.people());
    Sample(original_.people() / 2, &half);
    std::sort(half.begin(), half.end());
    DPNMF_ASSIGN_OR_RETURN(const Table published, options_.publish(half));
    if (published.values.cols() != columns() || published.people() < 1 ||
        !published.values.allFinite())
      return Mismatch(
          "The table published of half of the people must have finite numbers "
          "in the same columns.");
    const std::vector<int> once =
        kinds_.once.empty() ? AllOf(original_.people()) : kinds_.once;
    std::vector<int> members, outsiders;
    for (const int person : once)
      (std::binary_search(half.begin(), half.end(), person) ? members
                                                            : outsiders)
          .push_back(person);
    Scores scores;
    DPNMF_ASSIGN_OR_RETURN(
        scores.members,
        ScoresOf(original_.values, std::move(members), published));
    DPNMF_ASSIGN_OR_RETURN(
        scores.outsiders,
        ScoresOf(original_.values, std::move(outsiders), published));
    return scores;
  }

  // Members are the people of the original. An outsider whose row is also a
  // member's, and a member whose row is also an outsider's, are left out.
  absl::StatusOr<Scores> ScoresOfOutsiders() {
    const Eigen::MatrixXd& others = options_.outsiders->values;
    const Eigen::Index people = original_.people();
    Eigen::MatrixXd both(people + others.rows(), columns());
    both.topRows(people) = original_.values;
    both.bottomRows(others.rows()) = others;
    std::vector<int> once = KindsOfRows(both).once;
    if (once.empty()) once = AllOf(both.rows());
    const auto first_outsider =
        std::lower_bound(once.begin(), once.end(), static_cast<int>(people));
    Scores scores;
    DPNMF_ASSIGN_OR_RETURN(
        scores.members,
        ScoresOf(both, std::vector<int>(once.begin(), first_outsider),
                 published_));
    DPNMF_ASSIGN_OR_RETURN(
        scores.outsiders,
        ScoresOf(both, std::vector<int>(first_outsider, once.end()),
                 published_));
    return scores;
  }

  // Over several halves: the mean of the figures and of their intervals' ends,
  // which are those of one half.
  absl::Status FindMembers() {
    const bool by_halves = options_.outsiders == nullptr;
    if (by_halves && options_.publish == nullptr) return absl::OkStatus();
    const int halves = by_halves && original_.people() <= 20000 ? 4 : 1;
    Share area, found;
    area.high = found.high = 0;
    for (int half = 0; half < halves; ++half) {
      absl::StatusOr<Scores> scores =
          by_halves ? ScoresOfHalf() : ScoresOfOutsiders();
      DPNMF_RETURN_IF_ERROR(scores.status());
      if (!scores->enough()) return absl::OkStatus();
      const auto add = [halves](const Share& one, Share* all) {
        all->value += one.value / halves;
        all->low += one.low / halves;
        all->high += one.high / halves;
        all->of = one.of;
      };
      add(AreaUnderCurve(scores->members, scores->outsiders), &area);
      add(FoundAtOnePercent(scores->members, scores->outsiders), &found);
    }
    report_.membership_auc = area;
    report_.membership_at_1_percent = found;
    return absl::OkStatus();
  }

  // --- attributes

  // One value of each person is unknown, each column in turn.
  absl::Status InferAttributes() {
    std::vector<int> people = targets_;
    Sample(PeopleWithin(kComparisons / 4, original_, options_.people), &people);
    const Eigen::MatrixXd known = ValuesOf(original_, people);
    const auto is_hit = [&](double value, int column, int target) {
      return reading_.IsRight(
          reading_.Read(value - reading_.shifts[column], column),
          known(column, target), column);
    };
    DPNMF_ASSIGN_OR_RETURN(
        const OthersHits hits,
        HitsByTheOthers(published_.values, known, people, is_hit,
                        RunOf("attribute inference")));
    const auto share = [&](const Eigen::MatrixXd& of) {
      return ToJson(ShareOfExpected(of.sum() / static_cast<double>(columns()),
                                    static_cast<std::int64_t>(people.size())));
    };
    Json by_column = Json::array();
    for (Eigen::Index c = 0; c < columns(); ++c)
      by_column.push_back(
          {{"column", original_.columns.empty()
                          ? absl::StrCat(c + 1)
                          : original_.columns[static_cast<std::size_t>(c)]},
           {"with_table", hits.with_own.row(c).mean()},
           {"without_own_row", hits.without_own.row(c).mean()}});
    report_.others["attributes"] = {
        {"known", columns() - 1},
        {"with_table", share(hits.with_own)},
        {"without_own_row", share(hits.without_own)},
        {"columns", std::move(by_column)}};
    return absl::OkStatus();
  }

  const Table& original_;
  const Table& published_;
  const AttackOptions& options_;
  Draws draws_;
  const RowKinds kinds_;
  const Reading reading_;
  std::vector<int> targets_, pairs_;
  AttackReport report_;
};

}  // namespace

absl::StatusOr<AttackReport> Attack(const Table& original,
                                    const Table& published,
                                    const AttackOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckTables(original, published, options.outsiders));
  return AttackScore(original, published, options).Run();
}

}  // namespace dpnmf::curator::lab
