#include "curator/gate/release_gate.h"

#include <span>

#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/crypto/sha256.h"
#include "curator/noise/noise.h"

namespace dpnmf::curator {
namespace {

// Room for what a release holds besides its entries.
constexpr std::uint64_t kBytesBesideEntries = 4096;

absl::Status SumsMalformed() {
  return Refusal(absl::StatusCode::kInternal, "sums-malformed",
                 "The sums do not match the run's plan; this is a fault of the "
                 "curator, and nothing was charged.");
}

std::uint64_t EntriesOf(const PartPlan& part) {
  return EntryCount(part.rows, part.columns, part.symmetric);
}

// Checks that each part has as many entries as the plan says.
absl::Status MatchSums(const std::vector<PartPlan>& parts,
                       const RoundSums& sums) {
  if (parts.empty() || parts.size() != sums.parts.size())
    return SumsMalformed();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool square =
        !parts[i].symmetric || parts[i].rows == parts[i].columns;
    if (!square || sums.parts[i].size() != EntriesOf(parts[i]))
      return SumsMalformed();
  }
  return absl::OkStatus();
}

std::uint64_t BytesNeeded(const std::vector<PartPlan>& parts) {
  std::uint64_t bytes = kBytesBesideEntries;
  for (const PartPlan& part : parts)
    bytes += sizeof(std::int64_t) * EntriesOf(part);
  return bytes;
}

// Entry (i, j), i <= j, of an upper triangle by columns stands at j(j+1)/2 + i,
// the diagonal's at j(j+3)/2: column j is its j entries above the diagonal,
// then the diagonal's.
std::vector<std::int64_t> Interleave(
    const std::vector<std::int64_t>& diagonal,
    const std::vector<std::int64_t>& off_diagonal) {
  std::vector<std::int64_t> triangle;
  triangle.reserve(diagonal.size() + off_diagonal.size());
  auto next = off_diagonal.begin();
  for (std::size_t j = 0; j < diagonal.size(); ++j) {
    const auto end = next + static_cast<std::ptrdiff_t>(j);
    triangle.insert(triangle.end(), next, end);
    triangle.push_back(diagonal[j]);
    next = end;
  }
  return triangle;
}

// Every draw has its own stream of the key, so that none repeats: one for a
// part, two for a symmetric part (the diagonal, and the entries above it).
std::vector<std::vector<std::int64_t>> DrawGaussian(
    const std::vector<PartPlan>& parts, int threads) {
  const NoiseKey key = NoiseKey::Fresh();
  std::uint32_t stream = 0;
  const auto draw = [&](std::uint64_t stddev_steps, std::uint64_t count) {
    std::vector<std::int64_t> noise(count);
    FillGaussian(key, stream++, stddev_steps, 1, threads, noise);
    return noise;
  };
  std::vector<std::vector<std::int64_t>> noise;
  for (const PartPlan& part : parts) {
    if (!part.symmetric) {
      noise.push_back(draw(part.stddev_steps, EntriesOf(part)));
      continue;
    }
    const auto diagonal = draw(part.diagonal_stddev_steps, part.rows);
    const auto off_diagonal =
        draw(part.stddev_steps, EntriesOf(part) - part.rows);
    noise.push_back(Interleave(diagonal, off_diagonal));
  }
  return noise;
}

// sum + noise. The plan keeps |sum| and 64 sigma below 2^62, so that an
// overflow means a broken plan; the sentence says nothing of the numbers.
absl::StatusOr<NoisedMatrix> Noised(const PartPlan& part,
                                    std::span<const std::int64_t> sums,
                                    std::span<const std::int64_t> noise) {
  NoisedMatrix matrix;
  matrix.name = part.name;
  matrix.rows = part.rows;
  matrix.columns = part.columns;
  matrix.symmetric = part.symmetric;
  matrix.is_lattice = true;
  matrix.step_exponent = part.step_exponent;
  matrix.lattice.resize(sums.size());
  bool overflow = noise.size() != sums.size();
  for (std::size_t i = 0; i < sums.size() && !overflow; ++i) {
    overflow = __builtin_add_overflow(sums[i], noise[i], &matrix.lattice[i]);
  }
  if (!overflow) return matrix;
  return Refusal(absl::StatusCode::kInternal, "noise-malformed",
                 "The noise does not match the run's plan; this is a fault of "
                 "the curator, and the round stays charged.");
}

// A file name that no other turn has.
std::string NameOf(const std::pair<std::string, std::uint32_t>& turn) {
  return HexOf(Sha256().AddString(turn.first).AddInteger(turn.second).Finish());
}

Charge ChargeOf(const RoundRequest& request, MuSquared cost) {
  return {request.identity, request.run_id, request.round, request.request_hash,
          cost};
}

}  // namespace

class ReleaseGate::TurnHolder {
 public:
  TurnHolder(ReleaseGate* gate, Turn turn)
      : gate_(gate), turn_(std::move(turn)) {
    gate_->BeginTurn(turn_);
  }
  ~TurnHolder() { gate_->EndTurn(turn_); }
  const Turn& turn() const { return turn_; }
  TurnHolder(const TurnHolder&) = delete;
  TurnHolder& operator=(const TurnHolder&) = delete;

 private:
  ReleaseGate* const gate_;
  const Turn turn_;
};

void ReleaseGate::BeginTurn(const Turn& turn) {
  MutexLock lock(&mutex_);
  while (turns_.contains(turn)) turn_ended_.wait(mutex_);
  turns_.insert(turn);
}

void ReleaseGate::EndTurn(const Turn& turn) {
  MutexLock lock(&mutex_);
  turns_.erase(turn);
  turn_ended_.notify_all();
}

