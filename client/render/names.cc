#include "client/render/names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/render/number.h"

namespace dpnmf::cli {
namespace {

std::string WithoutPrefix(const std::string& name, absl::string_view prefix) {
  if (name.empty() || absl::EndsWith(name, "_UNSPECIFIED")) return "unknown";
  return absl::AsciiStrToLower(absl::StripPrefix(name, prefix));
}

}  // namespace

std::string NameOf(v1::Conversion conversion) {
  return WithoutPrefix(v1::Conversion_Name(conversion), "CONVERSION_");
}

std::string NameOf(v1::Adjacency adjacency) {
  return WithoutPrefix(v1::Adjacency_Name(adjacency), "ADJACENCY_");
}

std::string NameOf(v1::Normalisation normalisation) {
  return WithoutPrefix(v1::Normalisation_Name(normalisation), "NORMALISATION_");
}

std::string NameOf(v1::RunState state) {
  return WithoutPrefix(v1::RunState_Name(state), "RUN_STATE_");
}

std::string ShortRunId(std::string_view run_id) {
  return std::string(run_id.substr(0, 12));
}

std::string ShapeText(const v1::MatrixShape& shape) {
  return absl::StrCat(shape.rows(), " x ", shape.columns());
}

double EnforcedEpsilon(const v1::Epsilons& epsilons,
                       v1::Conversion conversion) {
  switch (conversion) {
    case v1::CONVERSION_GAUSSIAN:
      return epsilons.gaussian();
    case v1::CONVERSION_RDP_OPTIMAL:
      return epsilons.rdp_optimal();
    default:
      return epsilons.rdp();  // the largest of the three
  }
}

std::string GuaranteeText(const v1::Guarantee& guarantee) {
  return absl::StrCat("epsilon ", FormatUp(guarantee.epsilon()), " at delta ",
                      FormatUp(guarantee.delta()), " (",
                      NameOf(guarantee.conversion()), ", ",
                      NameOf(guarantee.adjacency()), ")",
                      guarantee.has_void_since()
                          ? absl::StrCat(", ", VoidText(guarantee.void_since()))
                          : std::string());
}

std::string VoidText(std::int64_t unix_seconds) {
  return absl::StrCat("VOID since ", FormatMoment(unix_seconds));
}

}  // namespace dpnmf::cli
