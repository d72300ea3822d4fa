#include "tests/fuzz/hostile_request.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "tests/curator/factor/contribution_checks.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::fuzz {
namespace {

using curator::Coefficients;
using curator::Dataset;
using curator::DatasetDescription;
using curator::ReleaseKind;
using curator::RoundSums;
using curator::SquaredDistance;
using curator::SquaredSensitivity;
using curator::UserContribution;

constexpr std::uint32_t kMostFeatures = 9, kMostRank = 4;

// ------------------------------------------------------- bytes to a request

// The largest double whose square is below J. Where its rounded square is J all
// the same, a vector of squared length J passes for one of length c in doubles
// and does not in integers.
double BoundBelowRootOf(double j) {
  double c = std::sqrt(j);
  while (std::fma(c, c, -j) >= 0) c = std::nextafter(c, 0);
  return c;
}

double ColumnBoundOf(FuzzInput* bytes) {
  const std::uint8_t choice = bytes->Byte();
  if (choice < 96) return 1;
  if (choice < 192) {
    return std::ldexp(BoundBelowRootOf(1 + choice % 16), choice / 16 - 9);
  }
  constexpr double kBounds[] = {1 - 0x1p-53, 0.7, 1e6, 1e-6, 2e-3, 1 + 0x1p-52};
  return kBounds[choice % std::size(kBounds)];
}

// Entries of V: what import lets pass, or (`wild`) any float.
float EntryOf(FuzzInput* bytes, bool wild) {
  const double value = bytes->Double();
  if (wild) return static_cast<float>(value);
  return value >= 0 && value < 1e30 ? static_cast<float>(value) + 0.0f : 1.0f;
}

// A column of V, in units of the bound.
Eigen::VectorXf ColumnOf(FuzzInput* bytes, Eigen::Index features, double bound,
                         bool wild) {
  Eigen::VectorXf column = Eigen::VectorXf::Zero(features);
  const std::uint8_t recipe = bytes->Byte();
  const auto row = [&] {
    return bytes->Below(static_cast<std::uint32_t>(features));
  };
  switch (recipe % 7) {
    case 0:
      break;
    case 1:
      column(row()) = EntryOf(bytes, wild);
      break;
    case 2:  // at the bound, or just at it
      column(row()) = static_cast<float>(bound);
      break;
    case 3: {  // 0 to 3, times a power of two
      std::uint32_t digits = bytes->Byte();
      digits |= std::uint32_t{bytes->Byte()} << 8;
      digits |= std::uint32_t{bytes->Byte()} << 16;
      const float unit = std::ldexp(1.0f, bytes->Byte() / 16 - 9);
      for (Eigen::Index i = 0; i < features; ++i)
        column(i) = unit * static_cast<float>(digits >> 2 * i & 3);
      break;
    }
    case 4:  // longer than the bound
      for (float& entry : column)
        entry = static_cast<float>(bytes->Byte() * bound / 64);
      break;
    default:
      for (float& entry : column) entry = EntryOf(bytes, wild);
  }
  return column;
}

double ScaleOf(FuzzInput* bytes) {
  constexpr double kScales[] = {1,     1,      1,      0.5,    2,   1 - 0x1p-53,
                                1e-20, 1e-155, 1e-300, 5e-324, 0.1, 1.5};
  return kScales[bytes->Byte() % std::size(kScales)];
}

Eigen::VectorXd ColumnOfW(FuzzInput* bytes, const HostileRequest& request,
                          const Eigen::MatrixXd& before) {
  const auto features = static_cast<Eigen::Index>(request.description.features);
  Eigen::VectorXd column = Eigen::VectorXd::Zero(features);
  const auto row = [&] {
    return bytes->Below(static_cast<std::uint32_t>(features));
  };
  switch (bytes->Byte() % 9) {
    case 0:
      break;
    case 1:
    case 2:
      column(row()) = ScaleOf(bytes);
      break;
    case 3:
      if (before.cols() > 0) column = before.col(0);
      break;
    case 4:  // what singles out the one who is replaced
      column = request.replacement.cast<double>();
      break;
    case 5:
      column.setConstant(ScaleOf(bytes));
      break;
    case 6:  // nearly the column before
      if (before.cols() > 0) column = before.col(before.cols() - 1);
      column(row()) = ScaleOf(bytes);
      break;
    case 7:
      for (double& entry : column) entry = bytes->Byte() / 128.0;
      break;
    default:
      column.setConstant(0.5);
      column(row()) = bytes->Double();
  }
  return column;
}

Eigen::MatrixXd DictionaryOf(FuzzInput* bytes, const HostileRequest& request) {
  Eigen::MatrixXd w(request.description.features, 0);
  for (std::uint32_t k = 0; k < request.parameters.rank; ++k) {
    const Eigen::VectorXd column = ColumnOfW(bytes, request, w);
    w.conservativeResize(Eigen::NoChange, w.cols() + 1);
    w.rightCols(1) = column;
  }
  switch (bytes->Byte()) {
    case 1:
      return w.transpose();
    case 2:
      return Eigen::MatrixXd::Ones(w.rows() + 1, w.cols());
    case 3:
      return Eigen::MatrixXd::Ones(w.rows(), w.cols() + 1);
    case 4:
      return Eigen::MatrixXd(0, w.cols());
    default:
      return w;
  }
}

std::vector<std::uint32_t> RowsOf(FuzzInput* bytes, std::uint32_t features) {
  std::vector<std::uint32_t> rows;
  switch (bytes->Byte() % 4) {
    case 0:  // some, ascending
      for (std::uint32_t row = 0; row < features; ++row)
        if (bytes->Bit()) rows.push_back(row);
      break;
    case 1:  // any
      for (std::uint32_t left = bytes->Below(12); left > 0; --left)
        rows.push_back(bytes->Below(features + 1));
      break;
    case 2:  // ascending, with one that stands twice
      for (std::uint32_t row = bytes->Below(features); row < features; ++row)
        rows.push_back(row);
      rows.insert(rows.begin(), rows[0]);
      break;
    default:
      rows.resize(bytes->Below(3));
      for (std::uint32_t& row : rows) row = bytes->Word();
  }
  return rows;
}

// One parameter takes a value that may be outside its range.
void Spoil(FuzzInput* bytes, RunParameters* parameters) {
  double* const reals[] = {
      &parameters->lambda,       &parameters->outlier_bound,
      &parameters->epsilon,      &parameters->delta,
      &parameters->share_of_a,   &parameters->share_of_moments,
      &parameters->share_of_mean};
  const std::uint32_t choice = bytes->Below(12);
  if (choice < std::size(reals)) {
    *reals[choice] = bytes->Double();
    return;
  }
  std::uint32_t* const wholes[] = {&parameters->inner_iterations,
                                   &parameters->rounds,
                                   &parameters->moment_rows, &parameters->rank};
  if (choice - std::size(reals) < std::size(wholes)) {
    *wholes[choice - std::size(reals)] = bytes->Below(40);
    return;
  }
  parameters->mechanism = std::string(bytes->Bytes(bytes->Below(12)));
}

void SetParameters(FuzzInput* bytes, HostileRequest* request) {
  constexpr const char* kMechanisms[] = {"statistics", "gradient", "moments",
                                         "objective"};
  constexpr double kLambdas[] = {0, 0.02, 1e-300, 1, 1e6};
  constexpr double kOutlierBounds[] = {0.3, 1e-300, 1e6, 1, 1e-20};
  constexpr std::uint32_t kIterations[] = {1, 2, 3, 10, 40};
  RunParameters& run = request->parameters;
  const auto features =
      static_cast<std::uint32_t>(request->description.features);
  run.mechanism = kMechanisms[bytes->Below(4)];
  run.epsilon = 1;
  run.delta = 1e-5;
  const auto users = static_cast<std::uint32_t>(request->description.users);
  run.rank = 1 + bytes->Below(std::min({kMostRank, features, users}));
  run.outliers = bytes->Bit();
  run.lambda = kLambdas[bytes->Below(5)];
  run.outlier_bound = kOutlierBounds[bytes->Below(5)];
  run.inner_iterations = kIterations[bytes->Below(5)];
  run.rounds = run.mechanism == "objective" ? 1 : 4;
  if (run.mechanism == "moments") run.moment_rows = 1 + bytes->Below(features);
  run.adjacency = request->description.adjacency;
  if (bytes->Byte() >= 192) Spoil(bytes, &run);
  request->round = 1 + bytes->Below(std::clamp(run.rounds, 1u, 4u));
}

void SetData(FuzzInput* bytes, HostileRequest* request) {
  DatasetDescription& description = request->description;
  const std::uint8_t flags = bytes->Byte();
  request->sparse = (flags & 1) != 0;
  const bool wild = (flags & 14) == 14;
  const bool many = (flags & 48) == 48;
  if ((flags & 64) != 0) description.adjacency = Adjacency::kAddRemoveOne;
  description.features = 1 + bytes->Below(kMostFeatures);
  const Eigen::Index users = many ? 17 + bytes->Below(24) : 1 + bytes->Below(6);
  description.users = static_cast<std::uint64_t>(users);
  description.column_bound = ColumnBoundOf(bytes);
  description.normalisation = curator::Normalisation::kNone;
  const auto features = static_cast<Eigen::Index>(description.features);
  const auto column = [&] {
    return ColumnOf(bytes, features, description.column_bound, wild);
  };
  request->replacement = column();
  request->replaced = bytes->Below(static_cast<std::uint32_t>(users));
  // Users after the first six are copies of the first six.
  request->v.resize(features, users);
  for (Eigen::Index user = 0; user < users; ++user)
    request->v.col(user) = user < 6 ? column() : request->v.col(user % 6);
}

// --------------------------------------------------------- what must hold

bool IsFiniteInRange(const Eigen::MatrixXd& w) {
  return std::all_of(w.data(), w.data() + w.size(), [](double entry) {
    return entry >= 0 && entry <= kLargestDictionaryEntry;
  });
}

// The contract, read plainly: which inputs a round of this kind takes.
bool IsAcceptable(std::string_view release, const HostileRequest& request,
                  const RoundInput& input) {
  const std::uint64_t features = request.description.features;
  const bool is_moments = release == "moments";
  if (release == "mean" || is_moments) {
    if (input.w.size() != 0) return false;
    const std::uint32_t most = request.parameters.moment_rows;
    if (!is_moments || most == features) return input.rows.empty();
    std::vector<std::uint32_t> sorted = input.rows;
    std::sort(sorted.begin(), sorted.end());
    const bool is_set =
        std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    return is_set && sorted == input.rows && !sorted.empty() &&
           sorted.size() <= most && sorted.back() < features;
  }
  return input.rows.empty() &&
         static_cast<std::uint64_t>(input.w.rows()) == features &&
         input.w.cols() == request.parameters.rank && IsFiniteInRange(input.w);
}

// One data set that the rounds are asked of.
class Asked {
 public:
  Asked(const HostileRequest& request, const RoundMaker& maker,
        const RunPlan& plan, const Eigen::MatrixXf& v, bool sparse)
      : request_(request),
        maker_(maker),
        plan_(plan),
        data_(sparse ? curator::SparseOf(v, Description(v))
                     : curator::DenseOf(v, Description(v))) {}

