// An attack's report as JSON and in words.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lab/attack/attack.h"

namespace dpnmf::curator::lab {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::optional<Share>& share) {
  return share.has_value() ? ToJson(*share) : Json(nullptr);
}

std::string Percent(double share) {
  return absl::StrFormat("%.1f %%", 100 * share);
}

std::string WithInterval(const Share& share) {
  return absl::StrCat(Percent(share.value), " (", Percent(share.low), " to ",
                      Percent(share.high), ")");
}

double ValueIn(const Json& share) { return share.value("value", 0.0); }

}  // namespace

Json ToJson(const AttackReport& report) {
  Json linkage = Json::array();
  for (const Linkage& one : report.linkage)
    linkage.push_back({{"knows", one.knows},
                       {"known", one.known},
                       {"error", one.error},
                       {"linked", ToJson(one.linked)},
                       {"chance", one.chance.value}});
  Json json = {
      {"linkage", std::move(linkage)},
      {"linked_all_known", OrNull(report.linked_all_known)},
      {"linked_4_known", OrNull(report.linked_4_known)},
      {"membership",
       {{"auc", OrNull(report.membership_auc)},
        {"found_at_1_percent", OrNull(report.membership_at_1_percent)}}},
      {"largest_linkage", report.largest_linkage}};
  if (report.others.is_object()) json.update(report.others);
  return json;
}

std::vector<Cell> MetricsOf(const AttackReport& report) {
  const auto figure = [](const std::optional<Share>& share) {
    return share.has_value() ? share->value : kNotMeasured;
  };
  return {figure(report.linked_all_known), figure(report.linked_4_known),
          figure(report.membership_auc)};
}

std::vector<std::string> InWords(const AttackReport& report) {
  std::vector<std::string> words;
  const Linkage* strongest = nullptr;
  for (const Linkage& one : report.linkage)
    if (strongest == nullptr || one.linked.value > strongest->linked.value)
      strongest = &one;
  if (strongest != nullptr)
    words.push_back(absl::StrCat(
        "The strongest linkage, with ", strongest->knows,
        strongest->knows.find(',') == std::string::npos ? "" : ",",
        " known, finds ", WithInterval(strongest->linked), " of ",
        strongest->linked.of, " people; guessing finds ",
        absl::StrFormat("%.2g %%.", 100 * strongest->chance.value)));
  if (report.linked_4_known.has_value())
    words.push_back(absl::StrCat("Who knows 4 values of a person finds ",
                                 WithInterval(*report.linked_4_known), "."));
  if (report.membership_auc.has_value())
    words.push_back(absl::StrFormat(
        "Whether a person is in the table: AUC %.2f (%.2f to %.2f; 0.5 is "
        "chance), and %s of the members at 1 %% false alarms.",
        report.membership_auc->value, report.membership_auc->low,
        report.membership_auc->high,
        Percent(report.membership_at_1_percent.value_or(Share()).value)));
  const Json& others = report.others;
  if (others.contains("attributes"))
    words.push_back(absl::StrCat(
        "One unknown value of a person whose other values are known: right in ",
        Percent(ValueIn(others["attributes"]["with_table"])),
        ", without the person's own row ",
        Percent(ValueIn(others["attributes"]["without_own_row"])), "."));
  if (others.contains("reconstruction")) {
    std::string best;
    double cells = -1;
    for (const auto& [name, one] : others["reconstruction"].items()) {
      if (one.is_null() || !(one.value("cells", 0.0) > cells)) continue;
      cells = one.value("cells", 0.0);
      best = name;
    }
    words.push_back(absl::StrCat("The best reconstruction (", best,
                                 ") restores ", Percent(cells),
                                 " of the cells."));
  }
  if (others.contains("singling_out") && !others["singling_out"].empty()) {
    const Json& all = others["singling_out"].back();
    words.push_back(absl::StrCat(
        "A published row, read in ", all.value("columns", 0),
        all.value("columns", 0) == 1 ? " column" : " columns",
        ", singles out one person in ", Percent(ValueIn(all["isolated"])),
        ", the columns' margins alone in ", Percent(ValueIn(all["margins"])),
        "."));
  }
  return words;
}

}  // namespace dpnmf::curator::lab
