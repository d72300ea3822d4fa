// Protobuf's JSON mapping as every --format json prints it.
#ifndef DPNMF_COMMON_WIRE_JSON_H_
#define DPNMF_COMMON_WIRE_JSON_H_

#include <string>

#include "google/protobuf/message.h"

namespace dpnmf {

// Proto field names, zeros printed, two-space indentation, a final newline.
// `bytes` fields stay base64 as the mapping says.
std::string ToJson(const google::protobuf::Message& message);
// The same on one line, without the final newline.
std::string ToJsonLine(const google::protobuf::Message& message);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_JSON_H_
