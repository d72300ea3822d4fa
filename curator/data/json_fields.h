// Objects of the JSON files on disk, each as one table of its fields, which
// reads strictly and writes in the order of the table.
#ifndef DPNMF_CURATOR_DATA_JSON_FIELDS_H_
#define DPNMF_CURATOR_DATA_JSON_FIELDS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/whole_number.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {

using FileJson = nlohmann::ordered_json;

template <typename T>
struct JsonField {
  const char* name;
  // Throws std::exception if the value is of another type or out of range.
  std::function<void(const FileJson& value, T* object)> read;
  std::function<FileJson(const T& object)> write;
  // A field that may be missing is written if it has a value.
  std::function<bool(const T& object)> has = nullptr;
};

template <typename V>
V ValueOfJson(const FileJson& json) {
  return json.get<V>();
}
template <>
inline std::uint64_t ValueOfJson(const FileJson& json) {
  return WholeNumberOf(json);
}

// A field that is a member.
template <typename T, typename V, typename Base>
JsonField<T> Required(const char* name, V Base::*member) {
  return {name,
          [=](const FileJson& json, T* object) {
            object->*member = ValueOfJson<V>(json);
          },
          [=](const T& object) { return FileJson(object.*member); }};
}

// The same; it may be missing, and is where the member is empty or false.
template <typename T, typename V, typename Base>
JsonField<T> Optional(const char* name, V Base::*member) {
  JsonField<T> field = Required<T>(name, member);
  field.has = [=](const T& object) { return object.*member != V{}; };
  return field;
}

// A member that is written as one of its names.
template <typename T, typename V, typename Base>
JsonField<T> Named(const char* name, V Base::*member,
                   std::string_view (*name_of)(V),
                   std::optional<V> (*of_name)(std::string_view)) {
  return {
      name,
      [=](const FileJson& json, T* object) {
        const std::optional<V> value = of_name(json.get<std::string>());
        if (!value.has_value())
          throw std::invalid_argument(absl::StrCat("unknown value of ", name));
        object->*member = *value;
      },
      [=](const T& object) {
        return FileJson(std::string(name_of(object.*member)));
      }};
}

// The version of the file; no other is read.
template <typename T>
JsonField<T> Version(const char* name, std::uint64_t version) {
  return {name,
          [=](const FileJson& json, T*) {
            if (WholeNumberOf(json) != version)
              throw std::invalid_argument("another program version wrote it");
          },
          [=](const T&) { return FileJson(version); }};
}

template <typename T>
using JsonFields = std::vector<JsonField<T>>;

// Throws std::exception, also if a field is missing or unknown; `subject` as in
// "its ratings have".
template <typename T>
T ReadFields(const FileJson& json, const JsonFields<T>& fields,
             std::string_view subject) {
  std::size_t found = 0;
  bool whole = json.is_object();
  for (const JsonField<T>& field : fields) {
    if (!whole) break;
    if (json.contains(field.name)) {
      ++found;
    } else {
      whole = field.has != nullptr;
    }
  }
  if (!whole || found != json.size()) {
    throw std::invalid_argument(
        absl::StrCat(std::string(subject), " missing or unknown fields"));
  }
  T object;
  for (const JsonField<T>& field : fields) {
    const auto value = json.find(field.name);
    if (value != json.end()) field.read(*value, &object);
  }
  return object;
}

template <typename T>
FileJson WriteFields(const T& object, const JsonFields<T>& fields) {
  FileJson json = FileJson::object();
  for (const JsonField<T>& field : fields) {
    if (field.has == nullptr || field.has(object))
      json[field.name] = field.write(object);
  }
  return json;
}

// A member that is an object of its own, and may be missing.
template <typename T, typename V, typename Base>
JsonField<T> OptionalObject(const char* name, std::optional<V> Base::*member,
                            const JsonFields<V>& fields,
                            std::string_view subject) {
  return {name,
          [=](const FileJson& json, T* object) {
            object->*member = ReadFields<V>(json, fields, subject);
          },
          [=](const T& object) {
            return WriteFields<V>(*(object.*member), fields);
          },
          [=](const T& object) { return (object.*member).has_value(); }};
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_JSON_FIELDS_H_
