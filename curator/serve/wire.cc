#include "curator/serve/wire.h"

#include "common/base/error.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"

namespace dpnmf::curator {
namespace {

using ::dpnmf::ToProto;

void SetBytes(const Digest& digest, std::string* bytes) {
  bytes->assign(digest.begin(), digest.end());
}

// ReleaseEnd and RoundLost carry the same facts.
template <typename Message>
void SetOutcome(const ReleasedRound& round, const v1::LedgerPosition& position,
                const std::optional<v1::Receipt>& receipt, Message* message) {
  message->set_round(round.round);
  *message->mutable_charged() = ToProto(round.cost);
  SetBytes(round.row_hash, message->mutable_row_hash());
  *message->mutable_ledger() = position;
  if (receipt.has_value()) *message->mutable_receipt() = *receipt;
}

}  // namespace

v1::LedgerPosition ToProto(const std::string& population,
                           const Position& position) {
  v1::LedgerPosition message;
  message.set_population(population);
  *message.mutable_cap() = ToProto(position.cap);
  *message.mutable_charged() = ToProto(position.charged);
  *message.mutable_reserved() = ToProto(position.reserved);
  *message.mutable_left() = ToProto(position.left);
  message.set_row_count(position.row_count);
  SetBytes(position.head, message.mutable_head());
  if (position.void_since.has_value())
    message.set_void_since(*position.void_since);
  message.set_partition(position.partition);
  for (const PartitionPosition& one : position.partitions) {
    v1::PartitionPosition& partition = *message.add_partitions();
    partition.set_name(one.name);
    *partition.mutable_charged() = ToProto(one.charged);
    *partition.mutable_reserved() = ToProto(one.reserved);
    *partition.mutable_left() = ToProto(one.left);
  }
  return message;
}

v1::OwnLimit ToProto(MuSquared identity_cap, const IdentityPosition& own) {
  v1::OwnLimit message;
  *message.mutable_cap() = ToProto(identity_cap);
  *message.mutable_charged() = ToProto(own.charged);
  *message.mutable_reserved() = ToProto(own.reserved);
  return message;
}

absl::StatusOr<v1::Guarantee> GuaranteeOf(const PopulationPolicy& policy,
                                          const Position& position) {
  v1::Guarantee guarantee;
  guarantee.set_adjacency(ToProto(policy.adjacency));
  guarantee.set_conversion(ToProto(policy.conversion));
  guarantee.set_epsilon(policy.epsilon);
  guarantee.set_delta(policy.delta);
  *guarantee.mutable_cap() = ToProto(position.cap);
  if (position.void_since.has_value())
    guarantee.set_void_since(*position.void_since);
  return guarantee;
}

absl::StatusOr<v1::Dataset> DescriptionOf(const Dataset& dataset,
                                          const PopulationPolicy& policy,
                                          const Position& position) {
  const DatasetDescription& description = dataset.description();
  const DatasetFacts facts = FactsOf(description);
  v1::Dataset message;
  message.set_name(description.name);
  message.set_population(description.population);
  message.set_partition(description.partition);
  message.set_features(facts.features);
  message.set_users(facts.users);
  message.set_normalisation(description.normalisation == Normalisation::kL2
                                ? v1::NORMALISATION_L2
                                : v1::NORMALISATION_NONE);
  message.set_column_bound(description.column_bound);
  DPNMF_ASSIGN_OR_RETURN(*message.mutable_guarantee(),
                         GuaranteeOf(policy, position));
  message.set_is_public(description.is_public);
  message.set_sparse(description.sparse);
  message.set_max_rank(facts.max_rank);
  message.set_max_rounds(facts.max_rounds);
  if (facts.ratings.has_value()) {
    v1::RatingScale& scale = *message.mutable_ratings();
    scale.set_low_units(facts.ratings->low_units);
    scale.set_high_units(facts.ratings->high_units);
    scale.set_item_features(facts.ratings->item_features);
  }
  message.set_named_features(description.named_features);
  message.set_weighted_features(description.weighted_features);
  if (facts.classes.has_value()) {
    v1::Classes& classes = *message.mutable_classes();
    for (const std::string& name : facts.classes->names)
      classes.add_names(name);
    for (const std::uint64_t size : facts.classes->sizes)
      classes.add_sizes(size);
  }
  if (facts.range.has_value()) {
    message.mutable_range()->set_low(facts.range->low);
    message.mutable_range()->set_high(facts.range->high);
    message.mutable_range()->set_integers(facts.range->integers);
  }
  if (description.sums.has_value())
    *message.mutable_sums() = ToProto(*description.sums);
  return message;
}

v1::LedgerCharge ChargeOf(const LedgerRow& row) {
  v1::LedgerCharge charge;
  charge.set_sequence(row.sequence);
  charge.set_run_id(row.run_id);
  charge.set_round(row.round);
  charge.set_mechanism(row.mechanism);
  *charge.mutable_charged() = ToProto(row.cost);
  SetBytes(row.hash, charge.mutable_row_hash());
  charge.set_unix_seconds(row.unix_seconds);
  return charge;
}

bool WriteRelease(const Released<ReleasedRound>& released,
                  const v1::LedgerPosition& position,
                  const std::optional<v1::Receipt>& receipt,
                  const std::function<bool(const v1::TrainReply&)>& write) {
  const ReleasedRound& round = released.value();
  v1::TrainReply reply;
  if (round.lost) {
    SetOutcome(round, position, receipt, reply.mutable_lost());
    return write(reply);
  }
  reply.mutable_release()->set_round(round.round);
  for (const NoisedMatrix& part : round.parts) {
    *reply.mutable_release()->add_parts() = HeaderOf(part);
  }
  if (!write(reply)) return false;
  for (const NoisedMatrix& part : round.parts) {
    const bool written = WritePart(
        part,
        [&](const v1::LatticeChunk& chunk) {
          *reply.mutable_lattice() = chunk;
          return write(reply);
        },
        [&](const v1::RealChunk& chunk) {
          *reply.mutable_real() = chunk;
          return write(reply);
        });
    if (!written) return false;
  }
  SetOutcome(round, position, receipt, reply.mutable_end());
  return write(reply);
}

}  // namespace dpnmf::curator