  // The status of check and sums, as the session would send it; the sums if OK.
  absl::StatusOr<RoundSums> Ask(const RoundInput& input,
                                curator::Execution execution) {
    const ReleaseKind& release =
        maker_.release(plan_.StageOf(request_.round).release);
    DPNMF_RETURN_IF_ERROR(release.check(input, request_.parameters,
                                        FactsOf(data_->description())));
    return release.sums(input, {*data_, request_.parameters, plan_,
                                std::move(execution), &coefficients_});
  }

  // k and l of every user; H goes on in a copy of its own.
  std::vector<UserContribution> Contributions(const RoundInput& input) {
    if (contributed_ == nullptr) {
      contributed_ = std::make_unique<Coefficients>(
          request_.parameters.rank, data_->private_user_count());
    }
    const curator::RoundContext context{
        *data_, request_.parameters, plan_, {}, &contributed_};
    return ContributionsForTesting(*data_, StatisticsRequestOf(input, context),
                                   {}, contributed_.get())
        .value();
  }

  // Coefficients of the rounds so far; null if the kind has none.
  const Coefficients* coefficients() const { return coefficients_.get(); }

 private:
  // A neighbour's public facts are the same; a user alone is a data set of one.
  DatasetDescription Description(const Eigen::MatrixXf& v) const {
    DatasetDescription description = request_.description;
    if (description.adjacency == Adjacency::kReplaceOne)
      description.users = static_cast<std::uint64_t>(v.cols());
    return description;
  }

