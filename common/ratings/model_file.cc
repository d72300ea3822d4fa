#include "common/ratings/model_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/base/view.h"
#include "common/files/fields.h"
#include "common/files/npz.h"
#include "common/files/read_file.h"

namespace dpnmf {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr double kLeastLevel = 1e-3, kLargestLevel = 1e3;
constexpr std::size_t kLongestText = 1024;
constexpr double kLargestNumber = 1e12;
// Largest loadings and base, in ranges of ratings; the least residual_stddev is
// the range divided by kLargestShare. One person's solve stays finite.
constexpr double kLargestShare = 1e6;

// The numbers of an item, in the order of a file.
struct Column {
  const char* name;
  Eigen::VectorXd ItemModel::*values;
  bool is_signed;
};
constexpr Column kColumns[] = {
    {"base", &ItemModel::base, true},
    {"base_stddev", &ItemModel::base_stddev, false},
    {"count", &ItemModel::counts, true},
    {"count_stddev", &ItemModel::counts_stddev, false},
    {"popularity", &ItemModel::popularity, false},
};
// Their matrices; in a .csv the columns factor1, factor2, ...
struct Block {
  const char* array;
  const char* column;
  Eigen::MatrixXd ItemModel::*values;
  Eigen::Index least;  // columns
};
constexpr Block kBlocks[] = {
    {"factors", "factor", &ItemModel::loadings, 1},
    {"ranking", "ranking", &ItemModel::ranking, 0},
};

absl::Status Malformed(std::string_view what) {
  return Refusal(absl::StatusCode::kInvalidArgument, "model-file-malformed",
                 absl::StrCat("The model file cannot be used: ", View(what),
                              "; ask for it again with `dpnmf model`."));
}

absl::Status OtherVersion() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "model-file-newer",
                 absl::StrCat("The model file is not of version ", kVersion,
                              ": read it with the version of dpnmf that wrote "
                              "it."));
}

// NaN is not within.
bool Within(double value, double least, double most) {
  return value >= least && value <= most;
}
template <typename Matrix>
bool AllWithin(const Matrix& values, double least, double most) {
  return values.size() == 0 ||
         (Within(values.minCoeff(), least, most) &&
          Within(values.maxCoeff(), least, most) && values.allFinite());
}

absl::Status CheckTexts(const NamedItemModel& model, Eigen::Index items) {
  const auto count = static_cast<std::size_t>(items);
  if (model.items.size() != count)
    return Malformed("it does not have one id for each item");
  if (!model.names.empty() && model.names.size() != count)
    return Malformed("it does not have one name for each item");
  for (const auto* texts : {&model.items, &model.names}) {
    for (const std::string& text : *texts) {
      if (text.size() > kLongestText || !IsPlainText(text))
        return Malformed("an id or a name is not a printable line of UTF-8");
    }
  }
  std::vector<std::string_view> sorted(model.items.begin(), model.items.end());
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty() && sorted.front().empty())
    return Malformed("an item has no id");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return absl::OkStatus();
  return Malformed(absl::StrCat("the item `", View(*twice), "` occurs twice"));
}

absl::Status CheckNumbers(const ItemModel& model, Eigen::Index items) {
  const double range = model.high - model.low;
  if (!Within(model.low, -kLargestShare, kLargestShare) ||
      !Within(model.high, -kLargestShare, kLargestShare) || !(range > 0))
    return Malformed("its range of ratings is none");
  if (!Within(model.residual_stddev, range / kLargestShare,
              range * kLargestShare))
    return Malformed("its `residual_stddev` is out of range");
  if (model.level != 0 && (!Within(model.level, kLeastLevel, kLargestLevel) ||
                           !AllWithin(model.loadings, 0, kLargestNumber)))
    return Malformed("its `level` or a factor of it is out of range");
  for (const Column& column : kColumns) {
    const Eigen::VectorXd& values = model.*column.values;
    const bool fits = values.size() == items;
    if (!fits || !AllWithin(values, column.is_signed ? -kLargestNumber : 0,
                            kLargestNumber)) {
      return Malformed(absl::StrCat("`", column.name,
                                    "` is not one number in range for each "
                                    "item"));
    }
  }
  for (const Block& block : kBlocks) {
    const Eigen::MatrixXd& values = model.*block.values;
    const bool absent = block.least == 0 && values.cols() == 0;
    if (!absent && (values.rows() != items || values.cols() < block.least ||
                    values.cols() > kMostModelColumns)) {
      return Malformed(absl::StrCat("`", block.array,
                                    "` does not have a row for each item and "
                                    "1 to 1,024 columns"));
    }
  }
  const double largest = kLargestShare * range;
  if (!AllWithin(model.base, model.low - largest, model.high + largest) ||
      !AllWithin(model.loadings, -largest, largest) ||
      !AllWithin(model.ranking, -kLargestShare, kLargestShare))
    return Malformed("an entry of its factors is out of range");
  return absl::OkStatus();
}

