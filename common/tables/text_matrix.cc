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
#include "common/tables/separator.h"
#include "common/tables/sum_rows.h"

namespace dpnmf {
namespace {

using Fields = std::vector<std::string_view>;

// A quoted field has at most so many lines: a quote that nothing closes would
// take the rest of the file.
constexpr int kMostLinesOfRow = 100;
constexpr std::size_t kLongestRowOfLines = std::size_t{1} << 20;

bool HasNumber(std::string_view field) { return HasNumber(NotationOf(field)); }

std::size_t LeadingWords(const Fields& fields) {
  return static_cast<std::size_t>(
      std::find_if_not(
          fields.begin(), fields.end(),
          [](std::string_view field) { return IsText(NotationOf(field)); }) -
      fields.begin());
}

// A label may be missing where others of its column are words.
bool IsLabel(std::string_view field) {
  const Notation notation = NotationOf(field);
  return !HasNumber(notation) && notation != Notation::kMeasure;
}

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
  TextMatrixReader(InputFile* input, char separator, const LoadOptions& options)
      : input_(*input), separator_(separator), options_(options) {}

  absl::StatusOr<LoadedMatrix> Read(bool users_are_rows) {
    users_are_rows_ = users_are_rows;
    if (options_.class_column.has_value()) {
      taken_.push_back({*options_.class_column, "--class-column",
                        "class-column-out-of-range"});
    } else if (options_.table != nullptr) {
      taken_ = options_.table->kept;
    }
    texts_.resize(taken_.size());
    kept_.resize(taken_.size());
    DPNMF_RETURN_IF_ERROR(FindSeparator());
    DPNMF_ASSIGN_OR_RETURN(bool more, NextRow());
    if (!more)
      return input_.RefuseAt("input-empty", 0, 0,
                             "the file is empty; give another");
    TakeHeaderFromComment();
    if (!options_.id_name.empty()) DPNMF_RETURN_IF_ERROR(FindIdByName());
    DPNMF_ASSIGN_OR_RETURN(const bool has_header, IsHeader());
    if (!has_header && class_behind_first_)
      return NoPlace(taken_[0], fields_.size());
    if (has_header && header_.empty()) {
      header_ = std::move(first_line_);
      reading_.header_line = row_line_;
      class_behind_first_ = false;
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
    DPNMF_RETURN_IF_ERROR(CheckLabelsOf(users_are_rows));
    if (options_.table != nullptr) {
      DPNMF_RETURN_IF_ERROR(CheckKeptLines());
      return TakeTable();
    }
    DPNMF_RETURN_IF_ERROR(CheckIds());
    DPNMF_RETURN_IF_ERROR(CheckRowsOfPeople());
    NoteNames();
    NoteHeader();
    reading_.rows = rows_;
    LoadedMatrix matrix =
        DenseOfRows(std::move(values_), rows_, entries_.size(), users_are_rows);
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
    table.kept = std::move(kept_);
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

  // InputFile::Refuse, of the line in which the current row begins.
  absl::Status Refuse(std::string_view code, std::uint64_t column,
                      std::string_view problem) const {
    return input_.RefuseAt(code, row_line_, column, problem);
  }

  void Note(const std::string& sentence) const {
    if (options_.note) options_.note(sentence);
  }

  // The separator that a flag or the first line declares, else the one that the
  // first lines have.
  absl::Status FindSeparator() {
    DPNMF_ASSIGN_OR_RETURN(const std::string_view beginning,
                           input_.Peek(kBeginning));
    const auto declared =
        DeclaredSeparator(beginning.substr(0, beginning.find_first_of("\r\n")));
    const std::vector<std::string_view> lines = FirstLines(beginning);
    if (!options_.delimiter.has_value()) {
      const char usual = separator_;
      separator_ = SeparatorOf(beginning, usual);
      if (separator_ != usual) {
        Note(absl::StrCat("Fields are separated as by --delimiter ",
                          NameOfSeparator(separator_)));
      }
    }
    if (lines.size() > 1) second_line_ = lines[1];
    marks_ = DecimalMarks(options_.decimal, separator_);
    std::string_view line;
    return declared.has_value() ? input_.ReadLine(&line).status()
                                : absl::OkStatus();
  }

  // Splits the next line that is neither empty nor a comment; empty lines may
  // stand only above the first and at the end of the file.
  absl::StatusOr<bool> NextRow() {
    std::uint64_t empty_line = 0;
    while (true) {
      std::string_view line;
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) return false;
      row_line_ = input_.line_number();
      if (IsBlank(line, separator_)) {
        if (empty_line == 0 && begun_) empty_line = row_line_;
        continue;
      }
      if (IsComment(line)) {
        ++reading_.comment_lines;
        if (!begun_) {
          comment_ = line;
          comment_line_ = row_line_;
        }
        continue;
      }
      if (empty_line != 0) {
        refused_.Note(input_.RefuseAt(
            "input-ragged", empty_line, 1,
            "the line is empty; remove it or write its numbers"));
        empty_line = 0;
      }
      begun_ = true;
      if (AddPlainRow(line)) continue;
      DPNMF_ASSIGN_OR_RETURN(const bool is_split, Split(line));
      if (is_split && IsKeptLine()) continue;
      if (is_split) {
        if (width_ == 0) {
          first_line_.clear();
          for (const std::string_view field : fields_)
            first_line_.push_back(FieldText(line_, field));
        }
        DPNMF_RETURN_IF_ERROR(TakeTexts());
        return true;
      }
      absl::Status malformed =
          Refuse("input-malformed", fields_.size() + 1,
                 "a quoted field must end with a quote before the separator; "
                 "correct or remove the quotes");
      if (width_ == 0) return malformed;  // the layout is not known yet
      refused_.Note(std::move(malformed));
    }
  }

  // Splits the line into fields_; a field in quotes may go on in further lines.
  absl::StatusOr<bool> Split(std::string_view line) {
    line_ = line;
    if (SplitFields(line_, separator_, &fields_)) return true;
    if (!HasOpenQuote(line_, separator_)) return false;
    joined_ = line;
    line_ = joined_;
    for (int i = 1; i < kMostLinesOfRow; ++i) {
      std::string_view next;
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&next));
      if (!more) break;
      absl::StrAppend(&joined_, "\n", View(next));
      line_ = joined_;
      if (joined_.size() > kLongestRowOfLines) break;
      if (next.find('"') == std::string_view::npos) continue;
      if (SplitFields(line_, separator_, &fields_))
        return std::none_of(
            fields_.begin(), fields_.end(),
            [this](std::string_view field) { return HoldsRows(field); });
      if (!HasOpenQuote(line_, separator_)) return false;
    }
    SplitFields(line_, separator_, &fields_);  // the field that does not end
    return false;
  }

