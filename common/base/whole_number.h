// Whole numbers in JSON that comes from outside.
#ifndef DPNMF_COMMON_BASE_WHOLE_NUMBER_H_
#define DPNMF_COMMON_BASE_WHOLE_NUMBER_H_

#include <cstdint>

namespace dpnmf {

// The number, >= 0; throws nlohmann::json::type_error if `json`, which was
// parsed from text, is none. get<> alone would take 1.5 for 1, -1 and true, and
// has no defined value for 1e42.
template <typename Json>
std::uint64_t WholeNumberOf(const Json& json) {
  return json.template get_ref<const typename Json::number_unsigned_t&>();
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_WHOLE_NUMBER_H_
