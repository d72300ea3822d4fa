// Looks for private numbers in what a program lets out.
#ifndef DPNMF_TESTS_ATTACKS_TAINT_H_
#define DPNMF_TESTS_ATTACKS_TAINT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace dpnmf::curator {

// The private numbers to look for. Each is sought
//   - in text, as a decimal number of six significant digits or more that
//     equals it when rounded to as many digits;
//   - in bytes, as an eight-byte double or integer of either byte order or as a
//     protobuf varint (plain or zigzag), raw and in hexadecimal.
// Numbers of fewer than five significant bytes are sought in text alone, and
// those of fewer than six digits (0.5, 17) not at all: everything has them.
class Taint {
 public:
  void Add(double number);
  void Add(std::int64_t number);
  std::size_t size() const { return names_.size(); }

  // The first number found in `bytes`, as "NUMBER as FORM", or "".
  std::string FoundIn(std::string_view bytes) const;

 private:
  void AddText(double number);
  void AddBytes(std::string pattern, const std::string& name);
  std::string FoundInText(std::string_view bytes) const;
  std::string FoundInBytes(std::string_view bytes) const;

  std::set<std::string> names_;
  std::set<std::string> texts_;     // "%.*e" with 6 to 17 digits
  std::set<std::string> integers_;  // absolute values of wide ones
  // By the first five bytes: pattern -> what it is.
  std::map<std::string, std::map<std::string, std::string>> patterns_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_TAINT_H_