  // Returns whether a field of several lines has numbers behind separators: a
  // quote that nobody closed, and the rows of other people.
  bool HoldsRows(std::string_view field) const {
    if (separator_ == kBlanks || field.find('\n') == std::string_view::npos)
      return false;
    for (const absl::string_view line : absl::StrSplit(View(field), '\n')) {
      const std::vector<absl::string_view> parts =
          absl::StrSplit(line, separator_);
      if (std::any_of(parts.begin() + 1, parts.end(), [](const auto& part) {
            return IsNumber({part.data(), part.size()});
          }))
        return true;
    }
    return false;
  }

  // Lines that begin with # are comments above the first row, unless a number
  // in any notation follows a label such as "#word"; below it those of one
  // field in a table of several. Nobody's row is left out.
  bool IsComment(std::string_view line) {
    if (!line.starts_with('#')) return false;
    Fields fields;
    const bool is_one =
        !SplitFields(line, separator_, &fields) || fields.size() < 2;
    if (begun_) return is_one && width_ > 1;
    const bool has_label = line.size() > 1 && line[1] != ' ' &&
                           line[1] != '\t' && line[1] != separator_;
    return !has_label || is_one ||
           std::none_of(
               fields.begin() + 1, fields.end(),
               [](std::string_view field) { return HasNumber(field); });
  }

