#include "common/ratings/model_file.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>

#include "common/base/error.h"
#include "common/files/npz.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/base/scratch_directory.h"
#include "tests/common/ratings/sample_model.h"

namespace dpnmf {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void ExpectSame(const NamedItemModel& one, const NamedItemModel& other) {
  EXPECT_EQ(one.items, other.items);
  EXPECT_EQ(one.names, other.names);
  EXPECT_EQ(one.model.low, other.model.low);
  EXPECT_EQ(one.model.high, other.model.high);
  EXPECT_EQ(one.model.residual_stddev, other.model.residual_stddev);
  EXPECT_EQ(one.model.level, other.model.level);
  EXPECT_TRUE(one.model.base == other.model.base);
  EXPECT_TRUE(one.model.base_stddev == other.model.base_stddev);
  EXPECT_TRUE(one.model.counts == other.model.counts);
  EXPECT_TRUE(one.model.counts_stddev == other.model.counts_stddev);
  EXPECT_TRUE(one.model.popularity == other.model.popularity);
  EXPECT_TRUE(one.model.loadings == other.model.loadings);
  ASSERT_EQ(one.model.ranking.cols(), other.model.ranking.cols());
  EXPECT_TRUE(one.model.ranking.cols() == 0 ||
              one.model.ranking == other.model.ranking);
}

// The refusal of a text that is the sample's but for one place.
absl::Status Altered(std::string text, const std::string& from,
                     const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return ParseItemModel(text).status();
}

TEST(ModelFile, EveryNumberComesBackAsItWasInBothFormats) {
  for (const int k : {0, 3}) {
    NamedItemModel model = SampleItemModel(40, 4, k);
    model.model.base(3) = 0.1 + 0.2;
    model.model.loadings(2, 1) = -std::numeric_limits<double>::denorm_min();
    model.names[1] = "Quote \" and, comma";
    model.names[2] = "  blanks ";
    model.names[4] = "# hash";
    model.names[5] = "Am\xc3\xa9lie";
    model.items[7] = "a,b";
    for (const std::string& bytes : {NpzText(model), ItemCsvText(model)}) {
      const auto read = ParseItemModel(bytes);
      ASSERT_TRUE(read.ok()) << read.status();
      ExpectSame(*read, model);
    }
  }
}

NamedItemModel NonNegativeSample() {
  NamedItemModel model = SampleItemModel(3, 2, 1);
  model.model.loadings = model.model.loadings.cwiseAbs();
  model.model.level = 0.7;
  return model;
}

TEST(ModelFile, ANonNegativeModelHasALevelAndComesBack) {
  const NamedItemModel model = NonNegativeSample();
  for (const std::string& bytes : {NpzText(model), ItemCsvText(model)}) {
    const auto read = ParseItemModel(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    ExpectSame(*read, model);
  }
  const std::string csv = ItemCsvText(model);
  EXPECT_THAT(csv, StartsWith("# dpnmf items, version 1, low 1, high 5, "));
  const struct {
    const char *from, *to, *sentence;
  } cases[] = {{"level 0.69999999999999996", "", "line 1 lacks"},
               {"level 0.69999999999999996", "level 0", "line 1 lacks"},
               {"level 0.69999999999999996", "level -1", "line 1 lacks"},
               {"level 0.69999999999999996", "level nan", "line 1 lacks"},
               {"level 0.69999999999999996", "level 1e9", "`level`"},
               {"0.40000000000000002", "-0.4", "`level`"}};
  for (const auto& c : cases) {
    const absl::Status status = Altered(csv, c.from, c.to);
    EXPECT_EQ(ReasonCode(status), "model-file-malformed") << c.to;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.sentence)) << c.to;
  }
  const std::string npz = NpzText(model);
  for (std::size_t cut = 0; cut < npz.size(); ++cut)
    EXPECT_FALSE(ParseItemModel(npz.substr(0, cut)).ok()) << cut;
}