  const HostileRequest& request_;
  const RoundMaker& maker_;
  const RunPlan& plan_;
  std::unique_ptr<Dataset> data_;
  std::unique_ptr<Coefficients> coefficients_, contributed_;
};

// The statistics of one user alone as the vectors that they are made of: each
// product's diagonal tells the squares.
std::optional<std::string> ProblemOfShare(const RunPlan& plan,
                                          const PartPlan& part,
                                          std::span<const std::int64_t> share) {
  const auto limit =
      static_cast<Uint128>(part.left_norm_steps) * part.right_norm_steps;
  Uint128 trace = 0, squares = 0;
  std::size_t at = 0;
  const std::uint64_t m = LargestEntrySteps(plan.data_bound, plan.data_bits);
  for (std::uint64_t column = 0; column < part.columns; ++column) {
    const std::uint64_t rows = part.symmetric ? column + 1 : part.rows;
    for (std::uint64_t row = 0; row < rows; ++row, ++at) {
      if (share[at] < 0) return "a user adds a negative number";
      const Uint128 square = curator::Square(share[at]);
      if (square > curator::Square(static_cast<std::int64_t>(m * m)))
        return "a user adds more than m^2";
      squares += square * (part.symmetric && row < column ? 2 : 1);
      if (row == column) trace += static_cast<std::uint64_t>(share[at]);
    }
  }
  // |kk'| = |k|^2 = tr kk'; |lk'| = |l||k|; |l|^2 itself for a mean.
  if (squares > limit) return "a user's share is longer than its bound";
  if (part.symmetric && trace > part.left_norm_steps)
    return "the squares of a user's integers exceed floor(c^2 4^q)";
  return std::nullopt;
}

class Checker {
 public:
  Checker(const HostileRequest& request, const RoundMaker& maker)
      : request_(request), maker_(maker) {}

