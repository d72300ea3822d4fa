#include "common/tables/names/name_list.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/files/input_file.h"
#include "common/tables/names/header_words.h"

namespace dpnmf {
namespace {

// Lines of one record, where quotes hold line breaks.
constexpr std::size_t kLongestRecord = 1 << 20;
constexpr std::size_t kExamples = 3;

struct NameRecord {
  std::string text;
  std::uint64_t line = 0;  // its first
};
using NameFields = std::vector<std::string>;

// Blanks, no-break spaces and byte order marks at both ends do not count.
std::string_view TrimName(std::string_view text) {
  constexpr std::string_view kMarks[] = {" ", "\t", "\xC2\xA0", "\xEF\xBB\xBF"};
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view mark : kMarks) {
      if (text.starts_with(mark)) {
        text.remove_prefix(mark.size());
        more = true;
      }
      if (text.ends_with(mark)) {
        text.remove_suffix(mark.size());
        more = true;
      }
    }
  }
  return text;
}

// Returns whether a field of the line begins with a quote that is not closed.
bool IsOpen(std::string_view line) {
  if (std::count(line.begin(), line.end(), '"') % 2 == 0) return false;
  for (const std::string_view begin : {",\"", "\t\"", ";\""})
    if (line.find(begin) != std::string_view::npos) return true;
  return line.starts_with('"');
}

std::string NameText(std::string_view line, std::string_view field) {
  return std::string(TrimName(FieldText(line, field)));
}

// The fields, or none if the quotes do not fit them. Bars and double colons
// stand in files without quotes.
NameFields SplitRecord(const std::string& text, std::string_view separator) {
  NameFields fields;
  if (separator == "::" || separator == "|") {
    std::string_view rest = text;
    while (true) {
      const std::size_t end = rest.find(separator);
      fields.emplace_back(TrimName(rest.substr(0, end)));
      if (end == std::string_view::npos) return fields;
      rest.remove_prefix(end + separator.size());
    }
  }
  std::vector<std::string_view> views;
  if (!SplitFields(text, separator[0], &views)) return {};
  for (const std::string_view field : views)
    fields.push_back(NameText(text, field));
  return fields;
}

std::string_view SeparatorName(std::string_view separator) {
  if (separator == "\t") return "tabs";
  if (separator == ",") return "commas";
  if (separator == ";") return "semicolons";
  if (separator == " ") return "blanks";
  return separator == "|" ? "bars" : "`::`";
}

// `first`, `first` + 1 ... as far as there are names.
bool CountsFrom(std::uint64_t first, const std::vector<NameFields>& rows,
                std::size_t field) {
  return std::all_of(rows.begin(), rows.end(), [&](const NameFields& row) {
    return row[field] == absl::StrCat(first++);
  });
}

bool AreUnique(const std::vector<NameFields>& rows, std::size_t field) {
  std::unordered_set<std::string_view> seen;
  return std::all_of(rows.begin(), rows.end(), [&](const NameFields& row) {
    return !row[field].empty() && seen.insert(row[field]).second;
  });
}

bool IsWholeText(const std::string& text) {
  return ParseWhole(text).has_value();
}

// Texts of the file in a sentence for the operator.
std::string Shown(const std::string& text) {
  return IsPlainText(text) ? text : Quoted(text);
}

class NameListReader {
 public:
  NameListReader(InputFile* input, const NameListOptions& options)
      : input_(*input), options_(options), of_items_(options.what == "item") {}

  absl::StatusOr<std::vector<std::string>> Read() {
    DPNMF_RETURN_IF_ERROR(ReadRecords());
    DPNMF_ASSIGN_OR_RETURN(const bool is_table, ReadTable());
    if (!is_table) DPNMF_RETURN_IF_ERROR(ReadList());
    return Checked();
  }