// ---- .npz

// The member of that name.
absl::StatusOr<std::string_view> Member(
    const std::map<std::string, std::string_view>& members,
    const std::string& name) {
  const auto found = members.find(name);
  if (found != members.end()) return found->second;
  return Malformed(absl::StrCat("it has no array `", name, "`"));
}

absl::StatusOr<Eigen::VectorXd> ReadVector(
    const std::map<std::string, std::string_view>& members,
    const std::string& name) {
  DPNMF_ASSIGN_OR_RETURN(const std::string_view npy, Member(members, name));
  return VectorOfMember(npy, name);
}

absl::StatusOr<NamedItemModel> ParseNpz(std::string_view bytes) {
  DPNMF_ASSIGN_OR_RETURN(const auto members, ReadNpz(bytes));
  DPNMF_ASSIGN_OR_RETURN(const std::string_view version_npy,
                         Member(members, "version"));
  DPNMF_ASSIGN_OR_RETURN(const std::int64_t version,
                         IntegerOfMember(version_npy, "version"));
  if (version != kVersion) return OtherVersion();
  NamedItemModel named;
  if (members.contains("level")) {
    DPNMF_ASSIGN_OR_RETURN(const Eigen::VectorXd level,
                           ReadVector(members, "level"));
    if (level.size() != 1 || !(level(0) > 0))
      return Malformed("its `level` is not one number above 0");
    named.model.level = level(0);
  }
  DPNMF_ASSIGN_OR_RETURN(const Eigen::VectorXd range,
                         ReadVector(members, "rating_range"));
  DPNMF_ASSIGN_OR_RETURN(const Eigen::VectorXd residual,
                         ReadVector(members, "residual_stddev"));
  if (range.size() != 2 || residual.size() != 1)
    return Malformed("its range or its `residual_stddev` has another length");
  named.model.low = range(0);
  named.model.high = range(1);
  named.model.residual_stddev = residual(0);
  for (const Column& column : kColumns) {
    DPNMF_ASSIGN_OR_RETURN(named.model.*column.values,
                           ReadVector(members, column.name));
  }
  for (const Block& block : kBlocks) {
    if (block.least == 0 && !members.contains(block.array)) continue;
    DPNMF_ASSIGN_OR_RETURN(const std::string_view npy,
                           Member(members, block.array));
    DPNMF_ASSIGN_OR_RETURN(named.model.*block.values,
                           MatrixOfMember(npy, block.array));
  }
  DPNMF_ASSIGN_OR_RETURN(const std::string_view items, Member(members, "item"));
  DPNMF_ASSIGN_OR_RETURN(named.items, TextsOfMember(items, "item"));
  if (members.contains("name")) {
    DPNMF_ASSIGN_OR_RETURN(named.names,
                           TextsOfMember(members.at("name"), "name"));
  }
  return named;
}

// ---- .csv

constexpr std::string_view kFirstWords = "# dpnmf items, version ";

// RFC 4180: in quotes where a comma, a quote or a blank at an end asks for it.
std::string Field(const std::string& text) {
  const bool plain =
      text.find_first_of(",\"") == std::string::npos &&
      (text.empty() ||
       (text.front() != ' ' && text.front() != '#' && text.back() != ' '));
  if (plain) return text;
  return CsvQuoted(text);
}

absl::Status LineMalformed(std::size_t line, std::string_view what) {
  return Malformed(absl::StrCat("line ", line, " ", View(what)));
}