  std::optional<std::string> Check() {
    const auto facts = FactsOf(
        curator::DenseOf(request_.v, request_.description)->description());
    const absl::StatusOr<RunPlan> plan = PlanRun(request_.parameters, facts);
    if (!plan.ok()) {
      Count("parameters refused");
      return Refused(plan.status());
    }
    plan_ = *plan;
    release_ = plan_.StageOf(request_.round).release;
    MakeDatasets();
    for (const RoundInput& input : request_.inputs) {
      if (auto problem = CheckRound(input)) {
        return absl::StrCat(release_, ": ", *problem);
      }
    }
    return std::nullopt;
  }

 private:
  static std::optional<std::string> Refused(const absl::Status& refusal) {
    const std::string problem = ProblemOf(refusal);
    if (!problem.empty()) return problem;
    if (refusal.code() == absl::StatusCode::kInvalidArgument)
      return std::nullopt;
    return absl::StrCat("not the analyst's fault: ", refusal.ToString());
  }

  Asked Of(const Eigen::MatrixXf& v) const {
    return Asked(request_, maker_, plan_, v, request_.sparse);
  }

  void MakeDatasets() {
    const Eigen::MatrixXf& v = request_.v;
    asked_.push_back(Of(v));
    asked_.push_back(Of(v));
    asked_.push_back(Asked(request_, maker_, plan_, v, !request_.sparse));
    Eigen::MatrixXf neighbour = v;
    neighbour.col(request_.replaced) = request_.replacement;
    asked_.push_back(Of(neighbour));
    if (request_.parameters.adjacency == Adjacency::kAddRemoveOne &&
        v.cols() > 1) {
      Eigen::MatrixXf fewer(v.rows(), v.cols() - 1);
      fewer << v.leftCols(request_.replaced),
          v.rightCols(v.cols() - request_.replaced - 1);
      asked_.push_back(Of(fewer));
    }
    for (Eigen::Index user = 0; user < v.cols(); ++user)
      alone_.push_back(Of(v.col(user)));
  }