ReleaseGate::ReleaseGate(Ledger* ledger, ReleaseStore store, int threads,
                         DrawNoise draw_noise)
    : ledger_(ledger),
      store_(std::move(store)),
      threads_(threads),
      draw_noise_(std::move(draw_noise)) {}

absl::StatusOr<std::unique_ptr<ReleaseGate>> ReleaseGate::Create(
    Ledger* ledger, const std::string& store_directory, int threads) {
  return CreateWith(ledger, store_directory, threads, DrawGaussian);
}

absl::StatusOr<std::unique_ptr<ReleaseGate>> ReleaseGate::CreateWith(
    Ledger* ledger, const std::string& store_directory, int threads,
    DrawNoise draw_noise) {
  DPNMF_ASSIGN_OR_RETURN(ReleaseStore store,
                         ReleaseStore::Open(store_directory));
  return std::unique_ptr<ReleaseGate>(new ReleaseGate(
      ledger, std::move(store), threads, std::move(draw_noise)));
}

absl::StatusOr<std::optional<Released<ReleasedRound>>> ReleaseGate::Find(
    const RoundRequest& request) {
  const TurnHolder turn(this, {request.run_id, request.round});
  DPNMF_ASSIGN_OR_RETURN(const std::optional<ChargedRow> row,
                         ledger_->FindCharge(ChargeOf(request, MuSquared())));
  if (!row.has_value()) return std::nullopt;
  DPNMF_ASSIGN_OR_RETURN(Released<ReleasedRound> stored,
                         Stored(request.round, *row));
  return stored;
}

absl::StatusOr<std::optional<RequestedRound>> ReleaseGate::Find(
    const std::string& identity, const std::string& run_id,
    std::uint32_t round) {
  const TurnHolder turn(this, {run_id, round});
  DPNMF_ASSIGN_OR_RETURN(const std::optional<RequestedCharge> made,
                         ledger_->FindCharge(identity, run_id, round));
  if (!made.has_value()) return std::nullopt;
  DPNMF_ASSIGN_OR_RETURN(Released<ReleasedRound> stored,
                         Stored(round, made->row));
  return RequestedRound{made->request_hash, std::move(stored)};
}

Released<ReleasedRound> ReleaseGate::WithoutBytes(
    const Released<ReleasedRound>& released) {
  ReleasedRound lost = released.value();
  lost.parts.clear();
  lost.lost = true;
  return Released<ReleasedRound>(std::move(lost));
}

absl::StatusOr<Released<ReleasedRound>> ReleaseGate::Release(
    const RoundRequest& request, const RoundSums& sums,
    const PostProcess& post_process) {
  DPNMF_RETURN_IF_ERROR(MatchSums(request.parts, sums));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<PartPlan> priced,
                         PricedParts(request.parts, request.shares));
  DPNMF_ASSIGN_OR_RETURN(const MuSquared cost,
                         CostOfDrawing(priced, request.adjacency));
  const TurnHolder turn(this, {request.run_id, request.round});
  const Charge charge = ChargeOf(request, cost);
  DPNMF_ASSIGN_OR_RETURN(const std::optional<ChargedRow> made,
                         ledger_->FindCharge(charge));
  if (made.has_value()) return Stored(request.round, *made);
  DPNMF_ASSIGN_OR_RETURN(
      ReservedRelease reserved,
      store_.Reserve(NameOf(turn.turn()), BytesNeeded(request.parts)));
  DPNMF_ASSIGN_OR_RETURN(const ChargedRow row, ledger_->ChargeRound(charge));
  // Only the call that has appended the row draws noise for it. If the row was
  // there before, the answer is what is stored for it.
  if (!row.is_new) return Stored(request.round, row);
  DPNMF_FAILPOINT("after-charge");
  return DrawAndStore(request, sums, post_process, row, std::move(reserved));
}

absl::StatusOr<Released<ReleasedRound>> ReleaseGate::DrawAndStore(
    const RoundRequest& request, const RoundSums& sums,
    const PostProcess& post_process, const ChargedRow& row,
    ReservedRelease reserved) const {
  const auto noise = draw_noise_(request.parts, threads_);
  DPNMF_FAILPOINT("after-draw");
  std::vector<NoisedMatrix> noised;
  for (std::size_t i = 0; i < request.parts.size(); ++i) {
    DPNMF_ASSIGN_OR_RETURN(NoisedMatrix part,
                           Noised(request.parts[i], sums.parts[i], noise[i]));
    noised.push_back(std::move(part));
  }
  StoredRelease release;
  release.row_hash = row.hash;
  release.round = request.round;
  release.cost = row.cost;
  release.parts = post_process(std::move(noised));
  DPNMF_RETURN_IF_ERROR(store_.Write(std::move(reserved), release));
  DPNMF_FAILPOINT("after-store");
  return Stored(request.round, row);
}

absl::StatusOr<Released<ReleasedRound>> ReleaseGate::Stored(
    std::uint32_t round, const ChargedRow& row) const {
  ReleasedRound released;
  released.round = round;
  released.cost = row.cost;
  released.row = row.sequence;
  released.row_hash = row.hash;
  absl::StatusOr<StoredRelease> stored = store_.Read(row.hash);
  if (absl::IsUnavailable(stored.status())) return stored.status();
  if (stored.ok() && stored->round == round && stored->cost == row.cost) {
    released.parts = std::move(stored->parts);
  } else {
    released.lost = true;
  }
  return Released<ReleasedRound>(std::move(released));
}

}  // namespace dpnmf::curator