TEST(ModelFile, NamesAreOptionalAndTheSameModelGivesTheSameBytes) {
  NamedItemModel model = SampleItemModel(5, 1, 0);
  model.names.clear();
  for (const std::string& bytes : {NpzText(model), ItemCsvText(model)}) {
    const auto read = ParseItemModel(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    ExpectSame(*read, model);
  }
  EXPECT_EQ(NpzText(model), NpzText(NamedItemModel(model)));
}

// Reads the archive as other programs do: Python's zipfile checks each CRC-32.
TEST(ModelFile, PythonReadsTheArchive) {
  const ScratchDirectory scratch;
  const std::string path = scratch.PathOf("items.npz");
  std::ofstream(path, std::ios::binary) << NpzText(SampleItemModel(9, 3, 2));
  const std::string program =
      "import ast, struct, sys, zipfile\n"
      "z = zipfile.ZipFile(sys.argv[1])\n"
      "assert z.testzip() is None\n"
      "def array(name):\n"
      "    b = z.read(name + \".npy\")\n"
      "    assert b[:8] == b\"\\x93NUMPY\\x01\\x00\"\n"
      "    n, = struct.unpack(\"<H\", b[8:10])\n"
      "    return ast.literal_eval(b[10:10 + n].decode()), b[10 + n:]\n"
      "h, d = array(\"factors\")\n"
      "assert h == {\"descr\": \"<f8\", \"fortran_order\": False, "
      "\"shape\": (9, 3)}, h\n"
      "assert struct.unpack(\"<27d\", d)[0::3] == (0.4,) * 9\n"
      "h, d = array(\"item\")\n"
      "assert h[\"descr\"] == \"|S2\" and d[:4] == b\"i0i1\"\n"
      "h, d = array(\"rating_range\")\n"
      "assert struct.unpack(\"<2d\", d) == (1, 5)\n";
  EXPECT_EQ(std::system(("python3 -c '" + program + "' " + path).c_str()), 0);
}

// Written by Python's zipfile the way numpy.savez does it: members with a Zip64
// field in their local header and time stamps.
TEST(ModelFile, AnArchiveThatAnotherProgramHasWrittenAgainIsRead) {
  const ScratchDirectory scratch;
  const std::string from = scratch.PathOf("from.npz"),
                    to = scratch.PathOf("to.npz");
  const NamedItemModel model = SampleItemModel(9, 3, 2);
  std::ofstream(from, std::ios::binary) << NpzText(model);
  const std::string program =
      "import sys, zipfile\n"
      "z = zipfile.ZipFile(sys.argv[1])\n"
      "out = zipfile.ZipFile(sys.argv[2], \"w\", zipfile.ZIP_STORED)\n"
      "for name in z.namelist():\n"
      "    with out.open(name, \"w\", force_zip64=True) as f:\n"
      "        f.write(z.read(name))\n"
      "out.writestr(\"readme.txt\", \"more\")\n"
      "out.comment = b\"a comment\"\n"
      "out.close()\n";
  ASSERT_EQ(
      std::system(("python3 -c '" + program + "' " + from + " " + to).c_str()),
      0);
  const auto read = ReadItemModel(to);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(*read, model);
}

TEST(ModelFile, WhatCannotBeUsedIsRefusedInOneSentence) {
  const std::string csv = ItemCsvText(SampleItemModel(3, 2, 1));
  const struct {
    const char *from, *to, *sentence;
  } cases[] = {
      {"# dpnmf", "dpnmf", "line 1 does not begin"},
      {", low 1,", ", low x,", "line 1 lacks"},
      {", low 1,", ", low 7,", "range of ratings"},
      {", low 1,", ", low nan,", "range of ratings"},
      {", low 1,", ", low 5,", "range of ratings"},
      {"residual_stddev 0.8", "residual_stddev -0.8", "residual_stddev"},
      {"residual_stddev 0.8", "residual_stddev 1e-9 0.8", "line 1 lacks"},
      {"factor2", "factor3", "line 2 has other columns"},
      {"item,name", "id,name", "line 2 has other columns"},
      {"popularity", "count", "line 2 has other columns"},
      {"i1,", "i0,", "`i0` occurs twice"},
      {"\ni1,", "\n,", "has no id"},
      {"\ni1,", "\ni\x07,", "printable line"},
      {"\ni1,", "\n\xff\xfe,", "printable line"},
      {"\ni1,", "\ni1,more,", "line 4 does not have"},
      {"0.40000000000000002", "1e300", "factors"},
      {"0.40000000000000002", "inf", "factors"},
      {"0.40000000000000002", "nan", "factors"},
      {"0.40000000000000002", "0.4x", "line 3 has no number in column 8"},
      {"0.40000000000000002", "", "line 3 has no number in column 8"},
      {",1.5,", ",-1.5,", "`count_stddev`"},
  };
  for (const auto& c : cases) {
    const absl::Status status = Altered(csv, c.from, c.to);
    EXPECT_EQ(ReasonCode(status), "model-file-malformed") << c.to;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.sentence)) << c.to;
    EXPECT_THAT(std::string(status.message()), EndsWith(".")) << c.to;
  }
  for (const char* other : {"version 0", "version 2", "version "}) {
    EXPECT_EQ(ReasonCode(Altered(csv, "version 1", other)), "model-file-newer")
        << other;
  }
  EXPECT_FALSE(ParseItemModel("").ok());
  EXPECT_FALSE(ParseItemModel("PK").ok());
}

