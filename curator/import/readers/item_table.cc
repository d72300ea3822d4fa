#include "curator/import/readers/item_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/files/input_file.h"
#include "common/tables/assemble.h"

namespace dpnmf::curator {
namespace {

constexpr double kLargestFeature = 1e15;

std::string TooLong(std::size_t length, std::size_t most) {
  return absl::StrCat("the text has ", length, " bytes; leave at most ", most);
}

// Bounds and numbers in brackets may be categories: <18, (30).
bool IsNumberInAnotherNotation(std::string_view text) {
  const Notation notation = NotationOf(text);
  return HasNumber(notation) && notation != Notation::kBound &&
         notation != Notation::kQuoted;
}

// One column of the file behind `item,name`.
struct Column {
  std::string name;
  std::uint64_t first_number = 0, first_text = 0;  // lines; 0: none
  std::uint64_t first_empty = 0;
  std::vector<double> numbers;  // as long as there is no text
  // The rows that are of each category, ascending.
  std::map<std::string, std::vector<std::size_t>> categories;
};

// Reads `item,name,...` lines, in the order of the file.
class ItemTableReader {
 public:
  // With `categories`, columns may hold text. With `any_header`, the columns of
  // ids and names need not be called so (LoadFeatureTable).
  ItemTableReader(InputFile* input, bool categories, bool any_header = false,
                  std::string_view what = "item")
      : input_(*input),
        categories_(categories),
        any_header_(any_header),
        what_(what) {}

  absl::StatusOr<ItemTable> Read() {
    std::string_view line;
    while (true) {
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) break;
      if (IsBlank(line, ' ')) continue;
      if (any_header_ && !has_header_ && GuessSeparator(line) != kBlanks)
        separator_ = GuessSeparator(line);
      if (!SplitFields(line, separator_, &fields_)) {
        return input_.Refuse("input-malformed", fields_.size() + 1,
                             "a quoted field must end with a quote before the "
                             "separator; correct or remove the quotes");
      }
      DPNMF_RETURN_IF_ERROR(has_header_ ? AddItem(line) : ReadHeader(line));
    }
    if (table_.ids.empty()) {
      return input_.RefuseAt(
          "input-empty", 0, 0,
          absl::StrCat("the file contains no ", View(what_),
                       "; write a header `", View(what_),
                       ",name` and one line for each ", View(what_)));
    }
    DPNMF_RETURN_IF_ERROR(AddFeatures());
    return std::move(table_);
  }

  // Line number of each item of the table.
  const std::vector<std::uint64_t>& lines() const { return lines_; }

 private:
  absl::Status ReadHeader(std::string_view line) {
    const bool has_names =
        fields_.size() > 1 && absl::EqualsIgnoreCase(View(fields_[1]), "name");
    if (any_header_) {
      first_feature_ = has_names ? 2 : 1;
      if (std::all_of(fields_.begin(), fields_.end(), IsNumber)) {
        return input_.Refuse("input-malformed", 1,
                             "the first line must be a header: a name for the "
                             "ids and one for each feature");
      }
    } else if (!has_names ||
               !absl::EqualsIgnoreCase(View(fields_[0]), "item")) {
      return input_.Refuse("input-malformed", 1,
                           "the first line must begin with `item,name`, "
                           "followed by the names of the features");
    }
    for (std::size_t i = first_feature_; i < fields_.size(); ++i) {
      DPNMF_ASSIGN_OR_RETURN(std::string name, PlainField(line, i));
      if (name.empty()) {
        return input_.Refuse("input-malformed", i + 1,
                             "the feature has no name; write one");
      }
      DPNMF_RETURN_IF_ERROR(CheckLength(name.size(), kLongestItemName, i));
      columns_.emplace_back().name = std::move(name);
    }
    has_header_ = true;
    return absl::OkStatus();
  }