// The whole text is a number.
std::optional<double> NumberOf(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

// Takes the fields of a line; false if a quote stays open or text follows one.
bool SplitFields(std::string_view line, std::vector<std::string>* fields) {
  fields->clear();
  while (true) {
    std::string field;
    if (line.starts_with('"')) {
      line.remove_prefix(1);
      while (true) {
        const std::size_t quote = line.find('"');
        if (quote == std::string_view::npos) return false;
        field += line.substr(0, quote);
        line.remove_prefix(quote + 1);
        if (!line.starts_with('"')) break;
        field += '"';
        line.remove_prefix(1);
      }
      if (!line.empty() && line[0] != ',') return false;
    } else {
      const std::size_t comma = std::min(line.find(','), line.size());
      field = line.substr(0, comma);
      line.remove_prefix(comma);
    }
    fields->push_back(std::move(field));
    if (line.empty()) return true;
    line.remove_prefix(1);
  }
}

class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}

  absl::StatusOr<NamedItemModel> Read() {
    DPNMF_RETURN_IF_ERROR(ReadConstants());
    DPNMF_RETURN_IF_ERROR(ReadHeader());
    while (NextLine()) {
      if (line_.empty() && rest_.empty()) break;
      DPNMF_RETURN_IF_ERROR(ReadItem());
    }
    if (named_.items.empty()) return Malformed("it has no items");
    const auto items = static_cast<Eigen::Index>(named_.items.size());
    if (std::all_of(named_.names.begin(), named_.names.end(),
                    [](const auto& name) { return name.empty(); }))
      named_.names.clear();
    Fill(items);
    return std::move(named_);
  }

 private:
  bool NextLine() {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++number_;
    return true;
  }

  // "# dpnmf items, version 1, low 1, high 5, residual_stddev 0.87".
  absl::Status ReadConstants() {
    if (!NextLine() || !line_.starts_with(kFirstWords)) {
      return LineMalformed(
          1, absl::StrCat("does not begin with `", View(kFirstWords), "`"));
    }
    const std::vector<std::string> words =
        absl::StrSplit(View(line_.substr(kFirstWords.size())), ", ");
    if (words[0] != absl::StrCat(kVersion)) return OtherVersion();
    const std::pair<std::string_view, double*> constants[] = {
        {"low ", &named_.model.low},
        {"high ", &named_.model.high},
        {"residual_stddev ", &named_.model.residual_stddev},
        {"level ", &named_.model.level}};
    const std::size_t count = words.size() - 1;
    const bool has_level = count == std::size(constants);
    bool fits = has_level || count + 1 == std::size(constants);
    for (std::size_t i = 0; fits && i < count; ++i) {
      const auto& [name, value] = constants[i];
      const std::string_view word = words[i + 1];
      const auto number = word.starts_with(name)
                              ? NumberOf(word.substr(name.size()))
                              : std::nullopt;
      fits = number.has_value();
      if (fits) *value = *number;
    }
    if (fits && has_level == (named_.model.level > 0)) return absl::OkStatus();
    return LineMalformed(1, "lacks low, high, residual_stddev or level");
  }

  absl::Status ReadHeader() {
    std::vector<std::string> names;
    if (!NextLine() || !SplitFields(line_, &names))
      return LineMalformed(2, "is no header");
    std::vector<std::string> known = {"item", "name"};
    for (const Column& column : kColumns) known.emplace_back(column.name);
    std::size_t at = known.size();
    for (std::size_t b = 0; b < std::size(kBlocks); ++b) {
      std::size_t& width = widths_[b];
      while (at < names.size() && width < kMostModelColumns &&
             names[at] == absl::StrCat(kBlocks[b].column, width + 1)) {
        ++width;
        ++at;
      }
    }
    if (at != names.size() ||
        !std::equal(known.begin(), known.end(), names.begin(),
                    names.begin() + static_cast<std::ptrdiff_t>(
                                        std::min(known.size(), names.size()))))
      return LineMalformed(
          2, "has other columns than docs/reference/recommender.md");
    columns_ = names.size();
    return absl::OkStatus();
  }

  absl::Status ReadItem() {
    if (named_.items.size() >= static_cast<std::size_t>(kMostModelItems))
      return Malformed("it has too many items");
    if (!SplitFields(line_, &fields_) || fields_.size() != columns_) {
      return LineMalformed(
          number_, absl::StrCat("does not have ", columns_, " columns"));
    }
    named_.items.push_back(std::move(fields_[0]));
    named_.names.push_back(std::move(fields_[1]));
    for (std::size_t i = 2; i < columns_; ++i) {
      const auto value = NumberOf(fields_[i]);
      if (!value.has_value()) {
        return LineMalformed(number_,
                             absl::StrCat("has no number in column ", i + 1));
      }
      values_.push_back(*value);
    }
    return absl::OkStatus();
  }

  void Fill(Eigen::Index items) {
    using RowMajor =
        Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> table(
        values_.data(), items, static_cast<Eigen::Index>(columns_ - 2));
    Eigen::Index at = 0;
    for (const Column& column : kColumns)
      named_.model.*column.values = table.col(at++);
    for (std::size_t b = 0; b < std::size(kBlocks); ++b) {
      const auto width = static_cast<Eigen::Index>(widths_[b]);
      named_.model.*kBlocks[b].values = table.middleCols(at, width);
      at += width;
    }
  }

  std::string_view rest_, line_;
  std::size_t number_ = 0;
  std::size_t columns_ = 0;
  std::size_t widths_[std::size(kBlocks)] = {};
  std::vector<std::string> fields_;
  std::vector<double> values_;  // of the items, one after the other
  NamedItemModel named_;
};

}  // namespace