TEST(ModelFile, ADamagedArchiveIsRefusedWhereverItIsCutOrChanged) {
  const std::string bytes = NpzText(SampleItemModel(3, 2, 1));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_FALSE(ParseItemModel(bytes.substr(0, cut)).ok()) << cut;
  // Every entry of every array is under a CRC-32.
  const std::size_t at = bytes.find("factors.npy") + 128 + 16;
  std::string changed = bytes;
  changed[at] = static_cast<char>(changed[at] ^ 1);
  EXPECT_THAT(std::string(ParseItemModel(changed).status().message()),
              HasSubstr("CRC-32"));
}

TEST(ModelFile, ArraysOfAnotherShapeOrTypeAreRefused) {
  const NamedItemModel model = SampleItemModel(3, 2, 0);
  const auto with = [&](const std::function<void(NpzWriter*)>& add) {
    NpzWriter archive;
    archive.AddVector("rating_range", Eigen::VectorXd::LinSpaced(2, 1, 5));
    archive.AddVector("residual_stddev", Eigen::VectorXd::Constant(1, 1));
    archive.AddTexts("item", model.items);
    for (const char* name : {"base_stddev", "count", "count_stddev"})
      archive.AddVector(name, Eigen::VectorXd::Ones(3));
    archive.AddVector("popularity", Eigen::VectorXd::Ones(3));
    add(&archive);
    return std::string(ParseItemModel(archive.Take()).status().message());
  };
  const Eigen::VectorXd base = Eigen::VectorXd::Constant(3, 3);
  const Eigen::MatrixXd factors = Eigen::MatrixXd::Constant(3, 2, 0.5);
  EXPECT_EQ(with([&](NpzWriter* archive) {
              archive->AddInteger("version", 1);
              archive->AddVector("base", base);
              archive->AddMatrix("factors", factors);
            }),
            "");
  const std::pair<const char*, std::function<void(NpzWriter*)>> cases[] = {
      {"no array `version`", [](NpzWriter*) {}},
      {"`base` must have 1 dimension",
       [&](NpzWriter* archive) {
         archive->AddInteger("version", 1);
         archive->AddMatrix("base", base);
       }},
      {"`version` must have 1 dimension",
       [&](NpzWriter* archive) { archive->AddVector("version", base); }},
      {"`base` is not one number in range for each item",
       [&](NpzWriter* archive) {
         archive->AddInteger("version", 1);
         archive->AddVector("base", base.head(2) * std::nan(""));
         archive->AddMatrix("factors", factors);
       }},
      {"`base_stddev` is not one number in range for each item",
       [&](NpzWriter* archive) {
         archive->AddInteger("version", 1);
         archive->AddVector("base", base.head(2));
         archive->AddMatrix("factors", factors);
       }},
      {"`factors` does not have a row for each item",
       [&](NpzWriter* archive) {
         archive->AddInteger("version", 1);
         archive->AddVector("base", base);
         archive->AddMatrix("factors", factors.topRows(2));
       }},
      {"`count` occurs twice",
       [&](NpzWriter* archive) {
         archive->AddInteger("version", 1);
         archive->AddVector("count", base);
       }},
  };
  for (const auto& [sentence, add] : cases)
    EXPECT_THAT(with(add), HasSubstr(sentence)) << sentence;
}

// A type that only begins like a double's must not be copied as one.
TEST(ModelFile, ATypeThatBeginsLikeADoubleIsNone) {
  std::string bytes = NpzText(SampleItemModel(3, 2, 1));
  NpzWriter archive;
  archive.AddVector("base", Eigen::VectorXd::Ones(10));
  std::string one = archive.Take();
  const auto members = ReadNpz(one);
  ASSERT_TRUE(members.ok());
  std::string npy(members->at("base"));
  npy.replace(npy.find("<f8', "), 6, "<f80',");
  npy.replace(npy.find("(10,)"), 5, "(1,) ");
  EXPECT_FALSE(VectorOfMember(npy, "base").ok());
}

}  // namespace
}  // namespace dpnmf
