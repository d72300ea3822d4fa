#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"

namespace dpnmf::fuzz {
namespace {

// Bytes that formats give a meaning to.
constexpr char kTellingBytes[] =
    "0123456789-+.eE,;:\t \"'\n\r%\\naif()[]{}<>|=#\x00\x01\x7f\x80\xff";
constexpr std::string_view kTelling(kTellingBytes, sizeof kTellingBytes - 1);
constexpr std::uint64_t kLimits[] = {0,           1,
                                     0x7f,        0x80,
                                     0xff,        0x7fff,
                                     0xffff,      0x7fffffff,
                                     0xffffffffu, std::uint64_t{1} << 52,
                                     1ull << 53,  1ull << 62,
                                     1ull << 63,  ~std::uint64_t{0}};

class Mutation {
 public:
  Mutation(const std::vector<std::string>& seeds, std::mt19937_64* random)
      : seeds_(seeds), random_(*random), text_(seeds[Below(seeds.size())]) {}

  std::string Make() {
    const std::size_t longest = text_.size() + 4096;
    for (std::size_t changes = 1 + Below(4); changes > 0; --changes) Change();
    if (text_.size() > longest) text_.resize(longest);
    return std::move(text_);
  }

 private:
  std::size_t Below(std::size_t limit) { return random_() % limit; }
  template <typename Choices>
  auto Pick(const Choices& choices) {
    return std::data(choices)[Below(std::size(choices))];
  }
  std::size_t Place() { return Below(text_.size() + 1); }

  // Overwrites from a random place on, as far as there is text.
  void Overwrite(const void* bytes, std::size_t count) {
    const std::size_t place = Place();
    count = std::min(count, text_.size() - place);
    std::memcpy(text_.data() + place, bytes, count);
  }
  void Set(char byte) { Overwrite(&byte, 1); }

  void Change() {
    const std::size_t place = Place();
    switch (Below(10)) {
      case 0:
        if (place < text_.size())
          text_[place] = static_cast<char>(text_[place] ^
                                           static_cast<char>(1 << Below(8)));
        break;
      case 1:
        Set(static_cast<char>(Below(256)));
        break;
      case 2:
        Set(Pick(kTelling));
        break;
      case 3:
        text_.insert(place, 1 + Below(4), Pick(kTelling));
        break;
      case 4:
        text_.erase(place, 1 + Below(16));
        break;
      case 5:
        text_.insert(place, text_.substr(Place(), 1 + Below(32)));
        break;
      case 6:
        text_.resize(place);
        break;
      case 7: {
        const double special = Pick(kSpecialDoubles);
        Overwrite(&special, sizeof special);
        break;
      }
      case 8: {
        const std::uint64_t limit = Pick(kLimits);
        Overwrite(&limit, std::size_t{1} << Below(4));
        break;
      }
      default: {
        const std::string& other = seeds_[Below(seeds_.size())];
        const std::size_t from = Below(other.size() + 1);
        text_.replace(place, Below(64), other, from, 1 + Below(64));
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64& random_;
  std::string text_;
};

}  // namespace

std::string Mutated(const std::vector<std::string>& seeds,
                    std::mt19937_64* random) {
  return Mutation(seeds, random).Make();
}

}  // namespace dpnmf::fuzz
