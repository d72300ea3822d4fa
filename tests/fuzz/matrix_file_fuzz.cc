// Files that an operator imports: every format of curator/data, plain and
// compressed, and lists of feature names. Refused in one sentence, or a sound
// matrix of the size that the file can hold.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/files/npy.h"
#include "common/tables/formats.h"
#include "common/tables/load.h"
#include "common/tables/names/name_list.h"
#include "curator/import/columns.h"
#include "tests/common/tables/zip_bytes.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::matrix_file {
namespace {

// Columns of zeros take memory that the operator declared in the file, and a
// row of seven digits declares millions of them: sound, and too slow here.
bool DeclaresMillions(std::string_view text) {
  int digits = 0;
  for (const char c : text) {
    digits = std::isdigit(static_cast<unsigned char>(c)) != 0 ? digits + 1 : 0;
    if (digits >= 6) return true;
  }
  return false;
}

// Returns the byte that selects the format of that name in OptionsOf.
char Choice(std::string_view name) {
  const auto& formats = InputFormats().rows();
  const auto at =
      std::find(formats.begin(), formats.end(), InputFormats().Find(name));
  return static_cast<char>(1 + (at - formats.begin()));
}

LoadOptions OptionsOf(FuzzInput* bytes) {
  LoadOptions options;
  // 0: found out from the file.
  const auto& formats = InputFormats().rows();
  const std::size_t choice = bytes->Below(formats.size() + 1);
  options.format = choice == 0 ? nullptr : formats[choice - 1];
  const std::uint8_t flags = bytes->Byte();
  if ((flags & 1) != 0) options.header = (flags & 2) != 0;
  if ((flags & 4) != 0) options.label_columns = flags >> 6;
  if ((flags & 8) != 0) options.feature_names = {"x", "y"};
  if ((flags & 16) != 0) options.users_count = 1 + (flags >> 5);
  if ((flags & 32) != 0) options.array = "y";
  options.note = [](const std::string& sentence) {
    Count("note");
    Demand(IsPlainText(sentence), "a note that is not printable");
  };
  return options;
}

// Options that came later: behind a first byte of 128 or more.
void MoreOptionsOf(FuzzInput* bytes, LoadOptions* options) {
  const std::uint8_t flags = bytes->Byte();
  if ((flags & 1) != 0) options->decimal = (flags & 2) != 0 ? ',' : '.';
  if ((flags & 4) != 0) options->delimiter = (flags & 8) != 0 ? ';' : ' ';
  options->sum_rows = (flags & 16) != 0;
  if ((flags & 32) != 0) options->id_column = 1 + (flags >> 6);
}

void DemandSound(const LoadedMatrix& matrix, const LoadOptions& options) {
  Demand(matrix.features >= 1 && matrix.users >= 1, "an empty matrix");
  Demand(std::all_of(matrix.values.begin(), matrix.values.end(),
                     [](float value) {
                       return std::isfinite(value) && value >= 0 &&
                              !std::signbit(value);
                     }),
         "an entry that is negative or not finite");
  Demand(
      matrix.sparse || matrix.values.size() == matrix.features * matrix.users,
      "entries that do not fit the shape");
  Demand(options.feature_names.empty() ||
             matrix.features == options.feature_names.size(),
         "not the declared features");
  Demand(
      !options.users_count.has_value() || matrix.users == *options.users_count,
      "not the declared users");
}

// All of the file is the array, and the array is all of the file.
void DemandWhole(const LoadedMatrix& matrix, std::string_view npy) {
  const auto header = ParseNpyHeader(npy);
  Demand(header.ok(), "an array without a header");
  const auto size = static_cast<std::size_t>(header->dtype.back() - '0');
  Demand(
      npy.size() == header->data_offset + size * matrix.features * matrix.users,
      "an array of another size than its file");
}

void DemandUsable(LoadedMatrix matrix, curator::Normalisation normalisation) {
  constexpr double kBound = 0.75;
  NormaliseColumns(&matrix, normalisation, kBound);
  const auto data = curator::ToDataset(matrix, {});
  Demand(data.ok(), "a sound matrix that is no data set");
  const double bound =
      normalisation == curator::Normalisation::kL2 ? 1 : kBound;
  for (std::uint64_t n = 0; n < matrix.users; ++n) {
    const auto values = matrix.sparse ? (*data)->SparseColumnOf(n).values
                                      : (*data)->DenseColumn(n);
    double squares = 0;
    for (const float value : values) squares += double{value} * value;
    // Each entry is rounded to float once.
    Demand(std::sqrt(squares) <= bound * (1 + 1e-6), "a column above c_v");
  }
}

std::vector<std::string> FuzzSeeds() {
  NpyHeader header;
  header.dtype = "<f4";
  header.shape = {2, 2};
  const float values[] = {1, 2, 3, 4};
  const std::string npy =
      NpyHeaderBytes(header) +
      std::string(reinterpret_cast<const char*>(values), sizeof values);
  // Name, format, flags, then the file.
  const auto seed = [](char name, char format, char flags,
                       const std::string& content) {
    return std::string({name, format, flags}) + content;
  };
  const std::string market = "%%MatrixMarket matrix ";
  std::vector<std::string> seeds = {
      seed(0, 0, 0, "who,\"a, b\",c\nann,1.5,2e3\nbob,0,7\n"),
      seed(0, Choice("csv"), 4, "1,2,3\n4,5,6e-320\n"),
      seed(0, Choice("csv"), 0, "user id,b\n1,2\n2,2\n"),
      seed(1, 0, 0, "1\t2\n3\t4\r\n\n"),
      seed(3, 0, 0,
           market + "coordinate real general\n%\n2 3 2\n1 1 1\n2 3 4.5\n"),
      seed(3, 0, 0, market + "coordinate pattern general\n2 3 1\n1 1\n"),
      // One row, one column too far.
      seed(3, 0, 0, market + "coordinate real general\n2 3 1\n3 1 1\n"),
      seed(3, 0, 0, market + "coordinate real general\n2 3 1\n1 4 1\n"),
      seed(3, 0, 0, market + "coordinate real general\n2 3 1\n0 1 1\n"),
      seed(3, 0, 0, market + "array real general\n1 2\n1\n2\n3\n"),
      seed(4, 0, 0, npy.substr(0, npy.size() - 1)),
      seed(4, 0, 0, npy + "x"),
      seed(3, Choice("mtx"), 0,
           market + "array integer general\n2 2\n1\n2\n3\n4\n"),
      seed(4, 0, 0, npy),
      seed(5, Choice("triples"), 8, "ann x 3\nbob y 4 978300760\nann y 1\n"),
      seed(5, Choice("triples"), 16, "ann,x,3\nbob,y,4\n"),
      seed(0, 0, 0, "user,item,rating,time\n1,2,3,4\n"),
      seed(7, 0, 32, ZipOf({{"x.npy", npy}})),
      seed(3, 0, 0, market + "coordinate double symmetric\n2 2 1\n2 1 1D0\n"),
      seed(3, 0, 0, market + "array real symmetric\n2 2\n1\n2\n3\n"),
      seed(6, 0, 0, "first name\nsecond\n\"third\"\n"),
      seed(6, 0, 0, "ENSG1\tA\tGene Expression\nENSG2\tA\tPeaks\n"),
      seed(6, 0, 0, "\"x\"\n\"1\" \"a b\"\n\"2\" \"c\"\n"),
      seed(0, 0, 0, "beds;days\n1,5;2\n0;3\n"),
      seed(0, 0, 0, "sep=;\r\nbeds;days\r\n1,5;1.234,5\r\n"),
      seed(1, 0, 0, "# made by hand\n# beds\tdays\n1\t2\n#sun\t3\n"),
      seed(0, 0, 0, "who,beds\r\"Kim\nB.\",1\rlee,2\r"),
      seed(0, 0, 0,
           std::string("\xFF\xFE"
                       "1\0,\0002\0\n\0003\0,\0004\0",
                       16)),
      seed(0, 0, 0,
           std::string("\xFE\xFF\xD8\x3D\xDE\x00\0,\0a\0\n\0001\0,\0002", 18)),
      seed(32, 0, 0, "beds,days\n1,2,3\n2,4,5\n3,6,7\n"),
      seed(32, 0, 0, "beds,sex,a,b\n1,f,$2,NA\n2,m,3%,\n"),
      seed(32, 0, 0, "a,b,1\nc,d,2\n"),
      seed(static_cast<char>(160), 0, 0,
           "\x10"
           "donor,beds\nb,1\na,4\nb,2\n"),
      seed(static_cast<char>(160), 0, 0,
           "\x33"
           "7,1\n7,2\n9,3\n"),
      seed(static_cast<char>(160), 0, 0,
           "\x0F"
           "1,5;2\n3;4\n"),
  };
  for (const InputFormat* format : InputFormats().rows()) {
    const std::string samples =
        "tests/common/tables/samples/" + std::string(format->name);
    for (const std::string& sample : FilesOf(samples))
      seeds.push_back(seed(5, Choice(format->name), 0, sample));
  }
  for (const bool wide : {false, true}) {
    for (const bool deflate : {false, true}) {
      seeds.push_back(seed(7, 0, 0, ZipOf({{"x.npy", npy, deflate}}, wide)));
    }
  }
  seeds.push_back(
      seed(7, 0, 0, ZipOf({{"x.npy", npy}, {"y.npy", npy, false}})));
  const std::size_t plain = seeds.size();
  for (std::size_t i = 0; i < plain; ++i) {  // compressed by the target
    seeds.push_back(seeds[i]);
    seeds.back()[0] = static_cast<char>(seeds.back()[0] + 16);
  }
  // Compressed here, so that a mutation damages the stream.
  seeds.push_back(seed(4, 0, 0, Gzip(npy)));
  seeds.push_back(seed(0, Choice("csv"), 0, Gzip("1,2\n3,4\n")));
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  return {"dense",
          "sparse",
          "names",
          "input-unreadable",
          "input-empty",
          "input-malformed",
          "input-ragged",
          "input-not-a-number",
          "input-not-finite",
          "input-negative",
          "input-duplicate",
          "input-out-of-range",
          "input-ambiguous",
          "features-mismatch",
          "users-mismatch",
          "item-unknown",
          "input-ratings",
          "array-unknown",
          "flag-unused",
          "id-column-missing",
          "id-column-out-of-range"};
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  constexpr const char* kNames[] = {"a.csv", "a.tsv",  "a.txt", "a.mtx",
                                    "a.npy", "a.data", "names", "a.npz"};
  static const OneFile file;
  FuzzInput bytes(data, size);
  const std::uint8_t kind = bytes.Byte();
  const std::string name = kNames[kind % 16 % std::size(kNames)];
  LoadOptions options = OptionsOf(&bytes);
  if ((kind & 128) != 0) MoreOptionsOf(&bytes, &options);
  const std::string_view content = bytes.Rest();
  if (DeclaresMillions(content)) return;
  const bool compress = (kind & 16) != 0;
  const std::string path = file.Write(name, compress ? Gzip(content) : content);
  if (name == "names") {
    const auto names = LoadNameList(path);
    Count(names.ok() ? "names" : ReasonCode(names.status()));
    if (!names.ok()) DemandRefusal(names.status());
    return;
  }
  auto matrix = LoadMatrix(path, (kind & 32) != 0, options);
  if (!matrix.ok()) {
    DemandRefusal(matrix.status());
    Count(ReasonCode(matrix.status()));
    return;
  }
  Count(matrix->sparse ? "sparse" : "dense");
  DemandSound(*matrix, options);
  const bool is_npy = content.starts_with("\x93NUMPY");
  if (is_npy && options.format == nullptr) DemandWhole(*matrix, content);
  DemandUsable(*std::move(matrix), (kind & 64) != 0
                                       ? curator::Normalisation::kL2
                                       : curator::Normalisation::kNone);
}

[[maybe_unused]] const bool kRegistered =
    Register({"matrix_file", 20'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::matrix_file