 private:
  absl::Status ReadRecords() {
    std::uint64_t empty_line = 0;
    while (true) {
      std::string_view line;
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) break;
      if (records_.empty() && line.starts_with("# ")) {
        ++comments_;
        continue;
      }
      // A separator at an end may stand for an empty field.
      if (TrimName(line).empty()) {
        if (empty_line == 0) empty_line = input_.line_number();
        continue;
      }
      if (empty_line != 0 && !records_.empty()) {
        return input_.RefuseAt(
            "input-malformed", empty_line, 1,
            absl::StrCat("the line is empty; write the name of the ",
                         View(options_.what)));
      }
      if (records_.size() > kLargestExtent) {
        return input_.Refuse(
            "input-too-large", 0,
            absl::StrCat("there are more than ", kLargestExtent, " ",
                         View(options_.what), "s"));
      }
      empty_line = 0;
      records_.push_back({std::string(line), input_.line_number()});
      DPNMF_RETURN_IF_ERROR(CloseRecord(&records_.back()));
    }
    if (!records_.empty()) return absl::OkStatus();
    return RefuseEmpty();
  }

  absl::Status RefuseEmpty() const {
    return input_.RefuseAt(
        "input-empty", 0, 0,
        absl::StrCat("the file contains no ", View(options_.what),
                     "; write one on each line"));
  }

  // Adds the lines behind, as long as a quote is open.
  absl::Status CloseRecord(NameRecord* record) {
    while (IsOpen(record->text)) {
      std::string_view line;
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more || record->text.size() > kLongestRecord) {
        return input_.RefuseAt("input-malformed", record->line, 1,
                               "a quote is not closed; correct or remove the "
                               "quotes");
      }
      absl::StrAppend(&record->text, "\n", View(line));
    }
    return absl::OkStatus();
  }

  // Returns whether another file's header has this name.
  bool IsExpected(std::string_view text) const {
    return !options_.header.empty() &&
           absl::EqualsIgnoreCase(View(text), options_.header);
  }

  bool IsHeaderWord(std::string_view text) const {
    return IsExpected(text) || IsHeaderOfNames(text, of_items_);
  }

  // ---- Tables

  // Reads a table if the lines are one; false: they are not.
  absl::StatusOr<bool> ReadTable() {
    for (const std::string_view separator : {"\t", "::", ";", "|", ",", " "}) {
      // Bars and colons are parts of the names of genes.
      if (!of_items_ && (separator == "|" || separator == "::")) continue;
      DPNMF_ASSIGN_OR_RETURN(const bool is_table, SplitAll(separator));
      if (is_table) {
        DPNMF_RETURN_IF_ERROR(ReadFields(separator));
        return true;
      }
      if (separator != "\t") continue;
      for (const NameRecord& record : records_) {
        if (TrimName(record.text).find('\t') == std::string_view::npos)
          continue;
        return RefuseTable(
            separator, SplitRecord(record.text, separator).size(), record.line);
      }
    }
    return false;
  }

  // Sets rows_ to the fields if the separator splits the lines like a table:
  // each into as many fields, the first one perhaps into one fewer (R). Below a
  // header that names the first field, lines may have any number of fields.
  absl::StatusOr<bool> SplitAll(std::string_view separator) {
    rows_.clear();
    first_size_ = SplitRecord(records_[0].text, separator).size();
    is_short_ = false;
    bool is_named = false;
    for (const NameRecord& record : records_) {
      // Between blanks only quotes tell fields from words of one name.
      const std::string_view text = TrimName(record.text);
      if (separator == " " && !(text.starts_with('"') && text.ends_with('"')))
        return false;
      rows_.push_back(SplitRecord(record.text, separator));
      const NameFields& row = rows_.back();
      if (rows_.size() == 1) is_named = row.size() > 1 && IsHeaderWord(row[0]);
      if (row.empty() && is_named) {
        return input_.RefuseAt("input-malformed", record.line, 0,
                               "a quoted field must end with a quote before "
                               "the separator; correct or remove the quotes");
      }
      if (is_named) continue;
      if (row.empty() || (rows_.size() > 1 && row.size() < 2)) return false;
      if (rows_.size() > 2 && row.size() != rows_[1].size()) return false;
    }
    std::size_t width = rows_.back().size();
    if (is_named) {
      for (const NameFields& row : rows_) width = std::min(width, row.size());
      for (NameFields& row : rows_) row.resize(width);
      return true;
    }
    is_short_ = first_size_ + 1 == width && rows_.size() > 1;
    if (width < 2 || !(is_short_ || first_size_ == width)) return false;
    // A name may have a separator that the one before it does not have.
    const std::vector<NameFields> below(rows_.begin() + 1, rows_.end());
    if (is_short_ && separator != "\t" && !HasRowNumbers(below)) return false;
    DropEmptyEnds(&width);
    return width > 1 || rows_.size() > 1;
  }

  static bool HasRowNumbers(const std::vector<NameFields>& rows) {
    return CountsFrom(0, rows, 0) || CountsFrom(1, rows, 0);
  }

  // A separator at the end of every line.
  void DropEmptyEnds(std::size_t* width) {
    while (*width > 1 &&
           std::all_of(rows_.begin(), rows_.end(), [](const NameFields& row) {
             return row.back().empty();
           })) {
      for (NameFields& row : rows_) row.pop_back();
      --*width;
    }
  }

  absl::Status ReadFields(std::string_view separator) {
    const std::string first = absl::StrJoin(rows_[0], ", ");
    DPNMF_ASSIGN_OR_RETURN(const std::size_t field, FindField(separator));
    for (std::size_t i = header_taken_ ? 1 : 0; i < rows_.size(); ++i)
      Add(std::move(rows_[i][field]), records_[i]);
    if (!options_.note) return absl::OkStatus();
    const std::vector<std::string> shown(
        names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                             kExamples, names_.size())));
    std::string said = absl::StrCat(
        "`", input_.path(), "`: the ", View(options_.what), "s are field ",
        field + 1, " of ", first_size_ + (is_short_ ? 1 : 0), " (",
        Shown(absl::StrJoin(shown, ", ")),
        names_.size() > kExamples ? " ..." : "", ")");
    if (header_taken_) {
      absl::StrAppend(&said, "; line ", records_[0].line, " is a header (",
                      Shown(first), ")");
    }
    options_.note(said);
    return absl::OkStatus();
  }

  // The field that holds the names; sets header_taken_.
  absl::StatusOr<std::size_t> FindField(std::string_view separator) {
    const NameFields& first = rows_[0];
    const std::size_t width = rows_.back().size();
    std::vector<std::size_t> named;
    std::optional<std::size_t> expected;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (!IsHeaderWord(first[i])) continue;
      named.push_back(i + (is_short_ ? 1 : 0));
      if (IsExpected(first[i])) expected = named.back();
    }
    header_taken_ = is_short_ || first[0].empty() || !named.empty() ||
                    (width > 1 && rows_.size() > 1 && IsCount(first) &&
                     !IsWholeText(rows_[1].back()));
    if (header_taken_ && rows_.size() == 1) return RefuseEmpty();
    const std::vector<NameFields> rows(rows_.begin() + (header_taken_ ? 1 : 0),
                                       rows_.end());
    if (width == 1) return 0;
    if (expected.has_value()) return *expected;
    const bool has_numbers = HasRowNumbers(rows);
    if (header_taken_) {
      const bool numbers_first =
          has_numbers && (is_short_ || !IsHeaderWord(first[0]));
      for (const std::size_t field : named)
        if (AreUnique(rows, field) || named.size() == 1) return field;
      if (numbers_first && width == 2) return 1;
      return RefuseTable(separator, width, records_[0].line);
    }
    if (separator == "\t" && IsOfGenes(rows)) {
      for (const std::size_t field : {0, 1})
        if (AreUnique(rows, field)) return field;
    }
    const auto are_whole = [&](std::size_t field) {
      return rows.size() > 1 &&
             std::all_of(rows.begin(), rows.end(), [&](const NameFields& row) {
               return IsWholeText(row[field]);
             });
    };
    // Ids of items are numbers; with one field beside them they could as well
    // be those of rows.
    if (of_items_ && are_whole(0) && (width > 2 || !has_numbers)) return 0;
    if (!of_items_ && are_whole(0) && has_numbers && width == 2 &&
        !are_whole(1))
      return 1;
    return RefuseTable(separator, width, records_[0].line);
  }

  // 0, 1, 2 ..., as pandas names columns.
  static bool IsCount(const NameFields& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i] != absl::StrCat(i)) return false;
    return true;
  }

  // features.tsv and genes.tsv of 10x: id, symbol and perhaps a kind.
  static bool IsOfGenes(const std::vector<NameFields>& rows) {
    return std::all_of(rows.begin(), rows.end(), [](const NameFields& row) {
      if (row[0].starts_with("ENS")) return true;
      if (row.size() < 3) return false;
      for (const std::string_view kind :
           {"Gene Expression", "Antibody Capture", "CRISPR Guide Capture",
            "Multiplexing Capture", "Custom", "Peaks"})
        if (row[2] == kind) return true;
      return false;
    });
  }

  absl::Status RefuseTable(std::string_view separator, std::size_t width,
                           std::uint64_t line) const {
    if (records_.size() == 1) {
      return input_.RefuseAt(
          "input-ambiguous", line, 0,
          absl::StrCat("the line has ", width, " fields separated by ",
                       View(SeparatorName(separator)),
                       "; write each name on a line of its own, or quotes "
                       "around it if it is one name"));
    }
    const bool is_tab = separator == "\t";
    std::string cut;
    if (is_tab) cut = " with cut -f1";
    if (separator == ";" || separator == "," || separator == "|")
      cut = absl::StrCat(" with cut -d'", View(separator), "' -f1");
    return input_.RefuseAt(
        "input-ambiguous", line, 0,
        absl::StrCat("the line has ", width, " fields separated by ",
                     View(SeparatorName(separator)),
                     is_tab ? "" : ", or is one name that has them",
                     "; a list of names has one name on each line: take one "
                     "field",
                     cut, is_tab ? "" : ", or put quotes around each name"));
  }

  // ---- Lists

  absl::Status ReadList() {
    bool all_quoted = true;
    std::vector<std::string> texts;
    for (const NameRecord& record : records_) {
      const std::string_view text = TrimName(record.text);
      std::vector<std::string_view> fields;
      // A separator that no line has: the whole line is the field.
      const bool is_quoted = text.starts_with('"') &&
                             SplitFields(text, '\0', &fields) &&
                             fields.size() == 1;
      texts.push_back(is_quoted ? NameText(text, fields[0])
                                : std::string(text));
      all_quoted = all_quoted && is_quoted;
    }
    DPNMF_ASSIGN_OR_RETURN(header_taken_, HasHeader(texts, all_quoted));
    if (header_taken_ && options_.note) {
      options_.note(absl::StrCat("`", input_.path(), "`: line ",
                                 records_[0].line, " (", Shown(texts[0]),
                                 ") is a header, no ", View(options_.what),
                                 "; if it is one, write `", View(options_.what),
                                 "` on a line above it"));
    }
    for (std::size_t i = header_taken_ ? 1 : 0; i < texts.size(); ++i)
      Add(std::move(texts[i]), records_[i]);
    return absl::OkStatus();
  }

  absl::StatusOr<bool> HasHeader(const std::vector<std::string>& texts,
                                 bool all_quoted) const {
    const std::string& first = texts[0];
    if (IsHeaderWord(first) || IsHeaderOfLists(first)) return true;
    if (texts.size() < 2) return false;
    const bool numbers_follow =
        std::all_of(texts.begin() + 1, texts.end(), IsWholeText);
    if (numbers_follow && texts.size() > 2 && IsName(first)) return true;
    // Ids with numbers, such as A-17, below a word without.
    if (of_items_ && texts.size() > 2 && IsName(first) &&
        std::all_of(texts.begin() + 1, texts.end(), HasDigit))
      return true;
    const bool is_zero = first == "0";
    if (is_zero && !numbers_follow)
      return std::none_of(texts.begin() + 1, texts.end(), IsWholeText);
    const bool is_r = (first == "x" || first == "V1") &&
                      std::none_of(texts.begin() + 1, texts.end(), IsLikeX);
    if (is_r && all_quoted) return true;
    if (!is_r && !is_zero) return false;
    return input_.RefuseAt(
        "input-ambiguous", records_[0].line, 0,
        absl::StrCat("the line (", first, ") is a header, as ",
                     is_zero ? "pandas" : "R", " writes it, or the first ",
                     View(options_.what), "; remove it, or write `",
                     View(options_.what), "` on a line above it"));
  }

  // In a table they may stand above something else.
  static bool IsHeaderOfLists(std::string_view text) {
    for (const std::string_view word :
         {"word", "words", "title", "titles", "titel", "titre", "titulo",
          "label", "labels", "column", "columns"})
      if (absl::EqualsIgnoreCase(View(text), View(word))) return true;
    return false;
  }

  // Returns whether a list with x or V1 could have the name: y, x2, V2.
  static bool IsLikeX(const std::string& name) {
    return name.size() <= 2 ||
           name.substr(1).find_first_not_of("0123456789") == name.npos;
  }

  // Returns whether the text is a word of letters.
  static bool IsName(std::string_view text) {
    return IsWord(text) && !HasDigit(text);
  }

  static bool HasDigit(std::string_view text) {
    return text.find_first_of("0123456789") != text.npos;
  }

  // ---- Names

  void Add(std::string name, const NameRecord& record) {
    names_.push_back(std::move(name));
    lines_.push_back(record.line);
  }

  absl::StatusOr<std::vector<std::string>> Checked() {
    if (names_.empty()) return RefuseEmpty();
    std::unordered_set<std::string_view> seen;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string& name = names_[i];
      const auto refuse = [&](std::string_view code,
                              const std::string& problem) {
        return input_.RefuseAt(code, lines_[i], 1, problem);
      };
      if (name.empty()) {
        return refuse("input-malformed",
                      absl::StrCat("the ", View(options_.what),
                                   " has no name; write one"));
      }
      if (name.find('\n') != std::string::npos) {
        return refuse("input-malformed",
                      absl::StrCat("the name ", Quoted(name),
                                   " goes over a line's end in quotes; write "
                                   "it on one line"));
      }
      if (!IsPlainText(name)) {
        return refuse("input-malformed",
                      absl::StrCat(Quoted(name),
                                   " is not UTF-8 or contains a control "
                                   "character; convert the file to UTF-8"));
      }
      if (name.size() > options_.longest) {
        return refuse("input-too-large",
                      absl::StrCat("the text has ", name.size(),
                                   " bytes; leave at most ", options_.longest));
      }
      if (!seen.insert(name).second) {
        return refuse("input-duplicate",
                      absl::StrCat("the name ", Quoted(name),
                                   " is listed twice; give each ",
                                   View(options_.what), " its own"));
      }
    }
    if (comments_ > 0 && options_.note) {
      options_.note(absl::StrCat("`", input_.path(),
                                 "`: lines left out as comments: ", comments_));
    }
    return std::move(names_);
  }

  InputFile& input_;
  const NameListOptions& options_;
  const bool of_items_;
  std::vector<NameRecord> records_;
  std::vector<NameFields> rows_;  // of records_
  std::size_t first_size_ = 0;
  bool is_short_ = false;  // the first row has one field fewer
  bool header_taken_ = false;
  std::uint64_t comments_ = 0;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> lines_;  // of names_
};

}  // namespace

absl::StatusOr<std::vector<std::string>> LoadNameList(
    const std::string& path, const NameListOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                         InputFile::Open(path));
  return NameListReader(input.get(), options).Read();
}

absl::StatusOr<std::vector<std::string>> ReadNameLines(
    const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                         InputFile::Open(path));
  std::vector<std::string> names;
  while (true) {
    std::string_view line;
    DPNMF_ASSIGN_OR_RETURN(const bool more, input->ReadLine(&line));
    if (!more) return names;
    names.emplace_back(line);
  }
}

}  // namespace dpnmf
