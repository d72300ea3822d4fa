// A file format is one row: added here, it is found, read and named in the
// lists of --format-in and of the help.
#include "common/tables/formats.h"

#include <filesystem>
#include <string>

#include "common/base/error.h"
#include "curator/import/import.h"
#include "gmock/gmock.h"
#include "tests/common/base/added_row.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One person: as many features as the file has bytes after its first four.
absl::StatusOr<LoadedMatrix> ReadBytes(InputFile* input, bool,
                                       const LoadOptions&) {
  DPNMF_ASSIGN_OR_RETURN(const std::string_view all, input->Peek(1 << 10));
  LoadedMatrix matrix;
  for (const char byte : all.substr(4))
    matrix.values.push_back(static_cast<float>(byte - '0'));
  matrix.features = matrix.values.size();
  matrix.users = 1;
  return matrix;
}

constexpr InputFormat kBytes = {.name = "bytes",
                                .title = "single digits",
                                .extension = ".digits",
                                .signature = "DIGS",
                                .declares_people = true,
                                .read = ReadBytes};

TEST(Formats, ARowIsAllThatAFormatTakes) {
  const Scratch scratch;
  const std::string by_signature = scratch.Write("file", "digs372");
  const std::string by_extension = scratch.Write("file.DIGITS", "....12");
  EXPECT_FALSE(MatrixFormatOfName("bytes").has_value());
  EXPECT_FALSE(LoadMatrix(by_signature, true).ok());
  const AddedRow<InputFormat> row(&InputFormats(), &kBytes);
  EXPECT_EQ(MatrixFormatOfName("bytes"), &kBytes);
  EXPECT_THAT(LoadMatrix(by_signature, true).value().values,
              ElementsAre(3, 7, 2));
  EXPECT_THAT(LoadMatrix(by_extension, true).value().values, ElementsAre(1, 2));
  LoadOptions options;
  options.format = &kBytes;
  EXPECT_THAT(LoadMatrix(scratch.Write("other.csv", "0,1,9"), true, options)
                  .value()
                  .values,
              ElementsAre(9));
  EXPECT_THAT(FormatNames(), HasSubstr("|tsv|bytes"));
  EXPECT_THAT(FormatTitles(), HasSubstr(" and single digits"));
}

TEST(Formats, OfDeclaredPeopleNeedItemsAndTheirNumber) {
  const AddedRow<InputFormat> row(&InputFormats(), &kBytes);
  ImportOptions options;
  options.name = options.population = "people";
  options.epsilon = 1;
  options.delta = 1e-6;
  options.input = "people.bytes";
  options.format = &kBytes;
  EXPECT_EQ(ReasonCode(CheckImportOptions(options)), "features-missing");
  options.features_file = "items.txt";
  EXPECT_EQ(ReasonCode(CheckImportOptions(options)), "users-count-missing");
  options.users_count = 1;
  EXPECT_TRUE(CheckImportOptions(options).ok());
}

// tests/common/tables/samples/NAME: also what fuzz.matrix_file begins with.
TEST(Formats, EachHasSamplesThatItReads) {
  const std::filesystem::path samples =
      DPNMF_SOURCE_DIR "/tests/common/tables/samples";
  for (const InputFormat* format : InputFormats().rows()) {
    ASSERT_TRUE(std::filesystem::is_directory(samples / format->name))
        << format->name << " has no folder in " << samples;
    int files = 0;
    for (const auto& file :
         std::filesystem::directory_iterator(samples / format->name)) {
      SCOPED_TRACE(file.path());
      ++files;
      LoadOptions options;
      options.format = format;
      const auto matrix = LoadMatrix(file.path().string(), true, options);
      ASSERT_TRUE(matrix.ok()) << matrix.status();
      EXPECT_EQ(matrix->users, 2);
    }
    EXPECT_GT(files, 0) << format->name;
  }
}

TEST(Formats, NamesAreThoseOfTheFlagAndAutoIsNoRow) {
  EXPECT_EQ(FormatNames(), "auto|csv|mtx|npy|npz|text|triples|tsv");
  EXPECT_EQ(MatrixFormatOfName("auto"), std::optional<MatrixFormat>(nullptr));
  EXPECT_EQ(MatrixFormatOfName("xlsx"), std::nullopt);
  EXPECT_EQ(InputFormats().Find("auto"), nullptr);
}

}  // namespace
}  // namespace dpnmf::curator