  // The comment above the first row is a header if it names its fields, as
  // numpy.savetxt writes it.
  void TakeHeaderFromComment() {
    if (comment_.empty() || comment_line_ + 1 != row_line_ ||
        options_.header == false ||
        std::none_of(fields_.begin(), fields_.end(),
                     [](std::string_view field) { return HasNumber(field); }))
      return;
    const std::string_view names = TrimBlanks(std::string_view(comment_).substr(
        std::min(comment_.find_first_not_of('#'), comment_.size())));
    Fields fields;
    if (!SplitFields(names, separator_, &fields) ||
        fields.size() != InFile(fields_.size()) ||
        std::any_of(fields.begin(), fields.end(),
                    [](std::string_view field) { return HasNumber(field); }))
      return;
    header_.assign(fields.begin(), fields.end());
    reading_.header_line = comment_line_;
    --reading_.comment_lines;
  }

  // Where people are columns, takes the lines that are kept as texts.
  bool IsKeptLine() {
    if (users_are_rows_ || taken_.empty()) return false;
    ++lines_seen_;
    for (std::size_t k = 0; k < taken_.size(); ++k) {
      if (taken_[k].place != lines_seen_) continue;
      for (const std::string_view field : fields_)
        kept_[k].push_back(FieldText(line_, field));
      return true;
    }
    return false;
  }

