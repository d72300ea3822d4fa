#include "common/tables/text_matrix.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/files/match_names.h"
#include "common/tables/assemble.h"
#include "common/tables/label_guess.h"

namespace dpnmf {
namespace {

using Fields = std::vector<std::string_view>;

std::size_t LeadingNonNumbers(const Fields& fields) {
  return static_cast<std::size_t>(
      std::find_if(fields.begin(), fields.end(), IsNumber) - fields.begin());
}

// Returns whether the fields are 0, 1, 2 and so on, at least two of them.
bool CountsFromZero(Fields::const_iterator at, Fields::const_iterator end) {
  if (end - at < 2) return false;
  for (double expected = 0; at != end; ++at, ++expected)
    if (ParseNumber(*at) != expected) return false;
  return true;
}

// A number however it is written: with blanks, quotes or commas anywhere in it,
// as '0', "3.5, 1 000, 1,5 and nan.
bool LooksLikeNumber(std::string_view name) {
  constexpr std::string_view kAround = " \t\r\v\f\"'`,";
  std::string bare;
  for (const char c : name)
    if (kAround.find(c) == std::string_view::npos) bare += c;
  return IsNumber(bare);
}

// Advice on a field that should be one of several.
std::string AdviceOnSeparator(std::string_view field) {
  const char* const name = field.find(';') != field.npos    ? "semicolon"
                           : field.find('\t') != field.npos ? "tab"
                           : field.find('|') != field.npos  ? "bar"
                                                            : nullptr;
  if (name == nullptr) return "check the separator (--delimiter)";
  return absl::StrCat("if fields are separated so, give --delimiter ", name);
}

class TextMatrixReader {
 public:
  TextMatrixReader(InputFile* input, char separator, const LoadOptions& options)
      : input_(*input), separator_(separator), options_(options) {}

  absl::StatusOr<LoadedMatrix> Read(bool users_are_rows) {
    users_are_rows_ = users_are_rows;
    DPNMF_ASSIGN_OR_RETURN(bool more, NextRow());
    if (!more)
      return input_.RefuseAt("input-empty", 0, 0,
                             "the file is empty; give another");
    if (!options_.id_name.empty()) DPNMF_RETURN_IF_ERROR(FindIdByName());
    DPNMF_ASSIGN_OR_RETURN(const bool has_header, IsHeader());
    if (!has_header && class_behind_first_) return NoClass(fields_.size());
    if (has_header) {
      header_ = std::move(first_line_);
      class_behind_first_ = false;
      DPNMF_ASSIGN_OR_RETURN(more, NextRow());
      if (!more) {
        return input_.Refuse(
            "input-empty", 0,
            "there is a header, but no row of numbers after it");
      }
    }
    DPNMF_RETURN_IF_ERROR(FixLayout(has_header));
    DPNMF_RETURN_IF_ERROR(CheckFeatureNames());
    DPNMF_RETURN_IF_ERROR(CheckHeaderOfEntries());
    while (more) {
      DPNMF_RETURN_IF_ERROR(AddRow());
      DPNMF_ASSIGN_OR_RETURN(more, NextRow());
    }
    DPNMF_RETURN_IF_ERROR(
        refused_.Verdict("entries and lines", options_.refused));
    DPNMF_RETURN_IF_ERROR(CheckLabelsOf(users_are_rows));
    DPNMF_RETURN_IF_ERROR(CheckIds());
    NoteNames();
    if (options_.table != nullptr) return TakeTable();
    LoadedMatrix matrix =
        DenseOfRows(std::move(values_), rows_, entries_.size(), users_are_rows);
    matrix.ids = std::move(ids_);
    matrix.labels = std::move(labels_);
    matrix.lines = std::move(lines_);
    if (options_.names_from_header) matrix.feature_names = HeaderOfEntries();
    return matrix;
  }