  std::optional<std::string> CheckRound(const RoundInput& input) {
    std::vector<absl::StatusOr<RoundSums>> answers;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      // The second of V and of each kind: more threads, smallest blocks.
      curator::Execution execution;
      if (i == kThreaded) execution = {2, 16, {}};
      answers.push_back(asked_[i].Ask(input, execution));
    }
    if (auto problem = CheckVerdicts(input, answers)) return problem;
    if (!answers[0].ok()) return std::nullopt;
    parts_ = PartsFor(input);
    Count(absl::StrCat("accepted ", release_));
    if (auto problem = CheckSums(answers)) return problem;
    if (auto problem = CheckShares(input, *answers[0])) return problem;
    if (auto problem = CheckContributions(input, *answers[0])) return problem;
    if (auto problem = CheckCoefficients()) return problem;
    return CheckPublished(input, *answers[0]);
  }

  // Parts as the session draws them: fewer rows may be asked for than planned.
  std::vector<PartPlan> PartsFor(const RoundInput& input) const {
    std::vector<PartPlan> parts = plan_.StageOf(request_.round).parts;
    if (release_ == "moments" && !input.rows.empty())
      parts[0].rows = parts[0].columns = input.rows.size();
    return parts;
  }

  // (a)
  std::optional<std::string> CheckVerdicts(
      const RoundInput& input,
      const std::vector<absl::StatusOr<RoundSums>>& answers) const {
    for (const auto& answer : answers) {
      if (answer.status() == answers[0].status()) continue;
      return absl::StrCat(
          "the verdict depends on the data: ", answers[0].status().ToString(),
          " and ", answer.status().ToString());
    }
    const bool expected = IsAcceptable(release_, request_, input);
    if (answers[0].ok() && !expected) return "accepted against the contract";
    if (answers[0].ok()) return std::nullopt;
    if (expected) {
      return absl::StrCat("refused against the contract: ",
                          answers[0].status().ToString());
    }
    Count(absl::StrCat("refused ", ReasonCode(answers[0].status())));
    return Refused(answers[0].status());
  }

  // The number that dense and sparse data agree about.
  static bool IsSound(const Eigen::MatrixXf& v) {
    return std::all_of(v.data(), v.data() + v.size(), [](float entry) {
      return entry >= 0 && std::isfinite(entry) && !std::signbit(entry);
    });
  }

