#include "curator/import/readers/feature_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/files/input_file.h"
#include "common/tables/names/header_words.h"

namespace dpnmf::curator {
namespace {

using Note = std::function<void(const std::string& sentence)>;

// A line of a file of weights.
struct WeightLine {
  char separator = '\0';  // '\0': a weight alone
  std::string name;
  std::string weight;
};

// The text without the quotes around the whole of it.
std::string Unquoted(std::string_view text) {
  text = TrimBlanks(text);
  std::vector<std::string_view> fields;
  const bool is_quoted = text.starts_with('"') &&
                         SplitFields(text, '\0', &fields) && fields.size() == 1;
  return is_quoted ? FieldText(text, fields[0]) : std::string(text);
}

// Returns whether the text is a number, perhaps with a decimal comma.
bool IsMeantAsNumber(std::string text) {
  std::replace(text.begin(), text.end(), ',', '.');
  return IsNumber(text);
}

// At the last of the first separator behind which there is a number.
WeightLine SplitWeightLine(std::string_view line) {
  WeightLine split;
  split.weight = Unquoted(line);
  line = TrimBlanks(line);
  for (const char separator : {'\t', ';', ',', ' '}) {
    const std::size_t at = line.rfind(separator);
    if (at == std::string_view::npos) continue;
    std::string weight = Unquoted(line.substr(at + 1));
    const bool is_number = IsMeantAsNumber(weight);
    if (!is_number && split.separator != '\0') continue;
    split = {separator, std::string(TrimBlanks(line.substr(0, at))),
             std::move(weight)};
    if (is_number) break;
  }
  return split;
}

class WeightsReader {
 public:
  WeightsReader(InputFile* input, const std::vector<std::string>& names,
                std::uint64_t features, const Note& note)
      : input_(*input),
        names_(names),
        note_(note),
        weights_(features, std::numeric_limits<double>::quiet_NaN()) {
    for (std::size_t i = 0; i < names.size(); ++i) places_[names[i]] = i;
  }

  absl::StatusOr<std::vector<double>> Read() {
    while (true) {
      std::string_view line;
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) break;
      if (TrimBlanks(line).empty()) continue;
      WeightLine split = SplitWeightLine(line);
      const bool named = split.separator != '\0';
      // A feature that lacks its weight then is refused.
      if (input_.line_number() == 1 &&
          (IsWord(split.weight) || (named && Unquoted(split.name).empty()))) {
        if (note_) {
          note_(absl::StrCat("`", input_.path(),
                             "`: line 1 is a header, no weight"));
        }
        continue;
      }
      DPNMF_RETURN_IF_ERROR(UnquoteName(&split));
      if (named_.value_or(named) != named) {
        return input_.Refuse("input-malformed", 1,
                             "some lines have a name and others only a weight; "
                             "write all of them in the same way");
      }
      named_ = named;
      DPNMF_RETURN_IF_ERROR(Add(split));
    }
    return Finish();
  }

 private:
  absl::Status Add(const WeightLine& line) {
    double weight = 0;
    const auto problem =
        ParseNumber(line.weight, /*refuse_negative=*/true, &weight);
    if (problem.has_value())
      return input_.Refuse(problem->code, 0, problem->sentence);
    if (weight != 0 &&
        !(weight >= kLeastFeatureWeight && weight <= kLargestFeatureWeight)) {
      return input_.Refuse("input-out-of-range", 0,
                           "a weight must be 0, or from 1e-12 to 1e12");
    }
    DPNMF_ASSIGN_OR_RETURN(const std::size_t place, PlaceOf(line));
    if (!std::isnan(weights_[place])) {
      return input_.Refuse("input-duplicate", 1,
                           absl::StrCat("the feature ", Quoted(line.name),
                                        " has a weight already; leave one"));
    }
    weights_[place] = weight;
    ++count_;
    return absl::OkStatus();
  }

