#include "curator/ranks/frames.h"

#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <variant>

#include "common/privacy/mechanism.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kCommandMagic = 0x6470'6e6d'6663'6f6d;
constexpr std::uint64_t kCheckFactor = 0x9e37'79b9'7f4a'7c15;

class CommandWriter {
 public:
  void Add(std::uint64_t value) { AddBytes(&value, sizeof value); }
  void Add(double value) { Add(std::bit_cast<std::uint64_t>(value)); }
  void Add(std::string_view text) {
    Add(std::uint64_t{text.size()});
    AddBytes(text.data(), text.size());
  }
  template <typename T>
  void AddArray(std::span<const T> values) {
    Add(std::string_view(reinterpret_cast<const char*>(values.data()),
                         values.size_bytes()));
  }
  std::string Finish() { return std::move(bytes_); }

 private:
  void AddBytes(const void* bytes, std::size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(bytes), size);
  }
  std::string bytes_;
};

// After a first read past the end everything that is read is empty.
class CommandReader {
 public:
  explicit CommandReader(std::string_view bytes) : left_(bytes) {}

  std::uint64_t Integer() {
    std::uint64_t value = 0;
    const std::string_view bytes = Take(sizeof value);
    if (good_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  // A word that says no more than T holds.
  template <typename T>
  T Narrow() {
    const auto value = static_cast<std::int64_t>(Integer());
    good_ = good_ && value >= std::numeric_limits<T>::min() &&
            value <= std::numeric_limits<T>::max();
    return good_ ? static_cast<T>(value) : T{};
  }
  double Real() { return std::bit_cast<double>(Integer()); }
  std::string_view Text() { return Take(Integer()); }
  template <typename T>
  std::vector<T> Array() {
    const std::string_view bytes = Text();
    good_ = good_ && bytes.size() % sizeof(T) == 0;
    std::vector<T> values(good_ ? bytes.size() / sizeof(T) : 0);
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  void TakeKnob(const Knob& knob, RunParameters* parameters) {
    std::visit(
        [&]<typename T>(T RunParameters::*member) {
          if constexpr (std::is_integral_v<T>)
            parameters->*member = Narrow<T>();
          else if constexpr (std::is_same_v<T, double>)
            parameters->*member = Real();
          else
            for (std::uint64_t left = Integer(); good_ && left > 0; --left)
              (parameters->*member).push_back(Real());
        },
        knob.member);
  }
  bool AtEnd() const { return good_ && left_.empty(); }

 private:
  std::string_view Take(std::uint64_t size) {
    good_ = good_ && size <= left_.size();
    if (!good_) return {};
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  std::string_view left_;
  bool good_ = true;
};

}  // namespace

std::string BytesOf(const RankCommand& command) {
  CommandWriter writer;
  writer.Add(kCommandMagic);
  writer.Add(command.number);
  writer.Add(command.deadline_ms);
  writer.Add(std::string_view(command.dataset));
  for (const Digest& digest : {command.files, command.file_key})
    writer.AddArray(std::span<const std::uint8_t>(digest));
  writer.Add(std::string_view(command.release));
  writer.Add(command.entries);
  writer.Add(command.coefficients);
  writer.AddArray(std::span<const std::uint64_t>(command.forget));
  const RunParameters& parameters = command.parameters;
  writer.Add(std::uint64_t{parameters.rank});
  for (const Knob& knob : KnobsOfFit())
    for (const std::uint64_t word : WordsOf(knob, parameters)) writer.Add(word);
  const RunPlan& plan = command.plan;
  writer.Add(static_cast<std::uint64_t>(std::int64_t{plan.coefficient_bits}));
  writer.Add(static_cast<std::uint64_t>(std::int64_t{plan.data_bits}));
  writer.Add(plan.coefficient_bound);
  writer.Add(plan.data_bound);
  const Eigen::MatrixXd& w = command.input.w;
  writer.Add(static_cast<std::uint64_t>(w.rows()));
  writer.Add(static_cast<std::uint64_t>(w.cols()));
  writer.AddArray(std::span(w.data(), static_cast<std::size_t>(w.size())));
  writer.AddArray(std::span<const std::uint32_t>(command.input.rows));
  writer.AddArray(std::span<const double>(command.input.numbers));
  writer.Add(kCommandMagic);
  return writer.Finish();
}

std::optional<RankCommand> CommandOf(std::string_view bytes) {
  CommandReader reader(bytes);
  if (reader.Integer() != kCommandMagic) return std::nullopt;
  RankCommand command;
  command.number = reader.Integer();
  command.deadline_ms = reader.Integer();
  command.dataset = reader.Text();
  for (Digest* const digest : {&command.files, &command.file_key}) {
    const auto bytes_of = reader.Array<std::uint8_t>();
    if (bytes_of.size() != digest->size()) return std::nullopt;
    std::copy(bytes_of.begin(), bytes_of.end(), digest->begin());
  }
  command.release = reader.Text();
  command.entries = reader.Integer();
  command.coefficients = reader.Integer();
  command.forget = reader.Array<std::uint64_t>();
  RunParameters& parameters = command.parameters;
  parameters.rank = reader.Narrow<std::uint32_t>();
  for (const Knob& knob : KnobsOfFit()) reader.TakeKnob(knob, &parameters);
  RunPlan& plan = command.plan;
  plan.coefficient_bits = reader.Narrow<int>();
  plan.data_bits = reader.Narrow<int>();
  plan.coefficient_bound = reader.Real();
  plan.data_bound = reader.Real();
  const std::uint64_t rows = reader.Integer(), columns = reader.Integer();
  const std::string_view w = reader.Text();
  if (columns > w.size() || rows > w.size() ||
      Uint128{rows} * columns * sizeof(double) != w.size())
    return std::nullopt;
  command.input.w.resize(static_cast<Eigen::Index>(rows),
                         static_cast<Eigen::Index>(columns));
  if (!w.empty()) std::memcpy(command.input.w.data(), w.data(), w.size());
  command.input.rows = reader.Array<std::uint32_t>();
  command.input.numbers = reader.Array<double>();
  if (reader.Integer() != kCommandMagic || !reader.AtEnd()) return std::nullopt;
  return command;
}

std::uint64_t LinearCheck(std::span<const std::uint64_t> words) {
  // Four words at a time: Horner's rule would wait for each product.
  constexpr std::uint64_t kSecond = kCheckFactor * kCheckFactor,
                          kThird = kSecond * kCheckFactor,
                          kFourth = kThird * kCheckFactor;
  std::uint64_t check = 0;
  std::size_t i = 0;
  for (; i + 4 <= words.size(); i += 4) {
    check = (check + words[i]) * kFourth + words[i + 1] * kThird +
            words[i + 2] * kSecond + words[i + 3] * kCheckFactor;
  }
  for (; i < words.size(); ++i) check = (check + words[i]) * kCheckFactor;
  return check;
}

namespace {

constexpr int kSocketRoom = 4 << 20;

}  // namespace

void WidenSocket(int descriptor) {
  for (const int option : {SO_SNDBUF, SO_RCVBUF})
    setsockopt(descriptor, SOL_SOCKET, option, &kSocketRoom,
               sizeof kSocketRoom);
}

}  // namespace dpnmf::curator