 private:
  // LoadTable: the numbers, with the names above and in front.
  LoadedMatrix TakeTable() {
    LoadedMatrix table = DenseOfRows(std::move(numbers_), rows_,
                                     entries_.size(), users_are_rows_);
    std::vector<std::string> above = HeaderOfEntries();
    (users_are_rows_ ? table.ids : table.feature_names) = NamesInFront();
    (users_are_rows_ ? table.feature_names : table.ids) = std::move(above);
    if (!users_are_rows_ || entries_.size() + in_front_.size() == width_)
      return table;
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (!header_[i].empty() &&
          !std::binary_search(entries_.begin(), entries_.end(), i) &&
          std::find(in_front_.begin(), in_front_.end(), i) == in_front_.end())
        table.left_out.emplace_back(TrimBlanks(header_[i]));
    }
    return table;
  }

  // A name for each row: from the column of labels in which the most features
  // are found, or no name stands twice; else from all columns together.
  std::vector<std::string> NamesInFront() {
    std::size_t most = 0;
    std::vector<std::string>* best = nullptr;
    for (std::vector<std::string>& names : labels_in_front_) {
      const std::size_t found =
          MatchNames(options_.table->feature_names, names).found;
      const std::unordered_set<std::string_view> different(names.begin(),
                                                           names.end());
      if (found > most || (best == nullptr && different.size() == rows_))
        best = &names;
      most = std::max(most, found);
    }
    if (best != nullptr) return std::move(*best);
    std::vector<std::string> joined(in_front_.empty() ? 0 : rows_);
    for (const std::vector<std::string>& names : labels_in_front_)
      for (std::size_t i = 0; i < names.size(); ++i)
        absl::StrAppend(&joined[i], joined[i].empty() ? "" : " ", names[i]);
    return joined;
  }

  // The columns of a table that are entries, and those that name its rows.
  absl::Status FixTable() {
    // The separator is another one.
    if (label_columns_ >= width_) return absl::OkStatus();
    if (!guessed_) words_only_ = 0;  // the header tells labels
    const auto id = FindNamesByHeader(header_);
    if (users_are_rows_ && !header_.empty() &&
        !options_.table->feature_names.empty())
      DPNMF_RETURN_IF_ERROR(ChooseFeatures());
    if (entries_.empty()) {
      // A column of numbers that the header calls an id, before all features.
      if (id == 0u && label_columns_ == 0 &&
          options_.table->features == width_ - 1)
        label_columns_ = 1;
      for (std::size_t i = label_columns_; i < width_; ++i)
        entries_.push_back(i);
    }
    const auto is_label = [&](std::size_t i) {
      return !std::binary_search(entries_.begin(), entries_.end(), i);
    };
    if (!users_are_rows_) {
      for (std::size_t i = 0; i < label_columns_; ++i) in_front_.push_back(i);
    } else if (id.has_value() && is_label(*id)) {
      in_front_.push_back(*id);
    } else if (label_columns_ > 0 && is_label(0)) {
      in_front_.push_back(0);
    }
    labels_in_front_.resize(in_front_.size());
    return absl::OkStatus();
  }

  // The columns whose names are those of features that are known.
  absl::Status ChooseFeatures() {
    std::vector<std::string> above;
    for (const std::string& field : header_)
      above.emplace_back(TrimBlanks(field));
    std::unordered_set<std::string_view> chosen;
    for (const std::ptrdiff_t place :
         MatchNames(options_.table->feature_names, above).places)
      if (place >= 0) chosen.insert(above[static_cast<std::size_t>(place)]);
    if (chosen.empty()) {
      above.erase(above.begin(),
                  above.begin() + static_cast<std::ptrdiff_t>(label_columns_));
      return input_.RefuseAt("features-mismatch", 0, 0,
                             NoNameFound(options_.table->feature_names, above));
    }
    words_only_ = 0;
    guessed_ = false;
    for (std::size_t i = 0; i < above.size(); ++i)
      if (chosen.contains(above[i])) entries_.push_back(i);
    return absl::OkStatus();
  }