  absl::Status AddItem(std::string_view line) {
    if (fields_.size() != columns_.size() + first_feature_) {
      return input_.Refuse(
          "input-ragged",
          std::min(fields_.size(), columns_.size() + first_feature_) + 1,
          absl::StrCat("the line has ", fields_.size(),
                       " fields and the header has ",
                       columns_.size() + first_feature_,
                       "; put quotes around a field that contains a comma"));
    }
    DPNMF_ASSIGN_OR_RETURN(std::string id, PlainField(line, 0));
    std::string name;
    if (first_feature_ == 2) {
      DPNMF_ASSIGN_OR_RETURN(name, PlainField(line, 1));
    }
    if (id.empty()) {
      return input_.Refuse(
          "input-malformed", 1,
          absl::StrCat("the ", View(what_), " is empty; write its id"));
    }
    DPNMF_RETURN_IF_ERROR(CheckLength(id.size(), kLongestItemId, 0));
    DPNMF_RETURN_IF_ERROR(CheckLength(name.size(), kLongestItemName, 1));
    if (table_.ids.size() == kLargestExtent) {
      return input_.Refuse("input-too-large", 0,
                           "there are more than 100000000 items");
    }
    const auto [known, is_new] = rows_.try_emplace(id, table_.ids.size());
    if (!is_new) {
      return input_.Refuse(
          "input-duplicate", 1,
          absl::StrCat("the ", View(what_), " ", Quoted(id),
                       " is also in line ", lines_[known->second],
                       "; keep one of them"));
    }
    for (std::size_t i = first_feature_; i < fields_.size(); ++i)
      DPNMF_RETURN_IF_ERROR(AddField(line, i));
    table_.names.push_back(name.empty() ? id : std::move(name));
    table_.ids.push_back(std::move(id));
    lines_.push_back(input_.line_number());
    return absl::OkStatus();
  }

  absl::Status AddField(std::string_view line, std::size_t i) {
    Column& column = columns_[i - first_feature_];
    const std::string_view text = TrimBlanks(fields_[i]);
    const std::optional<double> number = ParseNumber(text);
    if (number.has_value()) return AddNumber(*number, i);
    if (!text.empty() && column.first_text == 0)
      column.first_text = input_.line_number();
    if (text.empty() && column.first_empty == 0)
      column.first_empty = input_.line_number();
    if (column.first_number != 0 || !categories_)
      return NotANumber(i, input_.line_number(), text.empty(),
                        column.first_number);
    if (IsNumberInAnotherNotation(text)) {
      return input_.Refuse(
          "input-not-a-number", i + 1,
          absl::StrCat(Quoted(text),
                       " is a number in another notation; write decimal "
                       "numbers with a point, and no separators or units"));
    }
    return AddCategories(line, i);
  }

  absl::Status AddNumber(double number, std::size_t i) {
    Column& column = columns_[i - first_feature_];
    for (const std::uint64_t other : {column.first_text, column.first_empty}) {
      if (other == 0) continue;
      return NotANumber(i, other, other == column.first_empty,
                        input_.line_number());
    }
    if (column.first_number == 0) column.first_number = input_.line_number();
    if (!std::isfinite(number)) {
      return input_.Refuse("input-not-finite", i + 1,
                           "the feature is not finite; give a finite number");
    }
    if (!(std::abs(number) <= kLargestFeature)) {
      return input_.Refuse("input-out-of-range", i + 1,
                           "the feature is above 1e15 in size; rescale it");
    }
    column.numbers.push_back(number);
    return absl::OkStatus();
  }

  // `number_line`: where the column has a number; 0: nowhere.
  absl::Status NotANumber(std::size_t i, std::uint64_t line, bool is_empty,
                          std::uint64_t number_line) const {
    const std::string problem =
        is_empty ? "the field is empty" : "the field is not a number";
    return input_.RefuseAt(
        "input-not-a-number", line, i + 1,
        number_line == 0
            ? problem + "; write a number"
            : absl::StrCat(problem, ", and that of line ", number_line, " is ",
                           is_empty ? "a number" : "one",
                           "; write numbers in all lines or in none"));
  }