  // (c): threads, storage, neighbours.
  std::optional<std::string> CheckSums(
      const std::vector<absl::StatusOr<RoundSums>>& answers) const {
    const auto& parts = parts_;
    const auto& sums = answers[0]->parts;
    if (sums.size() != parts.size()) return "not the parts of the plan";
    if (answers[kThreaded]->parts != sums)
      return "the sums depend on threads or blocks";
    if (IsSound(request_.v) && answers[kOtherStorage]->parts != sums)
      return "the sums depend on how V is held";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& neighbours = answers[kNeighbour]->parts[i];
      const Uint128 replace_one =
          SquaredSensitivity(parts[i], Adjacency::kReplaceOne);
      if (SquaredDistance(parts[i], sums[i], neighbours) > replace_one)
        return "neighbours are further apart than the sensitivity";
      if (answers.size() <= kFewer) continue;
      if (SquaredDistance(parts[i], sums[i], answers[kFewer]->parts[i]) >
          SquaredSensitivity(parts[i], Adjacency::kAddRemoveOne)) {
        return "one user more moves the sums by more than the sensitivity";
      }
    }
    return std::nullopt;
  }

  // (b) and (c): every user alone.
  std::optional<std::string> CheckShares(const RoundInput& input,
                                         const RoundSums& sums) {
    const auto& parts = parts_;
    RoundSums total = sums;
    for (auto& part : total.parts) std::fill(part.begin(), part.end(), 0);
    for (Asked& user : alone_) {
      const absl::StatusOr<RoundSums> share = user.Ask(input, {});
      if (!share.ok()) return "one user alone is refused";
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (auto problem = ProblemOfShare(plan_, parts[i], share->parts[i]))
          return problem;
        for (std::size_t j = 0; j < share->parts[i].size(); ++j)
          total.parts[i][j] += share->parts[i][j];
      }
    }
    if (total.parts != sums.parts)
      return "the sums are not those of the single users";
    return std::nullopt;
  }

  // The vectors behind the products, and that nobody else's move.
  std::optional<std::string> CheckContributions(const RoundInput& input,
                                                const RoundSums& sums) {
    if (!maker_.contributions_known ||
        (release_ != "statistics" && release_ != "gradient"))
      return std::nullopt;
    const auto users = asked_[0].Contributions(input);
    const auto others = asked_[kNeighbour].Contributions(input);
    RoundSums total = sums;
    for (auto& part : total.parts) std::fill(part.begin(), part.end(), 0);
    for (std::size_t n = 0; n < users.size(); ++n) {
      const UserContribution& user = users[n];
      if (!curator::WithinGate(user.k, plan_.coefficient_bound,
                               plan_.coefficient_bits) ||
          !curator::WithinGate(user.l, plan_.data_bound, plan_.data_bits)) {
        return "a user's integers exceed the gate's bounds";
      }
      const bool is_replaced = n == static_cast<std::size_t>(request_.replaced);
      if (!is_replaced && (user.k != others[n].k || user.l != others[n].l))
        return "one user's share depends on another's record";
      AddProducts(user, &total);
    }
    if (total.parts != sums.parts) return "the sums are not those of k and l";
    return std::nullopt;
  }

  static void AddProducts(const UserContribution& user, RoundSums* total) {
    std::size_t at = 0;
    for (std::size_t column = 0; column < user.k.size(); ++column)
      for (std::size_t row = 0; row <= column; ++row)
        total->parts[0][at++] += user.k[row] * user.k[column];
    at = 0;
    for (const std::int64_t k : user.k)
      for (const std::int64_t l : user.l) total->parts[1][at++] += l * k;
  }

  // (d): H goes on to the next round.
  std::optional<std::string> CheckCoefficients() const {
    for (const Asked& asked : asked_) {
      const Coefficients* const h = asked.coefficients();
      if (h == nullptr) continue;
      for (std::uint64_t n = 0; n < h->users(); ++n) {
        const double* const of = h->Of(n);
        const bool good = std::all_of(of, of + h->rank(), [](double x) {
          return x >= 0 && std::isfinite(x);
        });
        if (!good) return "H is negative or not finite";
      }
    }
    return std::nullopt;
  }

  // (d): as if the noise were zero.
  std::optional<std::string> CheckPublished(const RoundInput& input,
                                            const RoundSums& sums) const {
    const auto& parts = parts_;
    std::vector<NoisedMatrix> noised;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      NoisedMatrix part;
      part.name = parts[i].name;
      part.rows = parts[i].rows;
      part.columns = parts[i].columns;
      part.symmetric = parts[i].symmetric;
      part.step_exponent = parts[i].step_exponent;
      part.lattice = sums.parts[i];
      noised.push_back(std::move(part));
    }
    for (const NoisedMatrix& part :
         maker_.release(release_).publish(input)(std::move(noised))) {
      if (!ToMean(part, 1).ok()) return "what is published is not finite";
    }
    return std::nullopt;
  }

  static constexpr std::size_t kThreaded = 1, kOtherStorage = 2, kNeighbour = 3,
                               kFewer = 4;
  const HostileRequest& request_;
  const RoundMaker& maker_;
  RunPlan plan_;
  std::string release_ = "statistics";
  std::vector<PartPlan> parts_;  // of the round that is looked at
  // V; V with threads; V held otherwise; the neighbour; one user fewer.
  std::vector<Asked> asked_;
  std::vector<Asked> alone_;
};

}  // namespace

