#include "lab/evaluate/page.h"

#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/files/durable_file.h"
#include "common/plot/uplot.h"
#include "lab/evaluate/assets.h"

namespace dpnmf::curator::lab {
namespace {

using Json = nlohmann::ordered_json;

// JSON that may stand within <script>: nothing in it can end the element or
// begin a comment. All else is ASCII already.
std::string ScriptSafe(const std::string& json) {
  return absl::StrReplaceAll(
      json, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

}  // namespace

Json JsonNumber(double value) {
  return std::isnan(value) ? Json(nullptr) : Json(value);
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true,
                   Json::error_handler_t::replace);
}

std::string Page(std::string_view script, const Json& data,
                 std::string_view warning) {
  const std::string all =
      absl::StrCat("'use strict';\n(() => {\n", std::string(kDrawingScript),
                   std::string(script), "})();\n");
  return absl::StrReplaceAll(std::string(kReportPage),
                             {{"@PLOT_LICENSE@", std::string(kPlotLicense)},
                              {"@PLOT_STYLE@", std::string(kPlotStyle)},
                              {"@PLOT_SCRIPT@", std::string(kPlotScript)},
                              {"@REPORT_STYLE@", std::string(kReportStyle)},
                              {"@REPORT_SCRIPT@", all},
                              {"@WARNING@", std::string(warning)},
                              {"@DATA@", ScriptSafe(DumpJson(data, -1))}});
}

absl::Status RecordUse(const std::string& directory, const Json& line) {
  return AppendDurably(directory + "/evaluations.log",
                       DumpJson(line, -1) + "\n");
}

std::string AbsolutePath(const std::string& path) {
  return std::filesystem::absolute(path).string();
}

}  // namespace dpnmf::curator::lab
