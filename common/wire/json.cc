#include "common/wire/json.h"

#include "google/protobuf/util/json_util.h"

namespace dpnmf {
namespace {

std::string Print(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = pretty;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  // Only an unknown type can fail; this library's messages carry no Any.
  return status.ok() ? json : "{}";
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message) {
  // The library indents by one space a level; a line break inside a string is
  // escaped, so that every line begins with its indentation.
  std::string json;
  bool in_indentation = true;
  for (const char c : Print(message, /*pretty=*/true)) {
    in_indentation = c == '\n' || (in_indentation && c == ' ');
    if (in_indentation && c == ' ') json += ' ';
    json += c;
  }
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

std::string ToJsonLine(const google::protobuf::Message& message) {
  return Print(message, /*pretty=*/false);
}

}  // namespace dpnmf