  absl::Status UnquoteName(WeightLine* line) const {
    std::vector<std::string_view> fields;
    if (line->name.starts_with('"') &&
        SplitFields(line->name, line->separator, &fields) &&
        fields.size() > 1) {
      return input_.Refuse("input-ragged", 1,
                           absl::StrCat("the line has ", fields.size() + 1,
                                        " fields; write a name and a weight"));
    }
    line->name = Unquoted(line->name);
    return absl::OkStatus();
  }

  absl::StatusOr<std::size_t> PlaceOf(const WeightLine& line) const {
    if (line.separator == '\0') {
      if (count_ < weights_.size()) return count_;
      return CountDiffers("more");
    }
    if (names_.empty()) {
      return input_.Refuse("features-mismatch", 1,
                           "the line has a name, but the features have none; "
                           "give --features or --features-from-header, or only "
                           "weights in the order of the features, with a point "
                           "in decimal numbers");
    }
    const auto found = places_.find(line.name);
    if (found != places_.end()) return found->second;
    const bool is_decimal =
        line.separator == ',' && !line.name.empty() &&
        absl::ascii_isdigit(static_cast<unsigned char>(line.name.back()));
    return input_.Refuse(
        "features-mismatch", 1,
        absl::StrCat(
            "no feature has the name ", Quoted(line.name), "; remove the line",
            is_decimal ? ", or write decimal numbers with a point" : ""));
  }

  absl::Status CountDiffers(const std::string& count) const {
    return input_.RefuseAt(
        "features-mismatch", 0, 0,
        absl::StrCat("the file has ", count, " weights and the data set ",
                     weights_.size(), " features; give each one weight"));
  }

  absl::StatusOr<std::vector<double>> Finish() const {
    const auto missing =
        std::find_if(weights_.begin(), weights_.end(),
                     [](double weight) { return std::isnan(weight); });
    if (missing != weights_.end()) {
      if (!named_.value_or(false)) return CountDiffers(absl::StrCat(count_));
      const auto place = static_cast<std::size_t>(missing - weights_.begin());
      return input_.RefuseAt("features-mismatch", 0, 0,
                             absl::StrCat("the feature ", Quoted(names_[place]),
                                          " has no weight; add it, or 0"));
    }
    if (std::any_of(weights_.begin(), weights_.end(),
                    [](double weight) { return weight > 0; }))
      return weights_;
    return input_.RefuseAt("weights-zero", 0, 0,
                           "all weights are 0, so all data would be removed; "
                           "give at least one weight above 0");
  }

  InputFile& input_;
  const std::vector<std::string>& names_;
  const Note& note_;
  std::unordered_map<std::string_view, std::size_t> places_;
  std::vector<double> weights_;  // NaN: not yet
  std::size_t count_ = 0;
  std::optional<bool> named_;
};

}  // namespace

absl::StatusOr<std::vector<double>> LoadFeatureWeights(
    const std::string& path, const std::vector<std::string>& names,
    std::uint64_t features, const Note& note) {
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                         InputFile::Open(path));
  if (features > kMostWeightedFeatures) {
    return input->RefuseAt(
        "input-too-large", 0, 0,
        absl::StrCat("the data set has ", features, " features, and at most ",
                     kMostWeightedFeatures, " can have weights"));
  }
  return WeightsReader(input.get(), names, features, note).Read();
}

absl::Status WriteFeatureWeights(DatasetWriter* writer,
                                 std::span<const double> weights) {
  std::string text;
  for (const double weight : weights) {
    AppendShortest(weight, &text);
    text += '\n';
  }
  return writer->Write("weights.txt", text);
}

absl::StatusOr<std::vector<double>> ReadFeatureWeights(
    const std::string& directory, const DatasetDescription& description) {
  if (!description.weighted_features) return std::vector<double>();
  absl::StatusOr<std::vector<double>> weights =
      LoadFeatureWeights(directory + "/weights.txt", {}, description.features);
  if (weights.ok()) return weights;
  return Refusal(
      absl::StatusCode::kDataLoss, "dataset-damaged",
      absl::StrCat("The weights of the features of the data set at ", directory,
                   " cannot be read from weights.txt; restore it "
                   "from a backup."));
}

}  // namespace dpnmf::curator
