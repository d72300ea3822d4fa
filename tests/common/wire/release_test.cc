#include "common/wire/release.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

NoisedMatrix SomePart() {
  NoisedMatrix part;
  part.name = "G";
  part.rows = part.columns = 2;
  part.symmetric = true;
  part.step_exponent = -4;
  part.lattice = {5, -7, 1LL << 60};
  return part;
}

v1::StagePlan SomeStage() {
  v1::StagePlan stage;
  stage.set_release("moments");
  v1::PartPlan& part = *stage.add_parts();
  part.set_name("G");
  part.set_step_exponent(-4);
  part.set_stddev_steps(1000);
  part.set_diagonal_stddev_steps(1415);
  return stage;
}

v1::RunParameters SomeParameters() {
  v1::RunParameters parameters;
  parameters.set_dataset("digits");
  parameters.set_rank(3);
  return parameters;
}

// Computed by Python's hashlib from docs/reference/protocol.md. A change of the
// definition would orphan every signed release.
TEST(ReleaseDigest, IsWhatTheDocumentationSays) {
  const v1::RunParameters parameters = SomeParameters();
  const v1::StagePlan stage = SomeStage();
  const std::vector<std::uint32_t> rows = {1, 4};
  EXPECT_EQ(
      HexOf(DigestOfRelease({&parameters, &stage, 40, rows}, {SomePart()})),
      "d76ab0fcc9b642e5be84e58e1e304d3d46e922468f6386b788bf2542a8727550");
}

TEST(ReleaseDigest, DependsOnEveryFact) {
  v1::RunParameters parameters = SomeParameters();
  v1::StagePlan stage = SomeStage();
  std::vector<std::uint32_t> rows = {1, 4};
  std::vector<NoisedMatrix> parts = {SomePart()};
  std::uint64_t users = 40;
  std::vector<double> numbers = {};
  Eigen::MatrixXd w = Eigen::MatrixXd::Ones(2, 3);
  std::set<Digest> seen;
  const auto is_new = [&] {
    return seen
        .insert(DigestOfRelease({&parameters, &stage, users, rows, numbers, &w},
                                parts))
        .second;
  };
  EXPECT_TRUE(is_new());
  EXPECT_FALSE(is_new());
  v1::PartPlan& noise = *stage.mutable_parts(0);
  NoisedMatrix& part = parts[0];
  const std::function<void()> changes[] = {
      [&] { parameters.set_rank(4); },
      [&] { users = 41; },
      [&] {
        rows = {1, 5};
      },
      [&] { rows = {}; },
      [&] { stage.set_release("mean"); },
      [&] { noise.set_name("H"); },
      [&] { noise.set_step_exponent(-5); },
      [&] { noise.set_stddev_steps(1001); },
      [&] { noise.set_diagonal_stddev_steps(1416); },
      [&] { part.name = "H"; },
      [&] { part.rows = 3; },
      [&] { part.columns = 3; },
      [&] { part.symmetric = false; },
      [&] { part.step_exponent = 0; },
      [&] { part.lattice[2] += 1; },
      [&] { std::swap(part.lattice[0], part.lattice[1]); },
      [&] { part.lattice.push_back(0); },
      [&] { part.is_lattice = false; },
      [&] { part.reals = {0.0}; },
      [&] { part.reals = {-0.0}; },
      [&] { parts.push_back(SomePart()); },
      [&] { stage.add_parts(); },
      [&] { numbers = {1}; },
      [&] { numbers = {2}; },
      [&] {
        numbers = {2, 1};
      },
      [&] { w(0, 1) = 2; },
      [&] { w = w.reshaped(3, 2).eval(); },
  };
  int number = 0;
  for (const auto& change : changes) {
    SCOPED_TRACE(number++);
    change();
    EXPECT_TRUE(is_new());
  }
}

std::vector<v1::ReleaseReply> SomeMessages() {
  std::vector<v1::ReleaseReply> messages(1);
  messages[0].mutable_header()->set_version(1);
  CarriedRound round;
  round.round = 2;
  round.rows = {1, 4};
  round.parts = {SomePart()};
  round.receipt.set_round(2);
  WriteRound(round, [&](const v1::ReleaseReply& message) {
    messages.push_back(message);
    return true;
  });
  return messages;
}

std::string SomeFile() {
  std::string framed;
  for (const v1::ReleaseReply& message : SomeMessages())
    framed += FramedRelease(message);
  return ReleaseFileOf(framed);
}

