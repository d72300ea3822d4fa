#include "common/tables/text_matrix.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/files/match_names.h"
#include "common/tables/assemble.h"
#include "common/tables/decimal_marks.h"
#include "common/tables/label_guess.h"
#include "common/tables/names/header_words.h"
#include "common/tables/separator.h"
#include "common/tables/sum_rows.h"
#include "common/tables/text_rows.h"

namespace dpnmf {
namespace {

using Fields = TextRows::Fields;

bool HasNumber(std::string_view field) { return HasNumber(NotationOf(field)); }

// Returns whether the fields are 0, 1, 2 and so on, at least two of them.
bool CountsFromZero(Fields::const_iterator at, Fields::const_iterator end) {
  if (end - at < 2) return false;
  for (double expected = 0; at != end; ++at, ++expected)
    if (ParseNumber(*at) != expected) return false;
  return true;
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
  TextMatrixReader(InputFile* input, char separator, bool users_are_rows,
                   const LoadOptions& options)
      : input_(*input),
        options_(options),
        users_are_rows_(users_are_rows),
        text_(input, separator, options, users_are_rows, &refused_) {}

  absl::StatusOr<LoadedMatrix> Read() {
    DPNMF_RETURN_IF_ERROR(text_.Begin());
    marks_ = DecimalMarks(options_.decimal, text_.separator(),
                          /*may_be_declared=*/options_.table == nullptr);
    DPNMF_ASSIGN_OR_RETURN(bool more, NextRow());
    if (!more)
      return input_.RefuseAt("input-empty", 0, 0,
                             "the file is empty; give another");
    if (auto names = text_.TakeNamesOfComment()) {
      header_ = *std::move(names);
      reading_.header_line = text_.last_comment();
    }
    if (!options_.id_name.empty()) DPNMF_RETURN_IF_ERROR(FindIdByName());
    DPNMF_ASSIGN_OR_RETURN(const bool has_header, IsHeader());
    if (!has_header && text_.first_row_lacks_class())
      return text_.RefuseFirstRow();
    if (has_header && header_.empty()) {
      header_ = text_.first_row();
      reading_.header_line = text_.line_number();
      DPNMF_ASSIGN_OR_RETURN(more, NextRow());
      if (!more) {
        return Refuse("input-empty", 0,
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
    DPNMF_RETURN_IF_ERROR(marks_.Verdict(input_));
    DPNMF_RETURN_IF_ERROR(CheckBlanks());
    if (marks_.commas_were_seen())
      Note("Commas are read as decimal marks, as by --decimal comma");
    DPNMF_RETURN_IF_ERROR(CheckLabelsOf());
    if (options_.table != nullptr) {
      DPNMF_ASSIGN_OR_RETURN(auto texts,
                             text_.TakeKept(entries_.size(), label_columns_));
      LoadedMatrix table = TakeTable();
      table.kept = std::move(texts);
      return table;
    }
    DPNMF_RETURN_IF_ERROR(CheckIds());
    DPNMF_RETURN_IF_ERROR(CheckRowsOfPeople());
    NoteNames();
    NoteHeader();
    NoteTotal();
    reading_.rows = rows_;
    LoadedMatrix matrix = DenseOfRows(std::move(values_), rows_,
                                      entries_.size(), users_are_rows_);
    if (options_.sum_rows) {
      DPNMF_RETURN_IF_ERROR(
          SumRows(input_, matrix.features, &ids_, &labels_, &matrix.values));
      matrix.users = ids_.size();
    }
    matrix.ids = std::move(ids_);
    matrix.labels = std::move(labels_);
    matrix.lines = std::move(lines_);
    if (options_.names_from_header) matrix.feature_names = HeaderOfEntries();
    matrix.reading = Reading();
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

  absl::Status Refuse(std::string_view code, std::uint64_t column,
                      std::string_view problem) const {
    return text_.Refuse(code, column, problem);
  }

  void Note(const std::string& sentence) const {
    if (options_.note) options_.note(sentence);
  }

  absl::StatusOr<bool> NextRow() {
    while (true) {
      std::string_view line;
      DPNMF_ASSIGN_OR_RETURN(const bool more, text_.NextLine(&line));
      if (!more) return false;
      if (AddPlainRow(line)) continue;
      DPNMF_ASSIGN_OR_RETURN(const bool is_row, text_.TakeRow(line));
      if (is_row) return true;
    }
  }

  absl::Status AddLabel() {
    if (!options_.class_column.has_value()) return absl::OkStatus();
    const auto& classes = options_.classes;
    const auto found =
        std::find(classes.begin(), classes.end(), text_.class_text());
    if (found == classes.end()) {
      refused_.Note(Refuse(
          "class-unknown", static_cast<std::uint64_t>(*options_.class_column),
          absl::StrCat("the label ", Quoted(text_.class_text()),
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
      if (field > 0 && (at == end || *at++ != text_.separator())) break;
      if (field < label_columns_) {
        const void* const next = std::memchr(
            at, text_.separator(), static_cast<std::size_t>(end - at));
        if (next == nullptr ||
            std::memchr(at, '"', static_cast<std::size_t>(end - at)))
          break;
        const std::string_view label(at, static_cast<const char*>(next));
        // A number among the words is refused (AddRow).
        if (!IsPlainLabel(field, label)) break;
        LookForTotal(label);
        if (lines_.width > 0) lines_.values.push_back(marks_.AnyFloat(label));
        if (field < label_hashes_.size())
          label_hashes_[field].push_back(HashOf(label));
        at = static_cast<const char*>(next);
        continue;
      }
      float value = 0;
      if (!ReadPlainEntry(&at, end, field, &value)) break;
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
    for (std::vector<std::uint64_t>& hashes : label_hashes_)
      hashes.resize(std::min<std::size_t>(hashes.size(), rows_));
    return false;
  }

  // A row that adds up others, where labels or entries are declared: it counts,
  // and is noted. Where they were guessed it is refused (CheckGuessedLabel).
  void LookForTotal(std::string_view label) {
    if (total_.empty() && users_are_rows_ && NamesTotal(label)) total_ = label;
  }

  // Returns whether the label is of a kind that needs no further look.
  bool IsPlainLabel(std::size_t field, std::string_view label) const {
    if (field < words_only_) {
      if (label.find_first_of("0123456789") == std::string_view::npos)
        return !NamesTotal(label);
      return IsText(NotationOf(label)) &&
             label.find_first_of(";\t|") == std::string_view::npos;
    }
    return !counts_rows_ || field > 0 || ParseWhole(label) == rows_ + 1;
  }

  static std::uint64_t HashOf(std::string_view label) {
    return std::hash<std::string>()(CanonicalId(WithoutBlanks(label)));
  }

  // Digits, or any number of std::from_chars, up to a separator or the end.
  bool ReadPlainEntry(const char** at, const char* end, std::size_t field,
                      float* value) {
    constexpr std::ptrdiff_t kMostDigits = 7;  // a float holds them exactly
    const char* digit = *at;
    std::uint32_t whole = 0;
    while (digit < end && digit - *at < kMostDigits && *digit >= '0' &&
           *digit <= '9')
      whole = 10 * whole + static_cast<std::uint32_t>(*digit++ - '0');
    if (digit > *at && (digit == end || *digit == text_.separator())) {
      *value = static_cast<float>(whole);
      *at = digit;
      return true;
    }
    double number = 0;
    const auto [rest, error] = std::from_chars(*at, end, number);
    if (error != std::errc() || (rest != end && *rest != text_.separator()) ||
        ToEntry(number, value).has_value())
      return false;
    marks_.NoteNumber(
        std::string_view(*at, static_cast<std::size_t>(rest - *at)),
        text_.line_number(), field);
    *at = rest;
    return true;
  }

  // A header has no number in it, in whatever notation. A first line of words
  // and numbers could be a header, the first labelled row, or a row with a
  // missing value: nobody's row is dropped on a guess.
  absl::StatusOr<bool> IsHeader() const {
    if (!header_.empty()) return true;
    if (options_.header.has_value()) return *options_.header;
    if (HasQuotedNumbers()) return true;
    const auto labels =
        std::min(text_.fields().size(),
                 static_cast<std::size_t>(LabelColumns().value_or(0)));
    const auto begin =
        text_.fields().begin() + static_cast<std::ptrdiff_t>(labels);
    const auto has_number = [](std::string_view field) {
      return HasNumber(field);
    };
    const auto numbers = std::count_if(begin, text_.fields().end(), has_number);
    if (numbers == text_.fields().end() - begin) {
      // A table of D rows does not become one of D + 1 without being refused.
      const bool is_counted = options_.table != nullptr && !users_are_rows_;
      if (is_counted || !CountsFromZero(begin, text_.fields().end()))
        return false;
      return Refuse(
          "input-ambiguous", text_.FieldNumber(labels),
          absl::StrCat("the first line is 0 to ", numbers - 1,
                       ": it could be a header, which pandas writes by "
                       "default, or a row; give --header yes or --header no"));
    }
    const auto other =
        std::find_if_not(begin, text_.fields().end(), has_number);
    // A line of a feature may begin with its name, and names of people that are
    // numbers with what they are called: "feature,0,1".
    if (options_.table != nullptr && !users_are_rows_ && other == begin &&
        numbers + 1 == text_.fields().end() - begin) {
      if (IsHeaderOfNames(TrimBlanks(*other), /*of_items=*/false)) return true;
      if (other->empty() && !options_.table->labelled) return true;
      if (IsName(*other)) return false;
    }
    const bool has_word =
        std::any_of(begin, text_.fields().end(), [](std::string_view field) {
          const Notation notation = NotationOf(field);
          return IsText(notation) || notation == Notation::kMeasure;
        });
    // A row whose entries are missing or no numbers; but nothing in front is
    // what pandas writes above its index.
    if (numbers > 0 && !has_word &&
        std::find(begin, text_.fields().end() - 1, std::string_view()) ==
            text_.fields().end() - 1)
      return false;
    // nan, inf and NA are names among words.
    if (numbers == 0 && (has_word || begin == text_.fields().end()))
      return true;
    return Refuse(
        "input-ambiguous",
        text_.FieldNumber(
            static_cast<std::size_t>(other - text_.fields().begin())),
        numbers == 0
            ? absl::StrCat(Quoted(*other),
                           " could be a name or an entry that is no number; "
                           "give --header yes or --header no")
            : absl::StrCat(
                  Quoted(*other),
                  " is not a number, but other fields of the first line are; ",
                  options_.table != nullptr && options_.table->labelled
                      ? "declare a class or an id (--class-column, "
                        "--id-column), or "
                      : "",
                  "give --header yes or --header no"));
  }

  // A measure in front of a feature of a table can only be its name: 0-9, 24/7.
  bool IsName(std::string_view field) const {
    const Notation notation = NotationOf(field);
    return IsText(notation) || (notation == Notation::kMeasure &&
                                options_.table != nullptr && !users_are_rows_);
  }

  std::size_t LeadingNames() const {
    const Fields& fields = text_.fields();
    return static_cast<std::size_t>(
        std::find_if_not(fields.begin(), fields.end(),
                         [this](auto field) { return IsName(field); }) -
        fields.begin());
  }

  // Returns whether the first line has whole numbers, all in quotes, above
  // numbers without: names, as R writes them. A program quotes by the kind of a
  // field; any other number may have quotes for its own sake.
  bool HasQuotedNumbers() const {
    Fields below;
    if ((text_.has_texts() && !users_are_rows_) ||
        !SplitFields(text_.second_line(), text_.separator(), &below))
      return false;
    const auto is_quoted = [](std::string_view line, std::string_view field) {
      return field.data() > line.data() && field.data()[-1] == '"';
    };
    bool any = false;
    // From the end: names of rows may have nothing above them.
    const std::size_t width = text_.fields().size();
    for (std::size_t i = 0; i < width; ++i) {
      const std::string_view name = text_.fields()[i];
      if (!HasNumber(name)) continue;
      const std::size_t from_end = text_.InFile(width) - text_.FieldNumber(i);
      if (from_end >= below.size()) return false;
      const std::string_view number = below[below.size() - 1 - from_end];
      if (!ParseWhole(name).has_value() || !is_quoted(text_.line(), name) ||
          !HasNumber(number) || is_quoted(text_.second_line(), number))
        return false;
      any = true;
    }
    return any;
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
    const auto& names = header_.empty() ? text_.first_row() : header_;
    std::optional<int> found;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (TrimBlanks(names[i]) != options_.id_name) continue;
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
    width_ = text_.fields().size();
    text_.set_width(width_);
    words_only_ = LeadingNames();
    std::size_t named = 0;  // by the header
    if (has_header) {
      DPNMF_RETURN_IF_ERROR(FitHeader());
      while (named < header_.size() && header_[named].empty()) ++named;
      // The names of the features in a file of `dpnmf model`.
      if (named == 0 && !users_are_rows_ && header_[0] == "feature") named = 1;
    } else if (text_.fields().size() > 1 && text_.fields().back().empty()) {
      return Refuse("input-ragged", text_.InFile(width_),
                    "the line ends with a separator; remove it from the end of "
                    "every line, or write 0 behind it if an entry is missing");
    }
    if (has_header && width_ > 1 && header_.size() == width_ && HasOnlyNames())
      return NoNumber();
    label_columns_ = std::max(words_only_, named);
    guessed_ = words_only_ > named;
    // The ids of sums may be numbers.
    const auto labels_end =
        header_.begin() +
        static_cast<std::ptrdiff_t>(std::min(label_columns_, header_.size()));
    if (options_.sum_rows && users_are_rows_ &&
        label_columns_ < header_.size() &&
        NamesPeople(header_[label_columns_]) &&
        std::none_of(header_.begin(), labels_end, NamesPeople))
      ++label_columns_;
    if (LabelColumns().has_value()) {
      label_columns_ = static_cast<std::size_t>(*LabelColumns());
      words_only_ = 0;
      guessed_ = false;
      counts_rows_ = false;
    }
    if (options_.id_column.has_value() &&
        (*options_.id_column < 1 || IdIndex() >= width_)) {
      return Refuse("id-column-out-of-range", text_.InFile(width_),
                    absl::StrCat("the line has ", text_.InFile(width_),
                                 " fields, and the id is declared in "
                                 "field ",
                                 *options_.id_column, "; correct --id-column"));
    }
    if (options_.id_column.has_value()) id_ = IdIndex();
    if (options_.table != nullptr) {
      DPNMF_RETURN_IF_ERROR(FixTable());
      return entries_.empty() ? NoNumber() : absl::OkStatus();
    }
    if (!options_.columns.empty()) {
      DPNMF_RETURN_IF_ERROR(ChooseColumns());
    } else {
      DPNMF_RETURN_IF_ERROR(TakeColumnsBehindLabels());
    }
    if (options_.sum_rows) DPNMF_RETURN_IF_ERROR(FindIdOfSums());
    plain_ = text_.separator() != kBlanks &&
             !options_.class_column.has_value() && options_.columns.empty() &&
             !id_.has_value() && options_.decimal != ',';
    if (users_are_rows_ && !id_.has_value())
      label_hashes_.resize(std::min(label_columns_, width_));
    KeepLines();
    return absl::OkStatus();
  }

  // Returns whether the row has words and nothing else.
  bool HasOnlyNames() const {
    bool has_word = false;
    for (const std::string_view field : text_.fields()) {
      const Notation notation = NotationOf(field);
      if (!IsText(notation) && notation != Notation::kEmpty) return false;
      has_word = has_word || IsText(notation);
    }
    return has_word;
  }

  // Compares the header with the first row: R writes no field above the names
  // of rows.
  absl::Status FitHeader() {
    const std::size_t fields = text_.InFile(width_);
    const bool ends_empty = width_ > 1 && text_.fields().back().empty();
    if (header_.size() + 1 == fields && ends_empty)
      return EndsWithSeparator("the line ends, and the header does not end,");
    if (header_.size() == fields && ends_empty && header_.back().empty())
      return EndsWithSeparator("header and line end");
    if (header_.size() == fields + 1 && header_.back().empty())
      return EndsWithSeparator("the header ends, and the line does not end,");
    const bool unnamed_labels = header_.size() + 1 == fields;
    if (!unnamed_labels && header_.size() != fields) {
      return Refuse("input-ragged", std::min(header_.size(), fields) + 1,
                    absl::StrCat("the line has ", fields,
                                 " fields and the header has ", header_.size(),
                                 header_.size() == 1
                                     ? "; remove the header if it is a title, "
                                       "or name the separator (--delimiter)"
                                     : "; make them equal"));
    }
    if (unnamed_labels && !options_.id_name.empty()) {
      return input_.RefuseAt(
          "id-column-missing", 0, 0,
          "the header has one field fewer than the rows, so it does not say "
          "which column is the id; give every column a name");
    }
    if (unnamed_labels && LabelColumns().value_or(1) == 0) {
      return Refuse("input-ragged", fields,
                    absl::StrCat("the line has ", fields,
                                 " fields and the header has ", header_.size(),
                                 "; write a name for each into the header"));
    }
    if (unnamed_labels && !LabelColumns().has_value() && words_only_ == 0) {
      // One name above two fields could also be decimal commas.
      if (header_.size() == 1) return NotNamesOfRows();
      counts_rows_ = true;
    }
    if (unnamed_labels) header_.insert(header_.begin(), "");
    text_.RemoveTexts(&header_);
    return absl::OkStatus();
  }

  absl::Status EndsWithSeparator(std::string_view what) const {
    return Refuse("input-ragged", text_.InFile(width_),
                  absl::StrCat(View(what),
                               " with a separator, behind which nothing "
                               "stands; remove it from the end of every line"));
  }

  // The header is one field short, and the first column is neither words nor
  // 1, 2, 3 and so on.
  absl::Status NotNamesOfRows() const {
    return Refuse(
        "input-ambiguous", 1,
        absl::StrCat(
            "the header has one field fewer than the lines: R writes tables "
            "so, with names of rows in front, but ",
            Quoted(text_.fields()[0]),
            " could be an entry too; give --label-columns 1 if column 1 has "
            "names, else write a name for every column into the header",
            header_.size() == 1
                ? ", or remove the first line if it is a title or a comment"
                : ""));
  }

  absl::Status TakeColumnsBehindLabels() {
    if (options_.id_column.has_value() && IdIndex() >= label_columns_) {
      return input_.RefuseAt(
          "id-column-out-of-range", 0, 0,
          absl::StrCat("the id stands in field ", *options_.id_column,
                       ", and --label-columns does not count it among the "
                       "labels; leave --label-columns out, or name the entries "
                       "with --columns"));
    }
    for (std::size_t i = label_columns_; i < width_; ++i) entries_.push_back(i);
    if (label_columns_ >= width_) return NoNumber();
    return CheckNotTriples();
  }

  absl::Status NoNumber() const {
    return Refuse(
        "input-not-a-number", 1,
        absl::StrCat(
            "the line has no number after its labels (first field ",
            Quoted(text_.fields()[0]), "); ",
            header_.empty() ? ""
                            : "remove the line above it if that is a "
                              "title, or this line if it has units or "
                              "more names of columns",
            header_.empty() || options_.table != nullptr ? "" : ", or ",
            options_.table != nullptr && !header_.empty()
                ? ""
                : AdviceOnSeparator(text_.fields()[0])));
  }

  // Person, item and count in each line would be one feature, or none.
  absl::Status CheckNotTriples() const {
    if (options_.format != nullptr || LabelColumns().value_or(0) > 1 ||
        width_ != 3 || !users_are_rows_ || options_.class_column.has_value() ||
        NotationOf(text_.fields()[1]) != Notation::kWord ||
        !IsNumber(text_.fields()[2]))
      return absl::OkStatus();
    return Refuse(
        "input-ambiguous", 2,
        absl::StrCat("column ", ColumnText(1),
                     " has a word, with one number behind it: give --format-in "
                     "triples, with --features and --users-count, if the "
                     "fields are person, item and count; else name the columns "
                     "of numbers with --columns, or give --class-column 2 if "
                     "it is the class of each person"));
  }

  // Rows are added up by an id: the one that is declared, or the label column
  // that the header calls people.
  absl::Status FindIdOfSums() {
    if (!users_are_rows_) {
      if (HeaderOfEntries().size() == entries_.size()) return absl::OkStatus();
      return input_.RefuseAt(
          "id-column-missing", 0, 0,
          "--person-rows sum adds up columns of one person, and there is no "
          "header that says whose they are; write one");
    }
    for (std::size_t i = 0; i < label_columns_ && !id_.has_value(); ++i)
      if (i < header_.size() && NamesPeople(header_[i])) id_ = i;
    if (id_.has_value()) return absl::OkStatus();
    return input_.RefuseAt(
        "id-column-missing", 0, 0,
        "--person-rows sum adds up rows of one person, and neither a flag nor "
        "the header says which column is the person; give --id-column C");
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
        *last < *first || *last > text_.InFile(width_))
      return UnknownColumn(name);
    for (std::size_t i = 0; i < width_; ++i)
      if (text_.FieldNumber(i) >= *first && text_.FieldNumber(i) <= *last)
        (*chosen)[i] = true;
    return absl::OkStatus();
  }

  // Keeps whole lines if a person's line may have more numbers than entries.
  void KeepLines() {
    if (!users_are_rows_) return;
    // Labels that were guessed from words have no number. Sums are not the
    // lines.
    if (!options_.sum_rows &&
        (entries_.size() == text_.InFile(width_) ||
         entries_.size() + words_only_ == text_.InFile(width_)))
      return;
    lines_.width = text_.InFile(width_);
    lines_.is_entry.resize(lines_.width);
    for (const std::size_t i : entries_)
      lines_.is_entry[text_.FieldNumber(i) - 1] = true;
    if (options_.class_column.has_value())
      lines_.class_field = static_cast<std::size_t>(*options_.class_column) - 1;
    if (id_.has_value()) lines_.id_field = text_.FieldNumber(*id_) - 1;
  }

  // All numbers of the line, with that of the class.
  void KeepLine() {
    if (lines_.width == 0 || refused_.any()) return;
    const std::size_t begin = lines_.values.size();
    lines_.values.resize(begin + lines_.width);
    for (std::size_t i = 0; i < width_; ++i)
      lines_.values[begin + text_.FieldNumber(i) - 1] =
          marks_.AnyFloat(text_.fields()[i]);
    if (lines_.class_field.has_value())
      lines_.values[begin + *lines_.class_field] =
          marks_.AnyFloat(text_.class_text());
  }

  absl::Status UnknownColumn(std::string_view name) const {
    return input_.RefuseAt(
        "columns-unknown", 0, 0,
        absl::StrCat("--columns names ", Quoted(name),
                     ", and the file has no such column of entries among its ",
                     text_.InFile(width_),
                     "; give numbers from 1, ranges as 2-65, names of the "
                     "header, or all"));
  }

  absl::Status AddRow() {
    if (IsHeaderAgain()) {
      refused_.Note(Refuse("input-malformed", 1,
                           "the line is the header again; remove it"),
                    "header");
      return absl::OkStatus();
    }
    if (text_.fields().size() != width_) {
      const bool ends_empty =
          text_.fields().size() == width_ + 1 && text_.fields().back().empty();
      refused_.Note(Refuse(
          "input-ragged", std::min(text_.fields().size(), width_) + 1,
          absl::StrCat("the line has ", text_.InFile(text_.fields().size()),
                       text_.fields().size() == 1 ? " field" : " fields",
                       " and the lines before have ", text_.InFile(width_),
                       ends_empty ? "; remove the separator at its end"
                       : text_.fields().size() == 1
                           ? "; remove the line if it is a remark, else make "
                             "them equal"
                           : "; make them equal")));
      return absl::OkStatus();
    }
    if (width_ > 1 && std::all_of(text_.fields().begin(), text_.fields().end(),
                                  [](auto field) { return field.empty(); })) {
      refused_.Note(Refuse("input-not-a-number", 1,
                           "the line has separators alone; remove it, or write "
                           "its numbers"),
                    "separators");
      return absl::OkStatus();
    }
    for (std::size_t i = 0; i < words_only_; ++i)
      DPNMF_RETURN_IF_ERROR(CheckGuessedLabel(i));
    for (std::size_t i = 0; i < entries_.front(); ++i)
      LookForTotal(text_.fields()[i]);
    if (id_.has_value()) LookForTotal(text_.fields()[*id_]);
    if (counts_rows_ && ParseWhole(text_.fields()[0]) != rows_ + 1)
      return NotNamesOfRows();
    if (text_.separator() == kBlanks && HasGroupsOfDigits()) ++grouped_rows_;
    for (std::size_t i = 0; i < label_hashes_.size(); ++i)
      label_hashes_[i].push_back(HashOf(text_.fields()[i]));
    if (id_.has_value()) {
      ids_.emplace_back(
          TrimBlanks(FieldText(text_.line(), text_.fields()[*id_])));
      // Rows without an id are not rows of one person.
      if (ids_.back().empty() ||
          (options_.sum_rows &&
           NotationOf(ids_.back()) == Notation::kMissing)) {
        refused_.Note(Refuse("input-malformed", text_.FieldNumber(*id_),
                             ids_.back().empty()
                                 ? "the id is empty; give every person one"
                                 : absl::StrCat("the id ", Quoted(ids_.back()),
                                                " stands for a missing one; "
                                                "give every person one")),
                      "id");
      }
    }
    for (std::size_t k = 0; k < in_front_.size(); ++k) {
      labels_in_front_[k].emplace_back(
          TrimBlanks(FieldText(text_.line(), text_.fields()[in_front_[k]])));
    }
    for (const std::size_t i : entries_) {
      double number = 0;
      if (const auto problem = marks_.Parse(
              text_.fields()[i], text_.line_number(), i,
              options_.table == nullptr || !options_.table->negative,
              &number)) {
        RefuseEntry(i, *problem);
      }
      if (refused_.any()) continue;
      if (options_.table != nullptr) {
        numbers_.push_back(number);
      } else {
        values_.push_back(static_cast<float>(number));
      }
    }
    ++rows_;
    KeepLine();
    text_.KeepTexts();
    return AddLabel();
  }

  // Returns whether the row has the names of the header where entries should
  // be, and no number.
  bool IsHeaderAgain() const {
    if (header_.size() != width_ || text_.fields().size() > width_ ||
        text_.fields().size() + 1 < width_)
      return false;
    const std::size_t ahead = width_ - text_.fields().size();
    return std::all_of(entries_.begin(), entries_.end(), [&](std::size_t i) {
      return i >= ahead && !header_[i].empty() && !HasNumber(header_[i]) &&
             FieldText(text_.line(), text_.fields()[i - ahead]) == header_[i];
    });
  }

  // 1 234,5 may be one number.
  bool HasGroupsOfDigits() const {
    constexpr std::size_t kGroup = 3;
    for (std::size_t i = 1; i < text_.fields().size(); ++i) {
      const std::string_view first = text_.fields()[i - 1],
                             group = text_.fields()[i];
      if (first.size() <= kGroup && ParseWhole(first).has_value() &&
          first[0] != '0' && group.find_first_of(".,") == kGroup &&
          ParseWhole(group.substr(0, kGroup)).has_value())
        return true;
    }
    return false;
  }

  absl::Status CheckBlanks() const {
    if (!marks_.commas_were_seen() || options_.delimiter.has_value() ||
        grouped_rows_ == 0 || grouped_rows_ != rows_)
      return absl::OkStatus();
    return input_.RefuseAt(
        "input-ambiguous", 0, 0,
        "blanks could separate fields or thousands, as in 1 234,5; give "
        "--delimiter blank, or write the numbers without blanks");
  }

  // A column is of labels if its entries are words, in every row: then any row
  // tells how many features there are.
  absl::Status CheckGuessedLabel(std::size_t i) const {
    const std::string_view field = text_.fields()[i];
    if (users_are_rows_ && options_.table == nullptr && NamesTotal(field)) {
      return Refuse("input-malformed", text_.FieldNumber(i),
                    absl::StrCat("the line is called ", Quoted(field),
                                 ", and a sum of people is no person; remove "
                                 "it, or give --label-columns K if it is one"));
    }
    // A label may be missing where others of its column are words. A measure
    // has one code in any row (RefuseEntry).
    const bool is_measure = NotationOf(field) == Notation::kMeasure;
    if (HasNumber(field) || (is_measure && !IsName(field))) {
      return Refuse(
          is_measure ? "input-not-a-number" : "input-ambiguous",
          text_.FieldNumber(i),
          absl::StrCat(is_measure ? "" : "the number ", Quoted(field),
                       " is in a column of labels; give --label-columns K"));
    }
    const std::size_t separator = field.find_last_of(";\t|");
    if (separator == std::string_view::npos || options_.delimiter.has_value() ||
        !HasNumber(field.substr(separator + 1)))
      return absl::OkStatus();
    return Refuse(
        "input-ambiguous", text_.FieldNumber(i),
        absl::StrCat("the label ", Quoted(field),
                     " ends in a number behind another separator; give "
                     "--delimiter"));
  }

  // One sentence for each cause: a column of words, a notation, a sign.
  void RefuseEntry(std::size_t field, const EntryProblem& problem) {
    const std::string_view text = text_.fields()[field];
    const Notation notation = NotationOf(text);
    std::string cause(problem.code);
    std::string sentence = problem.sentence;
    if (problem.code == "input-not-a-number")
      absl::StrAppend(&cause, static_cast<int>(notation));
    if (IsText(notation) && !IsTextColumn(field)) {
      absl::StrAppend(&cause, ": ", sentence);
    } else if (IsText(notation)) {
      absl::StrAppend(&cause, " ", field);
      const bool is_date = notation == Notation::kDate;
      sentence = absl::StrCat(
          "column ", ColumnText(field), is_date ? " has dates" : " has words",
          ", such as ", Quoted(text),
          is_date ? ", and a date is no count; " : ", and no numbers; ",
          options_.table == nullptr
              ? "name the columns of numbers with --columns"
          : options_.table->labelled
              ? "remove the column, or declare it with --class-column or "
                "--id-column"
              : "remove the column");
      if (!is_date && options_.table == nullptr) {
        absl::StrAppend(&sentence, ", or give --class-column ",
                        text_.FieldNumber(field),
                        " if it is the class of each person");
      }
    } else if (field == 0 && !LayoutIsDeclared() && options_.table == nullptr &&
               notation != Notation::kNumber &&
               notation != Notation::kNotFinite &&
               notation != Notation::kEmpty) {
      absl::StrAppend(&cause, " in front");
      absl::StrAppend(&sentence,
                      ", or give --label-columns 1 if column 1 has "
                      "labels");
    }
    refused_.Note(Refuse(problem.code, text_.FieldNumber(field), sentence),
                  cause);
  }

  // Returns whether the field is a text in the first row with entries, and so
  // in all of them as far as is known.
  bool IsTextColumn(std::size_t field) {
    if (rows_ == 0 && text_columns_.empty()) {
      for (const std::string_view text : text_.fields())
        text_columns_.push_back(IsText(NotationOf(text)));
    }
    return field < text_columns_.size() && text_columns_[field];
  }

  // "2 'sex'", or "2" without a header.
  std::string ColumnText(std::size_t field) const {
    const bool is_named = field < header_.size() && !header_[field].empty();
    return absl::StrCat(text_.FieldNumber(field), is_named ? " " : "",
                        is_named ? Quoted(header_[field]) : "");
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

  // Index of the id in text_.fields(), which lack the class. There must be an
  // id column.
  std::size_t IdIndex() const {
    const bool behind_class = options_.class_column.has_value() &&
                              *options_.class_column < *options_.id_column;
    return static_cast<std::size_t>(*options_.id_column) -
           (behind_class ? 2 : 1);
  }

  // Two people with one id: the column is no id, or a person has two rows or
  // columns. Other spellings of one id are noted where an id was declared.
  absl::Status CheckIds() {
    const bool in_rows = users_are_rows_;
    if (!in_rows && options_.columns.empty())
      for (const std::string& name : HeaderOfEntries())
        if (NamesTotal(name)) return TotalOfColumns(name);
    if (!in_rows) ids_ = HeaderOfEntries();
    for (std::size_t i = 0; !in_rows && options_.sum_rows && i < ids_.size();
         ++i) {
      if (!ids_[i].empty() && NotationOf(ids_[i]) != Notation::kMissing)
        continue;
      return input_.RefuseAt(
          "input-malformed", 0, 0,
          absl::StrCat("the header does not say whose column ",
                       text_.FieldNumber(entries_[i]), " is (", Quoted(ids_[i]),
                       "); give every person an id"));
    }
    const auto twice = FindSameId(ids_, /*spelled_alike=*/true);
    if (twice.has_value() && !options_.sum_rows) {
      return input_.RefuseAt(
          "input-duplicate", 0, 0,
          absl::StrCat("the id ", Quoted(twice->first), " is in two ",
                       in_rows ? "rows" : "columns", "; give every person one ",
                       in_rows ? "row" : "column",
                       ", --person-rows sum to add "
                       "up the ",
                       in_rows ? "rows" : "columns", " of a person, or ",
                       in_rows ? "another --id-column"
                               : "each its own name in the header"));
    }
    const auto alike = FindSameId(ids_, /*spelled_alike=*/false);
    if (!in_rows && !options_.sum_rows) ids_.clear();
    if (!alike.has_value()) return absl::OkStatus();
    const std::string both =
        absl::StrCat(Quoted(alike->first), " and ", Quoted(alike->second),
                     " differ only in capitals, blanks or zeros");
    if (in_rows ? options_.id_column.has_value() : !options_.columns.empty()) {
      Note(absl::StrCat("The ids ", both, ", and count as two people"));
      return absl::OkStatus();
    }
    return input_.RefuseAt(
        "input-duplicate", 0, 0,
        absl::StrCat("the ids ", both,
                     "; write the id of a person in one way, or, if they are "
                     "two people, give ",
                     in_rows
                         ? absl::StrCat("--id-column ", text_.FieldNumber(*id_))
                         : std::string("--columns all")));
  }

  absl::Status TotalOfColumns(std::string_view name) const {
    return input_.RefuseAt(
        "input-malformed", 0, 0,
        absl::StrCat("a column is called ", Quoted(name),
                     ", and a sum of people is no person; leave it out with "
                     "--columns, or name it there if it is one"));
  }

  // A column of labels that repeats says that people have several rows, if its
  // header names people, or if there is no header and no other label differs
  // from row to row.
  absl::Status CheckRowsOfPeople() {
    bool any_distinct = label_hashes_.empty();
    for (std::size_t i = 0; i < label_hashes_.size(); ++i) {
      std::vector<std::uint64_t>& hashes = label_hashes_[i];
      std::sort(hashes.begin(), hashes.end());
      const auto different = static_cast<std::uint64_t>(
          std::unique(hashes.begin(), hashes.end()) - hashes.begin());
      hashes.clear();
      hashes.shrink_to_fit();
      if (different == rows_) {
        any_distinct = true;
        continue;
      }
      const bool names_people = i < header_.size() && NamesPeople(header_[i]);
      if (names_people) return SeveralRows(i, different);
      repeated_.emplace_back(i, different);
    }
    if (!any_distinct && header_.empty() && !repeated_.empty())
      return SeveralRows(repeated_[0].first, repeated_[0].second);
    for (const auto& [field, different] : repeated_) {
      Note(absl::StrCat("Column ", ColumnText(field), " of labels has ",
                        different, " different values in ", rows_,
                        " rows; each row counts as a person"));
    }
    return absl::OkStatus();
  }

  absl::Status SeveralRows(std::size_t field, std::uint64_t different) const {
    return input_.RefuseAt(
        "input-duplicate", 0, 0,
        absl::StrCat(
            "column ", ColumnText(field), " has ", different,
            " different values in ", rows_,
            " rows (capitals, blanks and zeros apart): if they are "
            "people, give --id-column ",
            text_.FieldNumber(field),
            " --person-rows sum, which adds up the rows of a person; else name "
            "the column of people with --id-column, or give this one another "
            "header"));
  }

  // Labels that were guessed are in every row, so that any row tells how many
  // features there are: which one it is does not matter, and no person's data
  // decide it (docs/reference/privacy.md). One row alone would.
  absl::Status CheckLabelsOf() const {
    const bool several =
        options_.sum_rows
            ? std::any_of(ids_.begin(), ids_.end(),
                          [this](const auto& id) { return id != ids_[0]; })
            : rows_ > 1;
    if (!users_are_rows_ || !guessed_ || several) return absl::OkStatus();
    return Refuse("input-ambiguous", 1,
                  "the file has only one person, who would determine the "
                  "number of features; give --label-columns K");
  }

  std::vector<std::string> HeaderOfEntries() const {
    std::vector<std::string> header;
    for (const std::size_t i : entries_) {
      if (i >= header_.size()) continue;
      // The lab gives a table the names that it has.
      const bool as_it_is =
          options_.table != nullptr && options_.table->labelled;
      header.emplace_back(as_it_is ? std::string_view(header_[i])
                                   : TrimBlanks(header_[i]));
      std::replace(header.back().begin(), header.back().end(), '\n', ' ');
    }
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
      if (!HasNumber(header_[i])) continue;
      return input_.RefuseAt(
          "header-not-names", 0, 0,
          absl::StrCat("field ", text_.FieldNumber(i),
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
    const std::size_t column = text_.FieldNumber(entries_[*names]);
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
    if (LayoutIsDeclared() || !options_.note || options_.sum_rows) return;
    const auto names = FindNamesByEntries(values_, entries_.size());
    if (!names.has_value()) return;
    options_.note(absl::StrCat(
        "Column ", text_.FieldNumber(entries_[names->column]),
        " is read as data, because neither the header nor a flag calls it "
        "names, but it could be names (",
        names->why,
        "): see \"Columns of names\" in docs/reference/formats.md"));
  }

  // Columns that are called alike, or a sum of others.
  void NoteHeader() const {
    if (!options_.note) return;
    const std::vector<std::string> names = HeaderOfEntries();
    const char* const two = users_are_rows_ ? ", and count as two features"
                                            : ", and count as two people";
    if (const auto twice = FindSameId(names, /*spelled_alike=*/true);
        twice.has_value() && users_are_rows_)
      Note(absl::StrCat("Two columns are called ", Quoted(twice->first), two));
    if (const auto renamed = FindRenamed(names)) {
      Note(absl::StrCat("The columns ", Quoted(renamed->first), " and ",
                        Quoted(renamed->second),
                        " may be one, whose name a program made different",
                        two));
    }
    if (!users_are_rows_) return;
    for (const std::string& name : names) {
      if (!NamesTotal(name)) continue;
      Note(absl::StrCat("The column ", Quoted(name),
                        " is read as a feature; if it adds up others, leave it "
                        "out with --columns"));
    }
  }

  void NoteTotal() const {
    if (total_.empty()) return;
    Note(absl::StrCat("The line called ", Quoted(total_),
                      " counts as a person; if it adds up others, remove it"));
  }

  TableReading Reading() {
    reading_.comment_lines = text_.comment_lines();
    reading_.separator = text_.separator();
    reading_.decimal_comma = marks_.has_commas();
    reading_.names = HeaderOfEntries();
    for (std::size_t i = 0; i < width_; ++i) {
      if (std::binary_search(entries_.begin(), entries_.end(), i)) continue;
      (i < label_columns_ ? reading_.labels : reading_.left_out)
          .push_back(ColumnText(i));
    }
    return std::move(reading_);
  }

  InputFile& input_;
  LoadOptions options_;  // FindIdByName completes them
  const bool users_are_rows_;
  RefusedLines refused_;
  TextRows text_;
  TableReading reading_;
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
  std::optional<std::size_t> id_;  // the field that is the id
  std::vector<std::string> ids_;   // of the rows, if there is an id column
  // Hashes of each label column, a row each; none where an id is declared.
  std::vector<std::vector<std::uint64_t>> label_hashes_;
  // Label columns with fewer values than rows, and how many.
  std::vector<std::pair<std::size_t, std::uint64_t>> repeated_;
  bool counts_rows_ = false;        // the first field is 1, 2, 3 and so on
  std::uint64_t grouped_rows_ = 0;  // that HasGroupsOfDigits
  std::vector<bool> text_columns_;  // fields that are words in the first row
  DecimalMarks marks_;
  std::vector<std::int32_t> labels_;
  LinesOfPeople lines_;
  std::uint64_t rows_ = 0;
  std::string total_;   // the first label of LookForTotal
  bool plain_ = false;  // rows may be read by AddPlainRow
};

}  // namespace

absl::StatusOr<LoadedMatrix> ReadTextMatrix(InputFile* input, char separator,
                                            bool users_are_rows,
                                            const LoadOptions& options) {
  return TextMatrixReader(input, separator, users_are_rows, options).Read();
}

}  // namespace dpnmf
