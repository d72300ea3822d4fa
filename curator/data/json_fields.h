// The fields of an object of a JSON file, declared once: a function lists them,
// and both the reader and the writer call it.
#ifndef DPNMF_CURATOR_DATA_JSON_FIELDS_H_
#define DPNMF_CURATOR_DATA_JSON_FIELDS_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/crypto/sha256.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {

using FileJson = nlohmann::ordered_json;

// Reads strictly: throws std::exception for a field that is missing, unknown,
// of another type or out of the range of its type.
class JsonFields {
 public:
  template <typename T>
  using List = void (*)(JsonFields& json, T& object);

  template <typename T>
  static FileJson Write(T object, List<T> list) {
    FileJson json = FileJson::object();
    JsonFields fields("", &json, nullptr);
    list(fields, object);
    return json;
  }
  template <typename T>
  static T Read(const FileJson& json, List<T> list) {
    T object;
    ReadInto(json, "", list, &object);
    return object;
  }

  template <typename V>
  void Required(const char* name, V& value) {
    if (read_ == nullptr) {
      (*written_)[name] = Written(value);
    } else {
      ReadValue(Find(name), InObject(name).c_str(), &value);
    }
  }
  // The same; the field is missing if the value is 0, false or empty.
  template <typename V>
  void Optional(const char* name, V& value) {
    if (!Has(name, value != V{})) return;
    Required(name, value);
    if (value == V{}) Refuse(InObject(name).c_str(), " is empty");
  }
  // Returns true if the field is there: to be read, or to be written.
  bool Has(const char* name, bool written) const {
    return read_ == nullptr ? written : read_->contains(name);
  }
  // The format or version of the file; no other is read.
  template <typename V>
  void Version(const char* name, V version) {
    V found = version;
    Required(name, found);
    if (found != version) Refuse("another program version", " wrote it");
  }
  // A value that is written as `text`.
  template <typename V>
  void Named(const char* name, V& value, std::string_view text,
             std::optional<V> (*of_text)(std::string_view)) {
    std::string found(text);
    Required(name, found);
    const std::optional<V> read = of_text(found);
    if (!read.has_value()) Refuse("unknown value of ", InObject(name).c_str());
    value = *read;
  }
  // An object of its own in the file.
  template <typename V>
  void Object(const char* name, V& value, List<V> list) {
    if (read_ == nullptr) {
      JsonFields fields(name, &((*written_)[name] = FileJson::object()),
                        nullptr);
      list(fields, value);
    } else {
      ReadInto(Find(name), name, list, &value);
    }
  }
  // The same; it may be missing.
  template <typename V>
  void Object(const char* name, std::optional<V>& value, List<V> list) {
    if (!Has(name, value.has_value())) return;
    if (!value.has_value()) value.emplace();
    Object(name, *value, list);
  }

 private:
  JsonFields(const char* name, FileJson* written, const FileJson* read)
      : name_(name), written_(written), read_(read) {}

  [[noreturn]] static void Refuse(const char* problem, const char* rest) {
    throw std::invalid_argument(absl::StrCat(problem, rest));
  }
  // `text`, and the object that it is about.
  std::string InObject(const char* text) const {
    return *name_ == '\0' ? text : absl::StrCat(text, " in ", name_);
  }
  [[noreturn]] void RefuseFields() const {
    Refuse(InObject("it has missing or unknown fields").c_str(), "");
  }

  template <typename T>
  static void ReadInto(const FileJson& json, const char* name, List<T> list,
                       T* object) {
    JsonFields fields(name, nullptr, &json);
    list(fields, *object);
    if (!json.is_object() || fields.found_ != json.size())
      fields.RefuseFields();
  }
  const FileJson& Find(const char* name) {
    if (!read_->contains(name)) RefuseFields();
    ++found_;
    return read_->at(name);
  }

  template <typename V>
  static FileJson Written(const V& value) {
    return value;
  }
  template <typename V>
  static FileJson Written(const std::optional<V>& value) {
    return value.has_value() ? Written(*value) : FileJson();
  }
  static FileJson Written(const Digest& digest) { return HexOf(digest); }
  static FileJson Written(const std::vector<Digest>& digests) {
    FileJson list = FileJson::array();
    for (const Digest& digest : digests) list.push_back(HexOf(digest));
    return list;
  }

  static void ReadValue(const FileJson& json, const char*, FileJson* value) {
    *value = json;
  }
  static void ReadValue(const FileJson& json, const char*, std::string* value) {
    *value = json.get<std::string>();
  }
  static void ReadValue(const FileJson& json, const char*, bool* value) {
    *value = json.get<bool>();
  }
  static void ReadValue(const FileJson& json, const char* name, double* value) {
    if (!json.is_number()) Refuse(name, " is not a number");
    *value = json.get<double>();
  }
  // get<> would take 1.5 and true for 1, and has no defined value for 1e42.
  template <std::integral V>
  static void ReadValue(const FileJson& json, const char* name, V* value) {
    const bool good = json.is_number_unsigned()
                          ? std::in_range<V>(json.get<std::uint64_t>())
                          : json.is_number_integer() &&
                                std::in_range<V>(json.get<std::int64_t>());
    if (!good) Refuse(name, " is not a whole number in range");
    *value = json.get<V>();
  }
  static void ReadValue(const FileJson& json, const char* name, Digest* value) {
    const std::optional<Digest> digest = DigestOfHex(json.get<std::string>());
    if (!digest.has_value()) Refuse("unknown value of ", name);
    *value = *digest;
  }
  template <typename V>
  static void ReadValue(const FileJson& json, const char* name,
                        std::optional<V>* value) {
    if (!json.is_null()) ReadValue(json, name, &value->emplace());
  }
  template <typename V>
  static void ReadValue(const FileJson& json, const char* name,
                        std::vector<V>* values) {
    if (!json.is_array()) Refuse(name, " is not a list");
    for (const FileJson& entry : json)
      ReadValue(entry, name, &values->emplace_back());
  }

  const char* name_;  // of the object in the file; empty: of the file itself
  FileJson* written_;
  const FileJson* read_;
  std::size_t found_ = 0;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_JSON_FIELDS_H_