  // Takes the fields of texts out of the line, such as that of the class:
  // whatever the other fields are, they are so without them.
  absl::Status TakeTexts() {
    if (!users_are_rows_) return absl::OkStatus();
    const std::size_t in_file = fields_.size();
    for (std::size_t k = taken_.size(); k-- > 0;) {
      const auto place = static_cast<std::size_t>(taken_[k].place);
      // The first line may be a header as R writes it: one field fewer.
      if (width_ == 0 && header_.empty() && place == in_file + 1 &&
          options_.class_column.has_value() &&
          options_.header.value_or(std::none_of(
              fields_.begin(), fields_.end(),
              [](std::string_view field) { return HasNumber(field); }))) {
        class_behind_first_ = true;
        return absl::OkStatus();
      }
      if (taken_[k].place < 1 || place > in_file)
        return NoPlace(taken_[k], in_file);
      texts_[k] = FieldText(line_, fields_[place - 1]);
      fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(place) - 1);
    }
    if (!fields_.empty()) return absl::OkStatus();
    return Refuse("input-malformed",
                  static_cast<std::uint64_t>(taken_[0].place),
                  "the line has no field besides the class; check the "
                  "separator");
  }

  absl::Status NoPlace(const KeptText& text, std::size_t places) const {
    return Refuse(
        text.code, places,
        absl::StrCat(users_are_rows_ ? "the line has " : "the file has ",
                     places, users_are_rows_ ? " fields" : " lines", ", and ",
                     View(text.flag), " declares ", text.place, "; correct ",
                     View(text.flag)));
  }

  // The number of fields_[index] in the file.
  std::uint64_t FieldNumber(std::size_t index) const {
    std::uint64_t number = index + 1;
    if (!users_are_rows_) return number;
    for (const KeptText& text : taken_)
      if (number >= static_cast<std::uint64_t>(text.place)) ++number;
    return number;
  }

  // So many fields, with those of texts.
  std::size_t InFile(std::size_t fields) const {
    return fields + (users_are_rows_ ? taken_.size() : 0);
  }

  // Texts of one person.
  void KeepTexts() {
    if (options_.table == nullptr || !users_are_rows_) return;
    for (std::size_t k = 0; k < taken_.size(); ++k) {
      if (texts_[k].empty()) {
        refused_.Note(
            Refuse(
                "input-malformed", static_cast<std::uint64_t>(taken_[k].place),
                absl::StrCat("the field is empty, and ", View(taken_[k].flag),
                             " declares it; write a text for each "
                             "person")),
            "text");
      }
      kept_[k].push_back(std::move(texts_[k]));
    }
  }

  // Where people are columns: a text for each, perhaps behind names of lines.
  absl::Status CheckKeptLines() {
    for (std::size_t k = 0; k < taken_.size() && !users_are_rows_; ++k) {
      std::vector<std::string>& texts = kept_[k];
      if (taken_[k].place > lines_seen_ || taken_[k].place < 1)
        return NoPlace(taken_[k], static_cast<std::size_t>(lines_seen_));
      if (texts.size() == entries_.size() + label_columns_) {
        texts.erase(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(
                                                       label_columns_));
      }
      const bool any_empty =
          std::find(texts.begin(), texts.end(), "") != texts.end();
      if (texts.size() == entries_.size() && !any_empty) continue;
      return input_.RefuseAt(
          any_empty ? "input-malformed" : "input-ragged", 0, 0,
          absl::StrCat("line ", taken_[k].place, ", which ",
                       View(taken_[k].flag), " declares, has ",
                       any_empty ? "an empty text; write one for each person"
                                 : absl::StrCat("texts of ", texts.size(),
                                                " people, and other lines "
                                                "have ",
                                                entries_.size(),
                                                " numbers; make them equal")));
    }
    return absl::OkStatus();
  }

  absl::Status AddLabel() {
    if (!options_.class_column.has_value()) return absl::OkStatus();
    const auto& classes = options_.classes;
    const auto found = std::find(classes.begin(), classes.end(), texts_[0]);
    if (found == classes.end()) {
      refused_.Note(Refuse(
          "class-unknown", static_cast<std::uint64_t>(*options_.class_column),
          absl::StrCat("the label ", Quoted(texts_[0]),
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
        if (!IsPlainLabel(field, label)) break;
        if (lines_.width > 0) lines_.values.push_back(marks_.AnyFloat(label));
        if (field < label_hashes_.size())
          label_hashes_[field].push_back(HashOf(label));
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
    for (std::vector<std::uint64_t>& hashes : label_hashes_)
      hashes.resize(std::min<std::size_t>(hashes.size(), rows_));
    return false;
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
    return std::hash<std::string>()(CanonicalId(label));
  }

  // Digits, or any number of std::from_chars, up to a separator or the end.
  bool ReadPlainEntry(const char** at, const char* end, float* value) {
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
    marks_.NoteNumber(
        std::string_view(*at, static_cast<std::size_t>(rest - *at)), row_line_);
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
    const auto labels = std::min(
        fields_.size(), static_cast<std::size_t>(LabelColumns().value_or(0)));
    const auto begin = fields_.begin() + static_cast<std::ptrdiff_t>(labels);
    const auto has_number = [](std::string_view field) {
      return HasNumber(field);
    };
    const auto numbers = std::count_if(begin, fields_.end(), has_number);
    if (numbers == fields_.end() - begin) {
      // A table of D rows does not become one of D + 1 without being refused.
      const bool is_counted = options_.table != nullptr && !users_are_rows_;
      if (is_counted || !CountsFromZero(begin, fields_.end())) return false;
      return Refuse(
          "input-ambiguous", FieldNumber(labels),
          absl::StrCat("the first line is 0 to ", numbers - 1,
                       ": it could be a header, which pandas writes by "
                       "default, or a row; give --header yes or --header no"));
    }
    const auto other = std::find_if_not(begin, fields_.end(), has_number);
    // A line of a feature may begin with its name.
    if (options_.table != nullptr && !users_are_rows_ && other == begin &&
        numbers + 1 == fields_.end() - begin && IsText(NotationOf(*other)))
      return false;
    const bool has_word =
        std::any_of(begin, fields_.end(), [](std::string_view field) {
          const Notation notation = NotationOf(field);
          return IsText(notation) || notation == Notation::kMeasure;
        });
    // A row whose entries are missing or no numbers; but nothing in front is
    // what pandas writes above its index.
    if (numbers > 0 && !has_word &&
        std::find(begin, fields_.end() - 1, std::string_view()) ==
            fields_.end() - 1)
      return false;
    // nan, inf and NA are names among words.
    if (numbers == 0 && (has_word || begin == fields_.end())) return true;
    return Refuse(
        "input-ambiguous",
        FieldNumber(static_cast<std::size_t>(other - fields_.begin())),
        numbers == 0
            ? absl::StrCat(Quoted(*other),
                           " could be a name or an entry that is no number; "
                           "give --header yes or --header no")
            : absl::StrCat(Quoted(*other),
                           " is not a number, but other fields of the first "
                           "line are; give --header yes or --header no"));
  }

  // Returns whether the first line has numbers, all in quotes, above numbers
  // without: names, as R writes them.
  bool HasQuotedNumbers() const {
    Fields below;
    if (!taken_.empty() || !SplitFields(second_line_, separator_, &below))
      return false;
    const auto is_quoted = [](std::string_view line, std::string_view field) {
      return field.data() > line.data() && field.data()[-1] == '"';
    };
    bool any = false;
    // From the end: names of rows may have nothing above them.
    for (std::size_t i = 1; i <= std::min(fields_.size(), below.size()); ++i) {
      const std::string_view name = fields_[fields_.size() - i];
      const std::string_view number = below[below.size() - i];
      if (!HasNumber(name)) continue;
      if (!is_quoted(line_, name) || !HasNumber(number) ||
          is_quoted(second_line_, number))
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
    const auto& names = header_.empty() ? first_line_ : header_;
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
    width_ = fields_.size();
    words_only_ = LeadingWords(fields_);
    std::size_t named = 0;  // by the header
    if (has_header) {
      DPNMF_RETURN_IF_ERROR(FitHeader());
      while (named < header_.size() && header_[named].empty()) ++named;
      // The names of the features in a file of `dpnmf model`.
      if (named == 0 && !users_are_rows_ && header_[0] == "feature") named = 1;
    } else if (fields_.size() > 1 && fields_.back().empty()) {
      return Refuse("input-ragged", InFile(width_),
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
      return Refuse("id-column-out-of-range", InFile(width_),
                    absl::StrCat("the line has ", InFile(width_),
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
    plain_ = separator_ != kBlanks && !options_.class_column.has_value() &&
             options_.columns.empty() && !id_.has_value() &&
             options_.decimal != ',';
    if (users_are_rows_ && !id_.has_value())
      label_hashes_.resize(std::min(label_columns_, width_));
    KeepLines();
    return absl::OkStatus();
  }

  // Returns whether the row has words and nothing else.
  bool HasOnlyNames() const {
    bool has_word = false;
    for (const std::string_view field : fields_) {
      const Notation notation = NotationOf(field);
      if (!IsText(notation) && notation != Notation::kEmpty) return false;
      has_word = has_word || IsText(notation);
    }
    return has_word;
  }

  // Compares the header with the first row: R writes no field above the names
  // of rows.
  absl::Status FitHeader() {
    const std::size_t fields = InFile(width_);
    const bool ends_empty = width_ > 1 && fields_.back().empty();
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
    for (std::size_t k = users_are_rows_ ? taken_.size() : 0; k-- > 0;)
      header_.erase(header_.begin() + taken_[k].place - 1);
    return absl::OkStatus();
  }

  absl::Status EndsWithSeparator(std::string_view what) const {
    return Refuse("input-ragged", InFile(width_),
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
            Quoted(fields_[0]),
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
        absl::StrCat("the line has no number after its labels (first field ",
                     Quoted(fields_[0]), "); ",
                     header_.empty() ? ""
                                     : "remove the line above it if that is a "
                                       "title, or this line if it has units or "
                                       "more names of columns, or ",
                     AdviceOnSeparator(fields_[0])));
  }

  // Person, item and count in each line would be one feature, or none.
  absl::Status CheckNotTriples() const {
    if (options_.format != nullptr || LabelColumns().value_or(0) > 1 ||
        width_ != 3 || !users_are_rows_ || options_.class_column.has_value() ||
        NotationOf(fields_[1]) != Notation::kWord || !IsNumber(fields_[2]))
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
        *last < *first || *last > InFile(width_))
      return UnknownColumn(name);
    for (std::size_t i = 0; i < width_; ++i)
      if (FieldNumber(i) >= *first && FieldNumber(i) <= *last)
        (*chosen)[i] = true;
    return absl::OkStatus();
  }

  // Keeps whole lines if a person's line may have more numbers than entries.
  void KeepLines() {
    if (!users_are_rows_) return;
    // Labels that were guessed from words have no number. Sums are not the
    // lines.
    if (!options_.sum_rows && (entries_.size() == InFile(width_) ||
                               entries_.size() + words_only_ == InFile(width_)))
      return;
    lines_.width = InFile(width_);
    lines_.is_entry.resize(lines_.width);
    for (const std::size_t i : entries_)
      lines_.is_entry[FieldNumber(i) - 1] = true;
    if (options_.class_column.has_value())
      lines_.class_field = static_cast<std::size_t>(*options_.class_column) - 1;
    if (id_.has_value()) lines_.id_field = FieldNumber(*id_) - 1;
  }

  // All numbers of the line, with that of the class.
  void KeepLine() {
    if (lines_.width == 0 || refused_.any()) return;
    const std::size_t begin = lines_.values.size();
    lines_.values.resize(begin + lines_.width);
    for (std::size_t i = 0; i < width_; ++i)
      lines_.values[begin + FieldNumber(i) - 1] = marks_.AnyFloat(fields_[i]);
    if (lines_.class_field.has_value())
      lines_.values[begin + *lines_.class_field] = marks_.AnyFloat(texts_[0]);
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
    if (IsHeaderAgain()) {
      refused_.Note(Refuse("input-malformed", 1,
                           "the line is the header again; remove it"),
                    "header");
      return absl::OkStatus();
    }
    if (fields_.size() != width_) {
      const bool ends_empty =
          fields_.size() == width_ + 1 && fields_.back().empty();
      refused_.Note(Refuse(
          "input-ragged", std::min(fields_.size(), width_) + 1,
          absl::StrCat("the line has ", InFile(fields_.size()),
                       fields_.size() == 1 ? " field" : " fields",
                       " and the lines before have ", InFile(width_),
                       ends_empty ? "; remove the separator at its end"
                       : fields_.size() == 1
                           ? "; remove the line if it is a remark, else make "
                             "them equal"
                           : "; make them equal")));
      return absl::OkStatus();
    }
    if (width_ > 1 && std::all_of(fields_.begin(), fields_.end(),
                                  [](auto field) { return field.empty(); })) {
      refused_.Note(Refuse("input-not-a-number", 1,
                           "the line has separators alone; remove it, or write "
                           "its numbers"),
                    "separators");
      return absl::OkStatus();
    }
    for (std::size_t i = 0; i < words_only_; ++i)
      DPNMF_RETURN_IF_ERROR(CheckGuessedLabel(i));
    if (counts_rows_ && ParseWhole(fields_[0]) != rows_ + 1)
      return NotNamesOfRows();
    if (separator_ == kBlanks && HasGroupsOfDigits()) ++grouped_rows_;
    for (std::size_t i = 0; i < label_hashes_.size(); ++i)
      label_hashes_[i].push_back(HashOf(fields_[i]));
    if (id_.has_value()) {
      ids_.emplace_back(TrimBlanks(FieldText(line_, fields_[*id_])));
      // Rows without an id are not rows of one person.
      if (ids_.back().empty() ||
          (options_.sum_rows &&
           NotationOf(ids_.back()) == Notation::kMissing)) {
        refused_.Note(Refuse("input-malformed", FieldNumber(*id_),
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
          TrimBlanks(FieldText(line_, fields_[in_front_[k]])));
    }
    for (const std::size_t i : entries_) {
      double number = 0;
      if (const auto problem = marks_.Parse(
              fields_[i], row_line_,
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
    KeepTexts();
    return AddLabel();
  }

  // Returns whether the row has the names of the header where entries should
  // be, and no number.
  bool IsHeaderAgain() const {
    if (header_.size() != width_ || fields_.size() > width_ ||
        fields_.size() + 1 < width_)
      return false;
    const std::size_t ahead = width_ - fields_.size();
    return std::all_of(entries_.begin(), entries_.end(), [&](std::size_t i) {
      return i >= ahead && !header_[i].empty() && !HasNumber(header_[i]) &&
             FieldText(line_, fields_[i - ahead]) == header_[i];
    });
  }

  // 1 234,5 may be one number.
  bool HasGroupsOfDigits() const {
    constexpr std::size_t kGroup = 3;
    for (std::size_t i = 1; i < fields_.size(); ++i) {
      const std::string_view first = fields_[i - 1], group = fields_[i];
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
    const std::string_view field = fields_[i];
    if (users_are_rows_ && options_.table == nullptr && NamesTotal(field)) {
      return Refuse("input-malformed", FieldNumber(i),
                    absl::StrCat("the line is called ", Quoted(field),
                                 ", and a sum of people is no person; remove "
                                 "it, or give --label-columns K if it is one"));
    }
    if (!IsLabel(field)) {
      return Refuse(
          "input-ambiguous", FieldNumber(i),
          absl::StrCat(
              NotationOf(field) == Notation::kMeasure ? "" : "the number ",
              Quoted(field),
              " is in a column of labels; give --label-columns K"));
    }
    const std::size_t separator = field.find_last_of(";\t|");
    if (separator == std::string_view::npos || options_.delimiter.has_value() ||
        !HasNumber(field.substr(separator + 1)))
      return absl::OkStatus();
    return Refuse(
        "input-ambiguous", FieldNumber(i),
        absl::StrCat("the label ", Quoted(field),
                     " ends in a number behind another separator; give "
                     "--delimiter"));
  }

  // One sentence for each cause: a column of words, a notation, a sign.
  void RefuseEntry(std::size_t field, const EntryProblem& problem) {
    const std::string_view text = fields_[field];
    const Notation notation = NotationOf(text);
    std::string cause(problem.code);
    std::string sentence = problem.sentence;
    if (problem.code == "input-not-a-number")
      absl::StrAppend(&cause, static_cast<int>(notation));
    if (notation == Notation::kWord && !IsTextColumn(field)) {
      absl::StrAppend(&cause, ": ", sentence);
    } else if (IsText(notation)) {
      absl::StrAppend(&cause, " ", field);
      const bool is_date = notation == Notation::kDate;
      sentence = absl::StrCat(
          "column ", ColumnText(field), is_date ? " has dates" : " has words",
          ", such as ", Quoted(text),
          is_date ? ", and a date is no count; " : ", and no numbers; ",
          options_.table != nullptr
              ? "remove the column"
              : "name the columns of numbers with --columns");
      if (!is_date && options_.table == nullptr) {
        absl::StrAppend(&sentence, ", or give --class-column ",
                        FieldNumber(field),
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
    refused_.Note(Refuse(problem.code, FieldNumber(field), sentence), cause);
  }

  // Returns whether the field is a word in the first row with entries, and so
  // in all of them as far as is known.
  bool IsTextColumn(std::size_t field) {
    if (rows_ == 0 && text_columns_.empty()) {
      for (const std::string_view text : fields_)
        text_columns_.push_back(NotationOf(text) == Notation::kWord);
    }
    return field < text_columns_.size() && text_columns_[field];
  }

  // "2 'sex'", or "2" without a header.
  std::string ColumnText(std::size_t field) const {
    const bool is_named = field < header_.size() && !header_[field].empty();
    return absl::StrCat(FieldNumber(field), is_named ? " " : "",
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

  // Index of the id in fields_, which lack the class. There must be an id
  // column.
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
                     " differ only in capitals, blanks or leading zeros");
    if (in_rows && !options_.sum_rows) {
      Note(absl::StrCat("The ids ", both, ", and count as two people"));
      return absl::OkStatus();
    }
    return input_.RefuseAt(
        "input-duplicate", 0, 0,
        absl::StrCat("the ids ", both,
                     "; write the id of a person in one way, and other people "
                     "with other ids"));
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
            " rows (capitals, blanks and leading zeros apart): if they are "
            "people, give --id-column ",
            FieldNumber(field),
            " --person-rows sum, which adds up the rows of a person; else name "
            "the column of people with --id-column, or give this one another "
            "header"));
  }

  // Labels that were guessed are in every row, so that any row tells how many
  // features there are: which one it is does not matter, and no person's data
  // decide it (docs/reference/privacy.md). One row alone would.
  absl::Status CheckLabelsOf(bool users_are_rows) const {
    const bool several =
        options_.sum_rows
            ? std::any_of(ids_.begin(), ids_.end(),
                          [this](const auto& id) { return id != ids_[0]; })
            : rows_ > 1;
    if (!users_are_rows || !guessed_ || several) return absl::OkStatus();
    return Refuse("input-ambiguous", 1,
                  "the file has only one person, who would determine the "
                  "number of features; give --label-columns K");
  }

  std::vector<std::string> HeaderOfEntries() const {
    std::vector<std::string> header;
    for (const std::size_t i : entries_) {
      if (i >= header_.size()) continue;
      header.emplace_back(TrimBlanks(header_[i]));
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
    if (LayoutIsDeclared() || !options_.note || options_.sum_rows) return;
    const auto names = FindNamesByEntries(values_, entries_.size());
    if (!names.has_value()) return;
    options_.note(absl::StrCat(
        "Column ", FieldNumber(entries_[names->column]),
        " is read as data, because neither the header nor a flag calls it "
        "names, but it could be names (",
        names->why,
        "): see \"Columns of names\" in docs/reference/formats.md"));
  }

  // Columns of features that are called alike, or a sum of others.
  void NoteHeader() const {
    if (!users_are_rows_ || !options_.note) return;
    const std::vector<std::string> names = HeaderOfEntries();
    if (const auto twice = FindSameId(names, /*spelled_alike=*/true)) {
      Note(absl::StrCat("Two columns are called ", Quoted(twice->first),
                        ", and count as two features"));
    }
    for (const std::string& name : names) {
      if (!NamesTotal(name)) continue;
      Note(absl::StrCat("The column ", Quoted(name),
                        " is read as a feature; if it adds up others, leave it "
                        "out with --columns"));
    }
  }

  TableReading Reading() {
    reading_.separator = separator_;
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
  char separator_;
  LoadOptions options_;    // FindIdByName completes them
  Fields fields_;          // of the current line
  std::string_view line_;  // that they point into
  std::string joined_;     // of several lines, where a quoted field has breaks
  std::uint64_t row_line_ = 0;  // the first line of the current row
  bool begun_ = false;          // a line was read that is no comment
  std::string comment_;         // the last one above the first such line
  std::uint64_t comment_line_ = 0;
  TableReading reading_;
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
  std::optional<std::size_t> id_;  // the field that is the id
  std::vector<std::string> ids_;   // of the rows, if there is an id column
  // Hashes of each label column, a row each; none where an id is declared.
  std::vector<std::vector<std::uint64_t>> label_hashes_;
  // Label columns with fewer values than rows, and how many.
  std::vector<std::pair<std::size_t, std::uint64_t>> repeated_;
  bool counts_rows_ = false;        // the first field is 1, 2, 3 and so on
  std::string second_line_;         // as FirstLines has it
  std::uint64_t grouped_rows_ = 0;  // that HasGroupsOfDigits
  std::vector<bool> text_columns_;  // fields that are words in the first row
  DecimalMarks marks_;
  std::vector<KeptText> taken_;     // texts beside the numbers, by place
  std::vector<std::string> texts_;  // of the current line, as taken_
  std::vector<std::vector<std::string>> kept_;  // LoadTable: of all, as taken_
  int lines_seen_ = 0;  // where people are columns and texts are kept
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