std::string CodeOfFile(std::string_view file) {
  return ReasonCode(ReadReleaseFile(
      file, [](const v1::ReleaseReply&) { return absl::OkStatus(); }));
}

TEST(ReleaseFile, IsReadAsItWasWritten) {
  std::vector<std::string> read;
  ASSERT_TRUE(ReadReleaseFile(SomeFile(), [&](const v1::ReleaseReply& message) {
                read.push_back(message.SerializeAsString());
                return absl::OkStatus();
              }).ok());
  std::vector<std::string> written;
  for (const v1::ReleaseReply& message : SomeMessages())
    written.push_back(message.SerializeAsString());
  EXPECT_EQ(read, written);
}

TEST(ReleaseFile, IsRefusedIfAnyByteIsChangedOrMissing) {
  const std::string file = SomeFile();
  ASSERT_EQ(CodeOfFile(file), "");
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const int bit : {0, 7}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_EQ(CodeOfFile(changed), "release-file-malformed") << i;
    }
    EXPECT_EQ(CodeOfFile(file.substr(0, i)), "release-file-malformed") << i;
  }
  EXPECT_EQ(CodeOfFile(file + "x"), "release-file-malformed");
  // With a hash that fits: lengths that do not.
  for (const std::string& framed :
       {std::string("\x01\0\0", 3), std::string("\x05\0\0\0abcd", 8),
        std::string("\xff\xff\xff\xff", 4),
        std::string("\x02\0\0\0\xff\xff", 6)})
    EXPECT_EQ(CodeOfFile(ReleaseFileOf(framed)), "release-file-malformed");
}

TEST(CarriedRounds, AreReadAsTheyWereWritten) {
  CarriedRoundsReader reader(3);
  for (const v1::ReleaseReply& message : SomeMessages()) {
    if (message.has_header()) continue;
    ASSERT_TRUE(reader.Add(message).ok());
  }
  ASSERT_TRUE(reader.complete());
  const std::vector<CarriedRound> rounds = reader.Take();
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].round, 2u);
  EXPECT_EQ(rounds[0].rows, (std::vector<std::uint32_t>{1, 4}));
  EXPECT_EQ(rounds[0].parts, std::vector<NoisedMatrix>{SomePart()});
  EXPECT_EQ(rounds[0].receipt.round(), 2u);
}

TEST(CarriedRounds, AreBoundedAndInOrder) {
  const std::vector<v1::ReleaseReply> good = SomeMessages();
  const auto code = [&](std::uint64_t most,
                        const std::vector<v1::ReleaseReply>& messages) {
    CarriedRoundsReader reader(most);
    for (const v1::ReleaseReply& message : messages) {
      const absl::Status added = reader.Add(message);
      if (!added.ok()) return ReasonCode(added);
    }
    return std::string(reader.complete() ? "" : "incomplete");
  };
  EXPECT_EQ(code(3, {good[1], good[2]}), "");
  EXPECT_EQ(code(2, {good[1], good[2]}), "release-malformed");
  EXPECT_EQ(code(3, {good[1]}), "incomplete");
  EXPECT_EQ(code(3, {good[2]}), "release-malformed");
  EXPECT_EQ(code(3, {good[0]}), "release-malformed");
  EXPECT_EQ(code(9, {good[1], good[1]}), "release-malformed");
  EXPECT_EQ(code(9, {good[1], good[2], good[2]}), "release-malformed");
  EXPECT_EQ(code(9, {good[1], good[2], good[1]}), "release-malformed");
  v1::ReleaseReply rows = good[1];
  rows.mutable_round()->mutable_rows()->Set(0, 4);
  EXPECT_EQ(code(9, {rows}), "release-malformed");
  rows = good[1];
  for (std::uint32_t row = 5; row < 10; ++row)
    rows.mutable_round()->add_rows(row);
  EXPECT_EQ(code(9, {rows}), "release-malformed");
  v1::ReleaseReply huge = good[1];
  huge.mutable_round()->mutable_parts(0)->mutable_shape()->set_rows(1ULL << 63);
  huge.mutable_round()->mutable_parts(0)->mutable_shape()->set_columns(1ULL
                                                                       << 63);
  EXPECT_EQ(code(UINT64_MAX - 1, {huge, good[2]}), "release-malformed");
}

}  // namespace
}  // namespace dpnmf
