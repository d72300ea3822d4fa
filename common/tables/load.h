// Reads a matrix file into memory, one column per user.
//
// Formats: CSV and TSV (and fields separated by blanks), Matrix Market
// (coordinate and array), NumPy .npy and .npz, and "user item value" triples;
// each also compressed with gzip, which is recognised by its first bytes.
// docs/reference/formats.md describes them. Everything that cannot be a
// non-negative finite matrix is refused with INVALID_ARGUMENT and one sentence
// that names the file, the line and the column (the field's number, both
// counted from 1; for .npy the entry).
//
// The sentences may quote private values: they are for the terminal of the
// operator who owns the file and must not travel further.
#ifndef DPNMF_COMMON_TABLES_LOAD_H_
#define DPNMF_COMMON_TABLES_LOAD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/input_file.h"
#include "common/tables/refused_lines.h"

namespace dpnmf {

// A file of common/tables/format/; null is "auto": found out from the file.
struct InputFormat;
using MatrixFormat = const InputFormat*;

// "auto", "csv", "mtx", "npy", "npz", "text" (fields separated by runs of
// blanks or tabs), "triples", "tsv"; nothing for another name.
std::optional<MatrixFormat> MatrixFormatOfName(std::string_view name);
// All of these, as --format-in takes them: "auto|csv|...".
std::string FormatNames();
// Titles of all formats, for help texts: "CSV, TSV ... and ...".
std::string FormatTitles();

// The numbers of whole lines, one a person. A file may be imported twice, or be
// imported and published, with flags that take other fields for entries: the
// line is the same.
struct LinesOfPeople {
  std::size_t width = 0;  // fields of a line; 0: the entries are all there is
  std::vector<float> values;   // width a person; NaN: not a number
  std::vector<bool> is_entry;  // of each field
  std::optional<std::size_t> class_field, id_field;  // from 0
};

// How a text matrix was read, as the operator is told before it counts.
// Private.
struct TableReading {
  char separator = '\0';  // 0: the file has no fields
  bool decimal_comma = false;
  std::uint64_t rows = 0;           // of people or features; of triples: lines
  std::uint64_t header_line = 0;    // 0: none
  std::uint64_t comment_lines = 0;  // skipped: they begin with #
  std::vector<std::string> names;   // of the header, above the entries
  // Columns that are no entries: "1 'patient'", or "1" without a header.
  std::vector<std::string> labels, left_out;
};

// V: D x N. Entries are finite, not negative and never -0.
struct LoadedMatrix {
  std::uint64_t features = 0;  // D >= 1
  std::uint64_t users = 0;     // N >= 1
  bool sparse = false;
  // Dense: D * N values, column-major. Sparse: the nonzero values (CSC).
  std::vector<float> values;
  // Sparse only: N + 1 offsets into values; rows, ascending in each column.
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  // Names of the first people, as the file has them; empty if it has none.
  // Private.
  std::vector<std::string> ids;
  // Index of the declared class of each user; empty without classes.
  std::vector<std::int32_t> labels;
  // Private.
  LinesOfPeople lines;
  // LoadOptions::names_from_header: D names. LoadTable: D names, or none if the
  // file has none.
  std::vector<std::string> feature_names;
  // LoadTable, in the place of `values`: D * N numbers, column-major.
  std::vector<double> numbers;
  // LoadTable: names of the file that are none of the features', and features
  // that it spells differently (NameMatch).
  std::vector<std::string> left_out, respelled;
  // LoadTable: of each TableOptions::kept, a text a person. Empty for formats
  // without fields.
  std::vector<std::vector<std::string>> kept;
  TableReading reading;
};

// A field of each line of a table whose text is kept: a class, an id. Where
// people are columns, it is a line, of those that are neither empty nor
// comments.
struct KeptText {
  int place = 0;          // from 1
  std::string_view flag;  // that declares it
  std::string_view code;  // of the refusal if there is no such place
};

// A file that is no V to import: people who stay here, parts, a second moment.
struct TableOptions {
  bool negative = false;  // negative numbers are numbers
  // Names of the features, in order; empty: not known. If the file has names
  // too, its features are found by them (MatchNames): all must be there
  // ("features-mismatch"), and others are left out.
  std::vector<std::string> feature_names = {};
  std::optional<std::uint64_t> features = {};  // D, if it is known
  // The flag that names the file, which then stands in front of a refusal.
  std::string flag = {};
  std::vector<KeptText> kept = {};  // by place
  // The program has the flags --header, --class-column and --id-column. Where
  // people are rows, all columns that these do not declare are entries.
  bool labelled = false;
  std::optional<bool> header = {};  // as in LoadOptions
  LoadProgress progress = {};
  std::function<bool()> interrupted = {};
};

struct LoadOptions {
  MatrixFormat format = nullptr;  // null: "auto"
  // Text matrices. Not set: the first line is a header if none of its fields is
  // a number in any notation (some, or 0 to D - 1, as pandas writes it:
  // "input-ambiguous"); leading columns are labels if their entries are words,
  // if their header is empty, or, where the header is one field short, if they
  // are words or 1, 2, 3 and so on (else "input-ambiguous"); a column that the
  // header calls an id (label_guess.h) is "input-ambiguous". `note` is told of
  // a column whose entries look like names.
  std::optional<bool> header;
  std::optional<int> label_columns;
  // Text matrices with people in rows: the field, counted from 1, that is the
  // person's id. It must be one of the label columns, which count every field
  // before it, that of the class too; not set label_columns are then so many.
  std::optional<int> id_column;
  // Text matrices with people in rows: the name that the header must have above
  // the person's id, in the place of id_column or in the same place. The file
  // then must have a header. Empty: no name is asked for.
  std::string id_name;
  // Text matrices. The columns that hold entries: "all", or numbers, ranges and
  // names of the header with commas between, as "2-65,total". Their order is
  // that of the file, whatever the order here. Empty: all but labels.
  std::string columns;
  // Text matrices. Not set: that of the file's line "sep=;", else the usual one
  // of the format unless the first lines have another (separator.h).
  std::optional<char> delimiter;
  // Text matrices: '.' or ','. Not set: commas are read as decimal marks where
  // they can be nothing else; else "input-not-a-number", "input-ambiguous".
  std::optional<char> decimal;
  // Text matrices with people in rows: rows of one id are added up. The id is
  // id_column, or the label column that the header calls people.
  bool sum_rows = false;
  // .npz: the name of the array. Empty: the file has one.
  std::string array;
  // Text matrices. Told the first kShownRefusals of the entries and lines
  // that are refused, if there are two or more; the error that is returned
  // counts them.
  std::function<void(const absl::Status&)> refused;
  // Text matrices of users in rows: the header's fields above the entries are
  // the names of the features. The file must have one ("features-mismatch"); no
  // name is empty or stands twice, and no field of the header is a number
  // ("header-not-names"): it would be a person.
  bool names_from_header = false;
  // Names of the features, in order. If not empty their count must be D.
  // Triples: the item names; another item is refused. Empty: items in the order
  // of their first appearance, which makes D a function of the data: never for
  // a matrix that is released from with privacy.
  std::vector<std::string> feature_names;
  // Text matrices of users in rows: the field (from 1) that has the label of
  // each user, one of `classes`. It is no entry and no column of labels.
  std::optional<int> class_column;
  std::vector<std::string> classes;
  // Set by LoadTable: numbers and names in the place of entries. Outlives the
  // call.
  const TableOptions* table = nullptr;
  // Declared number of columns. Triples: users without a triple are zero
  // columns at the end and more users are refused. Other formats: must be N.
  std::optional<std::uint64_t> users_count;
  LoadProgress progress;
  // The bytes of the file, for callers that have read it; its path is then a
  // name for sentences alone.
  std::optional<std::string_view> content;
  // Place of the bytes, unless under the path, which is then such a name;
  // empty: there.
  std::string place;
  // Entries of triples and coordinates are kept here until they are sorted;
  // empty: in memory.
  std::string spool_dir;
  // Told what is allowed and looks like a slip.
  std::function<void(const std::string& sentence)> note;
  // Asked after every piece of the file; once true, reading ends with CANCELLED
  // "cancelled".
  std::function<bool()> interrupted;
};

// NOT_FOUND "input-not-found"; INVALID_ARGUMENT with one of the codes
// "input-unreadable" (not a file, or damaged compression), "input-empty",
// "input-malformed", "input-ragged", "input-not-a-number", "input-not-finite",
// "input-negative", "input-duplicate", "input-out-of-range", "input-too-large",
// "input-ambiguous" (the format must be said), "features-mismatch",
// "header-not-names", "users-mismatch", "item-unknown", "columns-unknown",
// "array-unknown" (the file has no array of this name), "input-ratings" (lines
// of user, item, rating and time, for which --ratings is),
// "class-column-out-of-range", "class-unknown" (a label is not declared),
// "class-column-mixed" (the file is no text matrix of users in rows),
// "id-column-out-of-range", "flag-unused" (label_columns, id_column, columns,
// delimiter, names_from_header or array, and the format has no such fields or
// arrays; decimal and sum_rows as well), "id-column-missing" (of id_name, or
// for sum_rows).
absl::StatusOr<LoadedMatrix> LoadMatrix(const std::string& path,
                                        bool users_are_rows,
                                        const LoadOptions& options = {});

// Reads a table in double precision, with the names that it has: those of
// features, and the `ids` of people, stand in a header, in leading columns of
// labels, or in a column of a name that ids usually have. Lines of three or
// four fields are rows of a matrix. Errors of LoadMatrix; no sentence advises a
// flag of an import.
absl::StatusOr<LoadedMatrix> LoadTable(const std::string& path,
                                       bool users_are_rows,
                                       const TableOptions& options = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_LOAD_H_