HostileRequest RequestOf(FuzzInput* bytes) {
  HostileRequest request;
  SetData(bytes, &request);
  SetParameters(bytes, &request);
  const bool takes_rows = request.parameters.mechanism == "moments" &&
                          request.round <= 2 && bytes->Byte() != 0;
  for (int left = 1 + bytes->Byte() / 128; left > 0; --left) {
    RoundInput input;
    if (takes_rows) {
      input.rows = RowsOf(
          bytes, static_cast<std::uint32_t>(request.description.features));
    }
    if (!takes_rows || bytes->Byte() == 1)
      input.w = DictionaryOf(bytes, request);
    request.inputs.push_back(std::move(input));
  }
  return request;
}

std::optional<std::string> WhatIsWrong(const HostileRequest& request,
                                       const RoundMaker& maker) {
  return Checker(request, maker).Check();
}

namespace {

// Users that are (x, y, z, 0, ...) and c the largest double with c^2 below
// x^2 + y^2 + z^2: too long by less than doubles tell where that is 11 or 14.
// W (the axes) makes h of it as well.
struct Corner {
  int x, y, z;
  int SquaredLength() const { return x * x + y * y + z * z; }
};

std::string JustTooLong(char mechanism, char round, const Corner& corner,
                        bool sparse) {
  std::string seed;
  const auto add = [&](std::initializer_list<int> bytes) {
    for (const int byte : bytes) seed.push_back(static_cast<char>(byte));
  };
  const std::initializer_list<int> column = {
      3, corner.x | corner.y << 2 | corner.z << 4, 0, 0, 144};
  // 9 features, 4 users, c.
  add({sparse ? 1 : 0, 8, 3, 143 + corner.SquaredLength()});
  add({0, 0});  // the first becomes zero
  for (int user = 0; user < 4; ++user) add(column);
  add({mechanism, 3, 0, 0, 0, 3});  // rank 4, no outliers, 10 sweeps
  if (mechanism == 2) add({7});     // moments of 8 rows
  add({0, round - 1});
  const bool takes_rows = mechanism == 2 && round <= 2;
  if (takes_rows) add({1});
  add({128});  // two inputs
  for (int input = 0; input < 2; ++input) {
    if (takes_rows) {
      if (round == 1) {
        add({3, 0, 0});
      } else {
        add({0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0});
      }
      continue;
    }
    for (int k = 0; k < 4; ++k) add({1, k, 0});  // axis k
    add({0});
  }
  return seed;
}

}  // namespace

std::vector<std::string> HostileSeeds() {
  std::vector<std::string> seeds;
  for (const Corner& corner :
       {Corner{1, 1, 3}, Corner{1, 2, 3}, Corner{3, 2, 1}, Corner{1, 1, 0}}) {
    for (const bool sparse : {false, true}) {
      for (const char mechanism : {0, 1, 3})
        seeds.push_back(JustTooLong(mechanism, 1, corner, sparse));
      for (const char round : {1, 2, 3})
        seeds.push_back(JustTooLong(2, round, corner, sparse));
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 64; ++i) {
    std::string seed(40 + random() % 200, '\0');
    for (char& byte : seed) byte = static_cast<char>(random());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace dpnmf::fuzz
