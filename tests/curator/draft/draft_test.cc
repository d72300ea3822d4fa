#include "curator/draft/draft.h"

#include <sys/stat.h>

#include <cmath>

#include "common/base/error.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator {
namespace {

class DraftTest : public testing::Test {
 protected:
  static Draft Full() {
    Draft draft;
    draft.kind = DraftKind::kCompleted;
    draft.method = "svd";
    draft.parameters = {{"rank", 7}, {"weights", {0.2, 0, 0.8}}};
    draft.attacks = {{"linked", 0.04}};
    draft.largest_linkage = 0.0625;
    PeopleCollector people(FingerprintKey{1});
    people.AddId("ann");
    people.AddRow(std::vector<float>{1, 2});
    draft.people = people.Finish();
    return draft;
  }

  std::string directory() const { return scratch_.path() + "/a/draft"; }
  std::string Read(const std::string& name) const {
    return ReadAll(directory() + "/" + name);
  }
  void Write(const std::string& name, const std::string& bytes) const {
    scratch_.Write("a/draft/" + name, bytes);
  }
  // Returns the code of ReadDraft after a file of the draft is replaced.
  std::string CodeWith(const std::string& name,
                       const std::string& bytes) const {
    const std::string before = Read(name);
    Write(name, bytes);
    const std::string code = ReasonCode(ReadDraft(directory()).status());
    Write(name, before);
    return code;
  }
  std::string CodeWithJson(const std::string& from,
                           const std::string& to) const {
    std::string text = Read("draft.json");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return CodeWith("draft.json", text.replace(at, from.size(), to));
  }

  Scratch scratch_;
};

TEST_F(DraftTest, IsReadBackAsItWasWritten) {
  const Draft draft = Full();
  ASSERT_TRUE(WriteDraft(directory(), draft, "a,b\n1,2\n").ok());
  const auto stored = ReadDraft(directory());
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->table_csv, "a,b\n1,2\n");
  EXPECT_EQ(stored->draft.kind, DraftKind::kCompleted);
  EXPECT_EQ(stored->draft.method, "svd");
  EXPECT_EQ(stored->draft.parameters, draft.parameters);
  EXPECT_EQ(stored->draft.attacks, draft.attacks);
  EXPECT_EQ(stored->draft.largest_linkage, 0.0625);
  EXPECT_TRUE(stored->draft.charge.is_null());
  EXPECT_EQ(stored->draft.people, draft.people);
}

TEST_F(DraftTest, WithoutPeopleAndAttacksIsReadBackWithoutThem) {
  Draft draft;
  draft.kind = DraftKind::kSynthetic;
  draft.charge = {{"sequence", 4}};
  ASSERT_TRUE(WriteDraft(directory(), draft, "").ok());
  const auto stored = ReadDraft(directory());
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->draft.people, std::nullopt);
  EXPECT_EQ(stored->draft.largest_linkage, std::nullopt);
  EXPECT_TRUE(stored->draft.attacks.is_null());
  EXPECT_EQ(stored->draft.charge, draft.charge);
}

TEST_F(DraftTest, IsForItsOwnerAlone) {
  ASSERT_TRUE(WriteDraft(directory(), Full(), "1\n").ok());
  for (const char* name : {"draft.json", "table.csv", "people.bin"}) {
    struct stat facts {};
    ASSERT_EQ(stat((directory() + "/" + name).c_str(), &facts), 0) << name;
    EXPECT_EQ(facts.st_mode & 0777, 0600u) << name;
  }
  struct stat facts {};
  ASSERT_EQ(stat(directory().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
}

TEST_F(DraftTest, DoesNotReplaceAnother) {
  ASSERT_TRUE(WriteDraft(directory(), Full(), "1\n").ok());
  EXPECT_EQ(ReasonCode(WriteDraft(directory(), Full(), "2\n")), "draft-exists");
  EXPECT_EQ(Read("table.csv"), "1\n");
}

TEST_F(DraftTest, IsMissingWithoutItsDescription) {
  EXPECT_EQ(ReasonCode(ReadDraft(directory()).status()), "draft-missing");
}

TEST_F(DraftTest, ThatWasChangedIsDamaged) {
  ASSERT_TRUE(WriteDraft(directory(), Full(), "1\n").ok());
  ASSERT_TRUE(ReadDraft(directory()).ok());
  EXPECT_EQ(CodeWith("table.csv", "2\n"), "draft-damaged");
  EXPECT_EQ(CodeWith("people.bin", ""), "draft-damaged");
  EXPECT_EQ(CodeWith("draft.json", "{"), "draft-damaged");
  EXPECT_EQ(CodeWithJson("completed", "complete"), "draft-damaged");
  EXPECT_EQ(CodeWithJson("\"format\": 1", "\"format\": 2"), "draft-damaged");
  EXPECT_EQ(CodeWithJson("0.0625", "1.5"), "draft-damaged");
  EXPECT_EQ(CodeWithJson("0.0625", "\"low\""), "draft-damaged");
  EXPECT_EQ(CodeWithJson("\"format\": 1", "\"format\": 1, \"more\": 1"),
            "draft-damaged");
  std::filesystem::remove(directory() + "/table.csv");
  EXPECT_EQ(ReasonCode(ReadDraft(directory()).status()), "draft-damaged");
}

// A share that is no number cannot pass for a small one.
TEST_F(DraftTest, WithALinkageThatIsNoNumberHasNone) {
  Draft draft = Full();
  draft.largest_linkage = std::nan("");
  ASSERT_TRUE(WriteDraft(directory(), draft, "1\n").ok());
  const auto stored = ReadDraft(directory());
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->draft.largest_linkage, std::nullopt);
}

TEST_F(DraftTest, WithALinkageAndWithoutAttacksIsDamaged) {
  Draft draft = Full();
  draft.attacks = nullptr;
  ASSERT_TRUE(WriteDraft(directory(), draft, "1\n").ok());
  EXPECT_EQ(ReasonCode(ReadDraft(directory()).status()), "draft-damaged");
}

}  // namespace
}  // namespace dpnmf::curator