  absl::Status AddCategories(std::string_view line, std::size_t i) {
    DPNMF_ASSIGN_OR_RETURN(const std::string text, PlainField(line, i));
    const std::size_t row = table_.ids.size();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('|', begin), text.size());
      const std::string category(
          TrimBlanks(std::string_view(text).substr(begin, end - begin)));
      begin = end + 1;
      if (category.empty()) continue;
      DPNMF_RETURN_IF_ERROR(CheckLength(
          columns_[i - first_feature_].name.size() + 1 + category.size(),
          kLongestItemName, i));
      std::vector<std::size_t>& rows =
          columns_[i - first_feature_].categories[category];
      if (rows.empty() && ++feature_count_ > kMostItemFeatures)
        return TooManyFeatures();
      if (rows.empty() || rows.back() != row) rows.push_back(row);
    }
    return absl::OkStatus();
  }

  absl::Status TooManyFeatures() const {
    return input_.Refuse(
        "input-too-large", 0,
        absl::StrCat("up to here there are more than ", kMostItemFeatures,
                     " features, where each category counts as one; leave "
                     "columns out"));
  }

  // The numbers and the categories, column by column of the file.
  absl::Status AddFeatures() {
    const std::size_t count = table_.ids.size();
    for (Column& column : columns_) {
      if (column.first_number != 0) {
        table_.feature_names.push_back(column.name);
        table_.features.insert(table_.features.end(), column.numbers.begin(),
                               column.numbers.end());
      }
      for (const auto& [category, rows] : column.categories) {
        table_.feature_names.push_back(
            absl::StrCat(column.name, "=", category));
        const std::size_t begin = table_.features.size();
        table_.features.resize(begin + count);
        for (const std::size_t row : rows) table_.features[begin + row] = 1;
      }
    }
    if (table_.feature_names.size() > kMostItemFeatures)
      return TooManyFeatures();
    std::unordered_set<std::string_view> seen;
    for (const std::string& name : table_.feature_names) {
      if (seen.insert(name).second) continue;
      return input_.RefuseAt(
          "input-duplicate", 1, 0,
          absl::StrCat("the feature ", Quoted(name),
                       " is there twice; give each item its own name"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckLength(std::size_t length, std::size_t most,
                           std::size_t i) const {
    if (length <= most) return absl::OkStatus();
    return input_.Refuse("input-too-large", i + 1, TooLong(length, most));
  }

  // A field that others will see.
  absl::StatusOr<std::string> PlainField(std::string_view line,
                                         std::size_t i) const {
    std::string text = FieldText(line, fields_[i]);
    if (IsPlainText(text)) return text;
    return input_.Refuse("input-malformed", i + 1,
                         absl::StrCat(Quoted(text),
                                      " is not UTF-8 or contains a control "
                                      "character; convert the file to UTF-8"));
  }

  InputFile& input_;
  const bool categories_;
  const bool any_header_;
  const std::string_view what_;
  char separator_ = ',';
  std::size_t first_feature_ = 2;  // column
  bool has_header_ = false;
  std::vector<std::string_view> fields_;  // of the current line
  std::vector<Column> columns_;
  std::size_t feature_count_ = 0;  // categories so far
  std::unordered_map<std::string, std::size_t> rows_;
  std::vector<std::uint64_t> lines_;
  ItemTable table_;
};

// `table` in the order of `ids`.
ItemTable InOrder(const ItemTable& table, std::vector<std::string> ids,
                  const std::vector<std::size_t>& rows) {
  ItemTable ordered;
  const std::size_t count = ids.size();
  ordered.ids = std::move(ids);
  ordered.feature_names = table.feature_names;
  ordered.features.resize(table.features.size());
  for (std::size_t i = 0; i < count; ++i) {
    ordered.names.push_back(table.names[rows[i]]);
    for (std::size_t j = 0; j < table.feature_names.size(); ++j)
      ordered.features[j * count + i] = table.features[j * count + rows[i]];
  }
  return ordered;
}

std::string Field(const std::string& text) {
  const bool plain = text.find_first_of(",\"") == std::string::npos &&
                     !text.starts_with(' ') && !text.ends_with(' ');
  if (plain) return text;
  return CsvQuoted(text);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LoadIds(const std::string& path,
                                                 NameListOptions options) {
  options.longest = kLongestItemId;
  return LoadNameList(path, options);
}

absl::StatusOr<std::vector<std::string>> CheckedIds(
    const std::string& place, std::vector<std::string> ids,
    std::string_view what) {
  const auto refuse = [&](std::string_view code, std::size_t number,
                          std::string_view problem) {
    return Refusal(absl::StatusCode::kInvalidArgument, code,
                   absl::StrCat(place, number, ": ", View(problem), "."));
  };
  if (ids.size() > kLargestExtent) {
    return refuse(
        "input-too-large", kLargestExtent + 1,
        absl::StrCat("there are more than 100000000 ", View(what), "s"));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].size() > kLongestItemId) {
      return refuse("input-too-large", i + 1,
                    TooLong(ids[i].size(), kLongestItemId));
    }
    if (IsPlainText(ids[i])) continue;
    return refuse("input-malformed", i + 1,
                  absl::StrCat(Quoted(ids[i]),
                               " is not UTF-8 or contains a control "
                               "character; convert the file to UTF-8"));
  }
  return ids;
}

absl::StatusOr<std::vector<std::string>> ReadFeatureNames(
    const std::string& directory, const DatasetDescription& description) {
  if (!description.named_features) return std::vector<std::string>();
  const std::string path = directory + "/features.txt";
  DPNMF_ASSIGN_OR_RETURN(std::vector<std::string> names, ReadNameLines(path));
  DPNMF_ASSIGN_OR_RETURN(names, CheckedIds(absl::StrCat("`", path, "`, line "),
                                           std::move(names), "feature"));
  if (names.size() == description.features) return names;
  return Refusal(
      absl::StatusCode::kDataLoss, "dataset-damaged",
      absl::StrCat("The data set at ", directory, " has ", description.features,
                   " features, and ", names.size(),
                   " names in features.txt; restore it from a backup."));
}

absl::StatusOr<ItemTable> LoadItemTable(const std::string& items_file,
                                        const std::string& features_file,
                                        NameListOptions list) {
  list.what = "item";
  DPNMF_ASSIGN_OR_RETURN(std::vector<std::string> ids,
                         LoadIds(items_file, std::move(list)));
  if (features_file.empty()) {
    ItemTable table;
    table.names = ids;
    table.ids = std::move(ids);
    return table;
  }
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                         InputFile::Open(features_file));
  ItemTableReader reader(input.get(), /*categories=*/true);
  DPNMF_ASSIGN_OR_RETURN(const ItemTable table, reader.Read());
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < ids.size(); ++i) places[ids[i]] = i;
  constexpr auto kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> rows(ids.size(), kNone);
  for (std::size_t row = 0; row < table.ids.size(); ++row) {
    const auto place = places.find(table.ids[row]);
    if (place == places.end()) {
      return input->RefuseAt(
          "item-unknown", reader.lines()[row], 1,
          absl::StrCat("the item ", Quoted(table.ids[row]), " is not in `",
                       items_file, "`; add it there or remove the line"));
    }
    rows[place->second] = row;
  }
  const auto missing = std::find(rows.begin(), rows.end(), kNone);
  if (missing != rows.end()) {
    const auto i = static_cast<std::size_t>(missing - rows.begin());
    return Refusal(
        absl::StatusCode::kInvalidArgument, "features-mismatch",
        absl::StrCat("`", items_file, "`: the item ", Quoted(ids[i]),
                     " has no line in `", features_file, "`, which has ",
                     table.ids.size(), " of ", ids.size(), " items; add it."));
  }
  return InOrder(table, std::move(ids), rows);
}

