#include "curator/ledger/ledger_row.h"

#include <array>
#include <charconv>
#include <span>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/enum_names.h"
#include "common/base/view.h"

namespace dpnmf::curator {
namespace {

constexpr auto kRowKindNames = EnumNamesOf<RowKind>({
    {RowKind::kGenesis, "genesis"},
    {RowKind::kPopulation, "population"},
    {RowKind::kOpen, "open"},
    {RowKind::kCharge, "charge"},
    {RowKind::kClose, "close"},
    {RowKind::kVoid, "void"},
    {RowKind::kOverlap, "overlap"},
    {RowKind::kPartition, "partition"},
    {RowKind::kDataset, "dataset"},
});

std::string ShortestText(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end.ptr);
}

// The value of "KEY=value"; nothing if the key is another.
std::optional<std::string_view> ValueOf(std::string_view key,
                                        std::string_view pair) {
  if (pair.size() <= key.size() || pair.substr(0, key.size()) != key ||
      pair[key.size()] != '=') {
    return std::nullopt;
  }
  return pair.substr(key.size() + 1);
}

std::optional<double> NumberOf(std::optional<std::string_view> text) {
  double value = 0;
  if (!text.has_value()) return std::nullopt;
  const auto end =
      std::from_chars(text->data(), text->data() + text->size(), value);
  if (end.ec != std::errc() || end.ptr != text->data() + text->size())
    return std::nullopt;
  return value;
}

}  // namespace

std::string_view NameOf(RowKind kind) { return NameIn(kRowKindNames, kind); }
std::optional<RowKind> RowKindOfName(std::string_view name) {
  return EnumOfName(kRowKindNames, name);
}

Digest HashOf(const LedgerRow& row) {
  Sha256 hash;
  hash.AddString("dpnmf ledger row 1")
      .AddBytes(std::as_bytes(std::span(row.previous_hash)))
      .AddInteger(row.sequence)
      .AddString(NameOf(row.kind))
      .AddInteger(static_cast<std::uint64_t>(row.unix_seconds))
      .AddString(row.population)
      .AddString(row.identity)
      .AddString(row.run_id)
      .AddInteger(row.round)
      .AddString(row.mechanism)
      .AddString(row.dataset)
      .AddBytes(std::as_bytes(std::span(row.request_hash)))
      .AddString(row.cost.UnitsText())
      .AddString(row.detail);
  return hash.Finish();
}

std::string PolicyText(const PopulationPolicy& policy) {
  return absl::StrCat("adjacency=", View(NameOf(policy.adjacency)),
                      " conversion=", View(NameOf(policy.conversion)),
                      " epsilon=", ShortestText(policy.epsilon),
                      " delta=", ShortestText(policy.delta),
                      policy.partitions.any() ? " partitioned " : "",
                      PartitionsText(policy.partitions));
}

std::optional<PopulationPolicy> ParsePolicy(const std::string& population,
                                            std::string_view text) {
  PeoplePartitions partitions;
  constexpr std::string_view kPartitioned = " partitioned ";
  std::string_view promise = text;
  if (const std::size_t at = text.find(kPartitioned);
      at != std::string_view::npos) {
    const auto parsed = ParsePartitions(text.substr(at + kPartitioned.size()));
    if (!parsed.has_value()) return std::nullopt;
    partitions = *parsed;
    promise = text.substr(0, at);
  }
  const std::vector<std::string> parts = absl::StrSplit(View(promise), ' ');
  if (parts.size() != 4) return std::nullopt;
  const auto adjacency =
      AdjacencyOfName(ValueOf("adjacency", parts[0]).value_or(""));
  const auto conversion =
      ConversionOfName(ValueOf("conversion", parts[1]).value_or(""));
  const auto epsilon = NumberOf(ValueOf("epsilon", parts[2]));
  const auto delta = NumberOf(ValueOf("delta", parts[3]));
  if (!adjacency || !conversion || !epsilon || !delta) return std::nullopt;
  const PopulationPolicy policy{population, *adjacency, *conversion,
                                *epsilon,   *delta,     partitions};
  if (PolicyText(policy) != text) return std::nullopt;
  return policy;
}

}  // namespace dpnmf::curator
