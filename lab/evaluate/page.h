// Parts that all reports of `evaluate` share: JSON, the page and the record of
// use.
#ifndef DPNMF_LAB_EVALUATE_PAGE_H_
#define DPNMF_LAB_EVALUATE_PAGE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {

// Warning on every page of the report, on the terminal and in results.json.
inline constexpr std::string_view kEvaluateWarning =
    "Not private: for research, and for choosing epsilon and rank on public or "
    "generated data. These figures are exact functions of the data; the noise "
    "comes from a seed. On private data the operator must keep them, and "
    "nothing that an analyst sees may depend on them.";

// NaN becomes null.
nlohmann::ordered_json JsonNumber(double value);

// ASCII; bytes that are no UTF-8 are replaced. indent -1: one line.
std::string DumpJson(const nlohmann::ordered_json& json, int indent);

// report.html: one file that loads nothing, with the data and a script that
// draws them with the functions of assets/drawing.js. Text of the operator's
// files is data, never markup. `warning` stands on every printed page.
std::string Page(std::string_view script, const nlohmann::ordered_json& data,
                 std::string_view warning = kEvaluateWarning);

// Appends the line to DIRECTORY/evaluations.log.
absl::Status RecordUse(const std::string& directory,
                       const nlohmann::ordered_json& line);
std::string AbsolutePath(const std::string& path);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_PAGE_H_