absl::Status CheckItemModel(const NamedItemModel& model) {
  const Eigen::Index items = model.model.base.size();
  if (items < 1 || items > kMostModelItems)
    return Malformed("it has no items, or more than 10,000,000");
  DPNMF_RETURN_IF_ERROR(CheckNumbers(model.model, items));
  return CheckTexts(model, items);
}

std::vector<std::pair<std::string, Eigen::MatrixXd>> ArraysOf(
    const ItemModel& model) {
  std::vector<std::pair<std::string, Eigen::MatrixXd>> arrays;
  for (const Column& column : kColumns)
    arrays.emplace_back(column.name, model.*column.values);
  for (const Block& block : kBlocks) {
    if ((model.*block.values).cols() > 0)
      arrays.emplace_back(block.array, model.*block.values);
  }
  return arrays;
}

absl::Status SetArray(std::string_view name, Eigen::MatrixXd values,
                      ItemModel* model) {
  for (const Column& column : kColumns) {
    if (name != column.name || values.cols() != 1) continue;
    model->*column.values = values.col(0);
    return absl::OkStatus();
  }
  for (const Block& block : kBlocks) {
    if (name != block.array) continue;
    model->*block.values = std::move(values);
    return absl::OkStatus();
  }
  return Malformed(absl::StrCat("it has no place for `", View(name), "`"));
}

std::string NpzText(const NamedItemModel& model) {
  NpzWriter archive;
  archive.AddInteger("version", kVersion);
  Eigen::VectorXd range(2);
  range << model.model.low, model.model.high;
  archive.AddVector("rating_range", range);
  archive.AddVector("residual_stddev",
                    Eigen::VectorXd::Constant(1, model.model.residual_stddev));
  if (model.model.level > 0)
    archive.AddVector("level", Eigen::VectorXd::Constant(1, model.model.level));
  archive.AddTexts("item", model.items);
  if (!model.names.empty()) archive.AddTexts("name", model.names);
  for (const Column& column : kColumns)
    archive.AddVector(column.name, model.model.*column.values);
  for (const Block& block : kBlocks) {
    const Eigen::MatrixXd& values = model.model.*block.values;
    if (values.cols() > 0) archive.AddMatrix(block.array, values);
  }
  return archive.Take();
}

std::string ItemCsvText(const NamedItemModel& model) {
  const ItemModel& m = model.model;
  std::string text = absl::StrFormat(
      "%s%d, low %.17g, high %.17g, residual_stddev %.17g",
      std::string(kFirstWords), kVersion, m.low, m.high, m.residual_stddev);
  if (m.level > 0) absl::StrAppendFormat(&text, ", level %.17g", m.level);
  text += "\nitem,name";
  for (const Column& column : kColumns)
    absl::StrAppend(&text, ",", column.name);
  for (const Block& block : kBlocks)
    for (Eigen::Index j = 0; j < (m.*block.values).cols(); ++j)
      absl::StrAppend(&text, ",", block.column, j + 1);
  text += '\n';
  for (std::size_t i = 0; i < model.items.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    absl::StrAppend(&text, Field(model.items[i]), ",",
                    model.names.empty() ? "" : Field(model.names[i]));
    for (const Column& column : kColumns)
      absl::StrAppendFormat(&text, ",%.17g", (m.*column.values)(row));
    for (const Block& block : kBlocks)
      for (Eigen::Index j = 0; j < (m.*block.values).cols(); ++j)
        absl::StrAppendFormat(&text, ",%.17g", (m.*block.values)(row, j));
    text += '\n';
  }
  return text;
}

absl::StatusOr<NamedItemModel> ParseItemModel(std::string_view bytes) {
  absl::StatusOr<NamedItemModel> model =
      bytes.starts_with("PK") ? ParseNpz(bytes) : CsvReader(bytes).Read();
  DPNMF_RETURN_IF_ERROR(model.status());
  DPNMF_RETURN_IF_ERROR(CheckItemModel(*model));
  return model;
}

absl::StatusOr<NamedItemModel> ReadItemModel(const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(const std::string bytes,
                         ReadFile(path, kMostModelFileBytes));
  absl::StatusOr<NamedItemModel> model = ParseItemModel(bytes);
  if (model.ok()) return model;
  return Refusal(model.status().code(), ReasonCode(model.status()),
                 absl::StrCat("`", path, "`: ", model.status().message()));
}

}  // namespace dpnmf