  // Splits the next line that is not empty; empty lines may stand only at the
  // end of the file.
  absl::StatusOr<bool> NextRow() {
    std::uint64_t empty_line = 0;
    while (true) {
      std::string_view line;
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) return false;
      if (IsBlank(line, separator_)) {
        if (empty_line == 0) empty_line = input_.line_number();
        continue;
      }
      if (empty_line != 0) {
        refused_.Note(input_.RefuseAt(
            "input-ragged", empty_line, 1,
            "the line is empty; remove it or write its numbers"));
        empty_line = 0;
      }
      if (AddPlainRow(line)) continue;
      if (SplitFields(line, separator_, &fields_)) {
        if (width_ == 0) {
          first_line_.clear();
          for (const std::string_view field : fields_)
            first_line_.push_back(FieldText(line, field));
        }
        DPNMF_RETURN_IF_ERROR(TakeClass(line));
        line_ = line;
        return true;
      }
      absl::Status malformed =
          input_.Refuse("input-malformed", fields_.size() + 1,
                        "a quoted field must end with a quote before the "
                        "separator; correct or remove the quotes");
      if (width_ == 0) return malformed;  // the layout is not known yet
      refused_.Note(std::move(malformed));
    }
  }

  // Takes the field of the class out of the line: whatever the other fields
  // are, they are so without it.
  absl::Status TakeClass(std::string_view line) {
    if (!options_.class_column.has_value()) return absl::OkStatus();
    const auto column = static_cast<std::size_t>(*options_.class_column);
    // The first line may be a header as R writes it: one field fewer.
    if (width_ == 0 && header_.empty() && column == fields_.size() + 1 &&
        options_.header.value_or(
            std::none_of(fields_.begin(), fields_.end(), IsNumber))) {
      class_behind_first_ = true;
      return absl::OkStatus();
    }
    if (column < 1 || column > fields_.size()) return NoClass(fields_.size());
    class_ = FieldText(line, fields_[column - 1]);
    fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(column) - 1);
    if (!fields_.empty()) return absl::OkStatus();
    return input_.Refuse("input-malformed", column,
                         "the line has no field besides the class; check the "
                         "separator");
  }

  absl::Status NoClass(std::size_t fields) const {
    return input_.Refuse(
        "class-column-out-of-range", fields,
        absl::StrCat("the line has ", fields,
                     " fields, and the class is declared in field ",
                     *options_.class_column, "; correct --class-column"));
  }

  // The number of fields_[index] in the file.
  std::uint64_t FieldNumber(std::size_t index) const {
    const bool behind =
        options_.class_column.has_value() &&
        index + 1 >= static_cast<std::size_t>(*options_.class_column);
    return index + (behind ? 2 : 1);
  }

  // So many fields, with that of the class.
  std::size_t InFile(std::size_t fields) const {
    return fields + (options_.class_column.has_value() ? 1 : 0);
  }

  absl::Status AddLabel() {
    if (!options_.class_column.has_value()) return absl::OkStatus();
    const auto& classes = options_.classes;
    const auto found = std::find(classes.begin(), classes.end(), class_);
    if (found == classes.end()) {
      refused_.Note(input_.Refuse(
          "class-unknown", static_cast<std::uint64_t>(*options_.class_column),
          absl::StrCat("the label ", Quoted(class_),
                       " is not declared; declare it with --classes, or "
                       "correct it")));
      return absl::OkStatus();
    }
    labels_.push_back(static_cast<std::int32_t>(found - classes.begin()));
    return absl::OkStatus();
  }

  // Most rows are numbers and separators and nothing else: read in one pass,
  // with the values that ParseEntry has. False, with nothing added, for any
  // other row.
  bool AddPlainRow(std::string_view line) {
    if (!plain_ || refused_.any()) return false;
    const std::size_t before = values_.size();
    const std::size_t lines_before = lines_.values.size();
    const char* at = line.data();
    const char* const end = at + line.size();
    for (std::size_t field = 0; field < width_; ++field) {
      if (field > 0 && (at == end || *at++ != separator_)) break;
      if (field < label_columns_) {
        const void* const next =
            std::memchr(at, separator_, static_cast<std::size_t>(end - at));
        if (next == nullptr ||
            std::memchr(at, '"', static_cast<std::size_t>(end - at)))
          break;
        const std::string_view label(at, static_cast<const char*>(next));
        // A number among the words is refused (AddRow).
        if (field < words_only_ && IsNumber(label)) break;
        if (lines_.width > 0) lines_.values.push_back(ParseAnyFloat(label));
        at = static_cast<const char*>(next);
        continue;
      }
      float value = 0;
      if (!ReadPlainEntry(&at, end, &value)) break;
      values_.push_back(value);
    }
    if (at == end && values_.size() - before == entries_.size()) {
      if (lines_.width > 0) {
        lines_.values.insert(
            lines_.values.end(),
            values_.begin() + static_cast<std::ptrdiff_t>(before),
            values_.end());
      }
      ++rows_;
      return true;
    }
    values_.resize(before);
    lines_.values.resize(lines_before);
    return false;
  }

  // Digits, or any number of std::from_chars, up to a separator or the end.
  bool ReadPlainEntry(const char** at, const char* end, float* value) const {
    constexpr std::ptrdiff_t kMostDigits = 7;  // a float holds them exactly
    const char* digit = *at;
    std::uint32_t whole = 0;
    while (digit < end && digit - *at < kMostDigits && *digit >= '0' &&
           *digit <= '9')
      whole = 10 * whole + static_cast<std::uint32_t>(*digit++ - '0');
    if (digit > *at && (digit == end || *digit == separator_)) {
      *value = static_cast<float>(whole);
      *at = digit;
      return true;
    }
    double number = 0;
    const auto [rest, error] = std::from_chars(*at, end, number);
    if (error != std::errc() || (rest != end && *rest != separator_) ||
        ToEntry(number, value).has_value())
      return false;
    *at = rest;
    return true;
  }

  // A header has no number in it. A first line of words and numbers could be a
  // header, the first labelled row, or a row with a missing value: nobody's row
  // is dropped on a guess.
  absl::StatusOr<bool> IsHeader() {
    if (options_.header.has_value()) return *options_.header;
    const auto labels = std::min(
        fields_.size(), static_cast<std::size_t>(LabelColumns().value_or(0)));
    const auto begin = fields_.begin() + static_cast<std::ptrdiff_t>(labels);
    const auto numbers = std::count_if(begin, fields_.end(), IsNumber);
    if (numbers == fields_.end() - begin) {
      // A table of D rows does not become one of D + 1 without being refused.
      const bool is_counted = options_.table != nullptr && !users_are_rows_;
      if (is_counted || !CountsFromZero(begin, fields_.end())) return false;
      return input_.Refuse(
          "input-ambiguous", FieldNumber(labels),
          absl::StrCat("the first line is 0 to ", numbers - 1,
                       ": it could be a header, which pandas writes by "
                       "default, or a row; give --header yes or --header no"));
    }
    if (numbers == 0) return true;
    const auto word = std::find_if_not(begin, fields_.end(), IsNumber);
    return input_.Refuse(
        "input-ambiguous",
        FieldNumber(static_cast<std::size_t>(word - fields_.begin())),
        absl::StrCat(Quoted(*word),
                     " is not a number, but other fields of the first line "
                     "are; give --header yes or --header no"));
  }

  // The first line is a header and says where the id is. Whoever declared the
  // name once gets no other column for it.
  absl::Status FindIdByName() {
    const auto refuse = [this](std::string_view problem) {
      return input_.RefuseAt(
          "id-column-missing", 0, 0,
          absl::StrCat("people are identified by the column ",
                       Quoted(options_.id_name), ", and ", View(problem)));
    };
    std::optional<int> found;
    for (std::size_t i = 0; i < first_line_.size(); ++i) {
      if (TrimBlanks(first_line_[i]) != options_.id_name) continue;
      if (found.has_value())
        return refuse("the header has it twice; give one another name");
      found = static_cast<int>(i) + 1;
    }
    if (!found.has_value() || options_.header == false)
      return refuse(
          "the file's header does not have it; correct the name, or write a "
          "header if there is none");
    if (options_.id_column.has_value() && options_.id_column != found)
      return refuse("--id-column names another; leave it out");
    if (options_.class_column == found)
      return refuse("--class-column names it too; give another column");
    options_.header = true;
    options_.id_column = found;
    return absl::OkStatus();
  }

  // From the first row of numbers: its width and how many labels lead it.
  absl::Status FixLayout(bool has_header) {
    width_ = fields_.size();
    words_only_ = LeadingNonNumbers(fields_);
    std::size_t named = 0;  // by the header
    if (has_header) {
      // R writes no field above the row names.
      const bool unnamed_labels = header_.size() + 1 == InFile(width_);
      if (!unnamed_labels && header_.size() != InFile(width_)) {
        return input_.Refuse("input-ragged",
                             std::min(header_.size(), InFile(width_)) + 1,
                             absl::StrCat("the line has ", InFile(width_),
                                          " fields and the header has ",
                                          header_.size(), "; make them equal"));
      }
      if (unnamed_labels && !options_.id_name.empty()) {
        return input_.RefuseAt(
            "id-column-missing", 0, 0,
            "the header has one field fewer than the rows, so it does not say "
            "which column is the id; give every column a name");
      }
      if (unnamed_labels) header_.insert(header_.begin(), "");
      if (options_.class_column.has_value())
        header_.erase(header_.begin() + *options_.class_column - 1);
      while (named < header_.size() && header_[named].empty()) ++named;
      // The names of the features in a file of `dpnmf model`.
      if (named == 0 && !users_are_rows_ && header_[0] == "feature") named = 1;
    }
    label_columns_ = std::max(words_only_, named);
    guessed_ = words_only_ > named;
    if (LabelColumns().has_value()) {
      label_columns_ = static_cast<std::size_t>(*LabelColumns());
      words_only_ = 0;
      guessed_ = false;
    }
    if (options_.id_column.has_value() &&
        (*options_.id_column < 1 || IdIndex() >= width_)) {
      return input_.Refuse(
          "id-column-out-of-range", InFile(width_),
          absl::StrCat("the line has ", InFile(width_),
                       " fields, and the id is declared in "
                       "field ",
                       *options_.id_column, "; correct --id-column"));
    }
    if (options_.table != nullptr) {
      DPNMF_RETURN_IF_ERROR(FixTable());
    } else if (!options_.columns.empty()) {
      return ChooseColumns();
    }
    if (options_.id_column.has_value() && IdIndex() >= label_columns_) {
      return input_.RefuseAt(
          "id-column-out-of-range", 0, 0,
          absl::StrCat("the id stands in field ", *options_.id_column,
                       ", and --label-columns does not count it among the "
                       "labels; leave --label-columns out, or name the entries "
                       "with --columns"));
    }
    if (options_.table == nullptr) {
      for (std::size_t i = label_columns_; i < width_; ++i)
        entries_.push_back(i);
      plain_ = separator_ != kBlanks && !options_.class_column.has_value() &&
               !options_.id_column.has_value();
      KeepLines();
    }
    if (!entries_.empty()) return absl::OkStatus();
    return input_.Refuse(
        "input-not-a-number", 1,
        absl::StrCat("the line has no number after its labels (first field ",
                     Quoted(fields_[0]), "); ", AdviceOnSeparator(fields_[0])));
  }

  // The columns that --columns names.
  absl::Status ChooseColumns() {
    words_only_ = 0;
    guessed_ = false;
    std::vector<bool> chosen(width_, options_.columns == "all");
    if (options_.columns == "all") {
      std::fill_n(chosen.begin(), std::min(label_columns_, width_), false);
    } else {
      for (const absl::string_view name :
           absl::StrSplit(options_.columns, ',')) {
        DPNMF_RETURN_IF_ERROR(
            ChooseColumn(TrimBlanks({name.data(), name.size()}), &chosen));
      }
    }
    if (options_.id_column.has_value() && chosen[IdIndex()]) {
      return input_.RefuseAt(
          "id-column-out-of-range", 0, 0,
          absl::StrCat("--columns contains the field ", *options_.id_column,
                       ", which --id-column declares as the id; leave it out "
                       "of --columns"));
    }
    for (std::size_t i = 0; i < width_; ++i)
      if (chosen[i]) entries_.push_back(i);
    KeepLines();
    return entries_.empty() ? UnknownColumn(options_.columns)
                            : absl::OkStatus();
  }

  absl::Status ChooseColumn(std::string_view name, std::vector<bool>* chosen) {
    const auto in_header = std::find(header_.begin(), header_.end(), name);
    if (in_header != header_.end()) {
      (*chosen)[static_cast<std::size_t>(in_header - header_.begin())] = true;
      return absl::OkStatus();
    }
    const std::size_t dash = name.find('-');
    const auto first = ParseWhole(name.substr(0, dash));
    const auto last = dash == std::string_view::npos
                          ? first
                          : ParseWhole(name.substr(dash + 1));
    if (!first.has_value() || !last.has_value() || *first < 1 ||
        *last < *first || *last > InFile(width_))
      return UnknownColumn(name);
    for (std::size_t i = 0; i < width_; ++i)
      if (FieldNumber(i) >= *first && FieldNumber(i) <= *last)
        (*chosen)[i] = true;
    return absl::OkStatus();
  }

  // Keeps whole lines if a person's line may have more numbers than entries.
  void KeepLines() {
    if (!users_are_rows_ || entries_.size() == InFile(width_)) return;
    // Labels that were guessed from words have no number.
    if (entries_.size() + words_only_ == InFile(width_)) return;
    lines_.width = InFile(width_);
    lines_.is_entry.resize(lines_.width);
    for (const std::size_t i : entries_)
      lines_.is_entry[FieldNumber(i) - 1] = true;
    if (options_.class_column.has_value())
      lines_.class_field = static_cast<std::size_t>(*options_.class_column) - 1;
    if (options_.id_column.has_value())
      lines_.id_field = static_cast<std::size_t>(*options_.id_column) - 1;
  }

  // All numbers of the line, with that of the class.
  void KeepLine() {
    if (lines_.width == 0 || refused_.any()) return;
    const std::size_t begin = lines_.values.size();
    lines_.values.resize(begin + lines_.width);
    for (std::size_t i = 0; i < width_; ++i)
      lines_.values[begin + FieldNumber(i) - 1] = ParseAnyFloat(fields_[i]);
    if (lines_.class_field.has_value())
      lines_.values[begin + *lines_.class_field] = ParseAnyFloat(class_);
  }

  absl::Status UnknownColumn(std::string_view name) const {
    return input_.RefuseAt(
        "columns-unknown", 0, 0,
        absl::StrCat("--columns names ", Quoted(name),
                     ", and the file has no such column of entries among its ",
                     InFile(width_),
                     "; give numbers from 1, ranges as 2-65, names of the "
                     "header, or all"));
  }

  absl::Status AddRow() {
    if (fields_.size() != width_) {
      refused_.Note(
          input_.Refuse("input-ragged", std::min(fields_.size(), width_) + 1,
                        absl::StrCat("the line has ", InFile(fields_.size()),
                                     " fields and the lines before have ",
                                     InFile(width_), "; make them equal")));
      return absl::OkStatus();
    }
    for (std::size_t i = 0; i < words_only_; ++i) {
      if (!IsNumber(fields_[i])) continue;
      return input_.Refuse(
          "input-ambiguous", FieldNumber(i),
          absl::StrCat("the number ", Quoted(fields_[i]),
                       " is in a column of labels; give --label-columns K"));
    }
    if (options_.id_column.has_value()) {
      const std::size_t at = IdIndex();
      ids_.emplace_back(TrimBlanks(FieldText(line_, fields_[at])));
      if (ids_.back().empty()) {
        refused_.Note(input_.Refuse("input-malformed", FieldNumber(at),
                                    "the id is empty; give every person one"));
      }
    }
    for (std::size_t k = 0; k < in_front_.size(); ++k) {
      labels_in_front_[k].emplace_back(
          TrimBlanks(FieldText(line_, fields_[in_front_[k]])));
    }
    for (const std::size_t i : entries_) {
      float entry = 0;
      double number = 0;
      const auto problem =
          options_.table != nullptr
              ? ParseNumber(fields_[i], !options_.table->negative, &number)
              : ParseEntry(fields_[i], &entry);
      if (problem.has_value()) {
        refused_.Note(
            input_.Refuse(problem->code, FieldNumber(i), problem->sentence));
      }
      if (refused_.any()) continue;
      if (options_.table != nullptr) {
        numbers_.push_back(number);
      } else {
        values_.push_back(entry);
      }
    }
    ++rows_;
    KeepLine();
    return AddLabel();
  }

  // Label columns as declared, without the class, which --label-columns counts
  // if it is among them; without this flag, --id-column declares that the
  // fields up to the id are labels.
  std::optional<int> LabelColumns() const {
    if (options_.label_columns.has_value()) {
      const bool has_class = options_.class_column.has_value() &&
                             *options_.class_column <= *options_.label_columns;
      return *options_.label_columns - (has_class ? 1 : 0);
    }
    if (!options_.id_column.has_value()) return std::nullopt;
    return static_cast<int>(IdIndex()) + 1;
  }

  // Index of the id in fields_, which lack the class. There must be an id
  // column.
  std::size_t IdIndex() const {
    const bool behind_class = options_.class_column.has_value() &&
                              *options_.class_column < *options_.id_column;
    return static_cast<std::size_t>(*options_.id_column) -
           (behind_class ? 2 : 1);
  }

  // Two people with one id: the column is no id, or a person has two rows.
  absl::Status CheckIds() const {
    std::vector<std::string_view> sorted(ids_.begin(), ids_.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice == sorted.end()) return absl::OkStatus();
    return input_.RefuseAt("input-duplicate", 0, 0,
                           absl::StrCat("the id ", Quoted(*twice),
                                        " is in two rows; give every person "
                                        "one row, or another --id-column"));
  }

  // Labels that were guessed are in every row, so that any row tells how many
  // features there are: which one it is does not matter, and no person's data
  // decide it (docs/reference/privacy.md). One row alone would.
  absl::Status CheckLabelsOf(bool users_are_rows) const {
    if (!users_are_rows || !guessed_ || rows_ > 1 || options_.table != nullptr)
      return absl::OkStatus();
    return input_.Refuse("input-ambiguous", 1,
                         "the file has only one row, which would determine the "
                         "number of features; give --label-columns K");
  }

  std::vector<std::string> HeaderOfEntries() const {
    std::vector<std::string> header;
    for (const std::size_t i : entries_)
      if (i < header_.size()) header.emplace_back(TrimBlanks(header_[i]));
    return header;
  }

  // Checks names from the header: one for each column of entries.
  absl::Status CheckFeatureNames() const {
    if (!options_.names_from_header) return absl::OkStatus();
    const auto refuse = [this](std::string_view problem) {
      return input_.RefuseAt("features-mismatch", 0, 0, problem);
    };
    const std::vector<std::string> names = HeaderOfEntries();
    if (!users_are_rows_ || names.size() != entries_.size()) {
      return refuse(
          "--features-from-header needs a header and people in rows; write the "
          "names into a file for --features");
    }
    // A person's row that --header yes calls a header would be published. The
    // sentence does not quote it.
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (!LooksLikeNumber(header_[i])) continue;
      return input_.RefuseAt(
          "header-not-names", 0, 0,
          absl::StrCat("field ", FieldNumber(i),
                       " of the header is a number, so the first row looks "
                       "like a person, whose values --features-from-header "
                       "would publish; write the names into a file for "
                       "--features, and give --header no if the first row is "
                       "a person"));
    }
    std::unordered_set<std::string_view> seen;
    for (const std::string& name : names) {
      if (name.empty())
        return refuse(
            "a field of the header above the entries is empty; "
            "write the name of the feature");
      if (!seen.insert(name).second) {
        return refuse(absl::StrCat("the header has the name ", Quoted(name),
                                   " twice; give each feature its own"));
      }
    }
    return absl::OkStatus();
  }

  bool LayoutIsDeclared() const {
    return LabelColumns().has_value() || !options_.columns.empty();
  }

  // A column that the header calls an id is not read as data on a guess. The
  // header is nobody's row, so no person decides this.
  absl::Status CheckHeaderOfEntries() const {
    // Names or the number of features tell the ids of a table in rows.
    if (LayoutIsDeclared() || (options_.table != nullptr && users_are_rows_))
      return absl::OkStatus();
    const std::vector<std::string> header = HeaderOfEntries();
    const auto names = FindNamesByHeader(header);
    if (!names.has_value()) return absl::OkStatus();
    const std::size_t column = FieldNumber(entries_[*names]);
    return input_.RefuseAt(
        "input-ambiguous", 0, 0,
        absl::StrCat(
            "column ", column, " could name people or features (its header is ",
            Quoted(header[*names]), "); ",
            *names > 0 ? std::string("give --columns with the columns that "
                                     "hold entries, or --columns all")
                       : absl::StrCat("give --label-columns ", column,
                                      " if it does, else --label-columns ",
                                      column - 1)));
  }

  // The entries are people's data. Whatever they look like, they are read as
  // declared: a question about them would let one person's row decide D
  // (docs/reference/privacy.md, section 2).
  void NoteNames() const {
    if (LayoutIsDeclared() || !options_.note) return;
    const auto names = FindNamesByEntries(values_, entries_.size());
    if (!names.has_value()) return;
    options_.note(absl::StrCat(
        "Column ", FieldNumber(entries_[names->column]),
        " is read as data, because neither the header nor a flag calls it "
        "names, but it could be names (",
        names->why,
        "): see \"Columns of names\" in docs/reference/formats.md"));
  }

  InputFile& input_;
  const char separator_;
  LoadOptions options_;    // FindIdByName completes them
  Fields fields_;          // of the current line
  std::string_view line_;  // that they point into
  std::vector<std::string> first_line_;
  bool class_behind_first_ = false;   // the first line ends before the class
  std::vector<std::string> header_;   // empty: none; FixLayout drops the class
  std::size_t width_ = 0;             // fields of a row, without the class
  std::size_t label_columns_ = 0;     // leading fields that are not entries
  std::size_t words_only_ = 0;        // of these, the ones guessed from a word
  bool guessed_ = false;              // a word decided label_columns_
  std::vector<std::size_t> entries_;  // the fields that are entries, ascending
  std::vector<float> values_;         // row after row
  // LoadTable: row after row; the fields that name the rows, and their texts,
  // one list a field.
  std::vector<double> numbers_;
  std::vector<std::size_t> in_front_;
  std::vector<std::vector<std::string>> labels_in_front_;
  std::vector<std::string> ids_;  // of the rows, if there is an id column
  std::string class_;             // of the current line
  std::vector<std::int32_t> labels_;
  LinesOfPeople lines_;
  bool users_are_rows_ = true;
  std::uint64_t rows_ = 0;
  bool plain_ = false;  // rows may be read by AddPlainRow
  RefusedLines refused_;
};

}  // namespace

absl::StatusOr<LoadedMatrix> ReadTextMatrix(InputFile* input, char separator,
                                            bool users_are_rows,
                                            const LoadOptions& options) {
  return TextMatrixReader(input, separator, options).Read(users_are_rows);
}

}  // namespace dpnmf