absl::StatusOr<ItemTable> LoadFeatureTable(const std::string& features_file,
                                           std::string_view what) {
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                         InputFile::Open(features_file));
  return ItemTableReader(input.get(), /*categories=*/true, /*any_header=*/true,
                         what)
      .Read();
}

std::string ItemTableText(const ItemTable& items) {
  std::string text = "item,name";
  for (const std::string& name : items.feature_names)
    absl::StrAppend(&text, ",", Field(name));
  text += '\n';
  const std::size_t count = items.ids.size();
  for (std::size_t i = 0; i < count; ++i) {
    absl::StrAppend(&text, Field(items.ids[i]), ",", Field(items.names[i]));
    for (std::size_t j = 0; j < items.feature_names.size(); ++j) {
      char number[32];
      const auto end = std::to_chars(number, number + sizeof number,
                                     items.features[j * count + i]);
      absl::StrAppend(&text, ",",
                      absl::string_view(
                          number, static_cast<std::size_t>(end.ptr - number)));
    }
    text += '\n';
  }
  return text;
}

absl::StatusOr<ItemTable> ReadItemTable(const std::string& directory,
                                        const DatasetDescription& description) {
  const auto damaged = [&](absl::string_view problem) {
    return Refusal(
        absl::StatusCode::kDataLoss, "dataset-damaged",
        absl::StrCat("The data set at ", directory, " is damaged: ", problem,
                     "; restore it from a backup or import it "
                     "again."));
  };
  if (!description.ratings.has_value())
    return damaged("it is not one of ratings and has no items");
  const auto input = InputFile::Open(absl::StrCat(directory, "/items.csv"));
  if (!input.ok()) return damaged("items.csv cannot be read");
  absl::StatusOr<ItemTable> table =
      ItemTableReader(input->get(), /*categories=*/false).Read();
  if (!table.ok())
    return damaged(absl::StripSuffix(table.status().message(), "."));
  if (table->ids.size() != description.features ||
      table->feature_names.size() != description.ratings->item_features) {
    return damaged("items.csv has another number of items or features");
  }
  return table;
}

}  // namespace dpnmf::curator
