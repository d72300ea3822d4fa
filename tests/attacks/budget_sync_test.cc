// Attack: the power goes off. What must be on the disk at each step of a round
// has been synced by then, in this order: the staged anchor, the row, the
// anchor's new name; only then noise; then the release and its new name; only
// then the answer.
//
// This program stands between the product (SQLite included) and the calls of
// the system that sync and rename, and writes down what it sees.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/failpoint.h"
#include "gmock/gmock.h"
#include "tests/attacks/attacker.h"

namespace {

std::mutex g_mutex;
std::vector<std::string>* g_seen = nullptr;  // null: nobody looks

void Note(const std::string& what) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_seen != nullptr) g_seen->push_back(what);
}

// The last two parts of a path; a release's own name is of no interest.
std::string Short(const std::string& path) {
  const std::size_t last = path.rfind('/');
  const std::size_t before =
      last == std::string::npos || last == 0 ? last : path.rfind('/', last - 1);
  std::string name =
      before == std::string::npos ? path : path.substr(before + 1);
  const std::string releases = "releases/";
  const std::size_t dot = name.rfind('.');
  if (name.compare(0, releases.size(), releases) == 0 &&
      dot != std::string::npos) {
    name = releases + "*" + name.substr(dot);
  }
  return name;
}

int NoteSync(int descriptor, long call) {
  char path[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  if (::readlink(link.c_str(), path, sizeof path - 1) > 0)
    Note("sync " + Short(path));
  return static_cast<int>(::syscall(call, descriptor));
}

}  // namespace

extern "C" int fsync(int descriptor) { return NoteSync(descriptor, SYS_fsync); }
extern "C" int fdatasync(int descriptor) {
  return NoteSync(descriptor, SYS_fdatasync);
}
extern "C" int rename(const char* from, const char* to) noexcept {
  Note("rename " + Short(to));
  return static_cast<int>(
      ::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace dpnmf::curator {
namespace {

using testing::ElementsAre;

class BudgetSync : public testing::Test {
 protected:
  BudgetSync() {
    curator_.Start();
    failpoint::on_reach = [](const char* place) {
      const std::string name = place;
      if (name == "after-charge") Note("charged");
      if (name == "after-draw") Note("drawn");
    };
  }
  ~BudgetSync() override { failpoint::on_reach = nullptr; }

  template <typename Call>
  std::vector<std::string> Seen(const Call& call) {
    std::vector<std::string> seen;
    g_seen = &seen;
    const Answer answer = call();
    g_seen = nullptr;
    EXPECT_EQ(answer.code, "");
    return seen;
  }

  AttackedCurator curator_;
  const RunVariant& variant_ = RunVariants()[0];
};

TEST_F(BudgetSync, ARoundIsOnTheDiskBeforeItIsDrawnAndBeforeItIsAnswered) {
  ASSERT_EQ(curator_.Open(kAlice, "run", variant_).code, "");
  for (std::uint32_t round = 1; round <= 3; ++round) {
    EXPECT_THAT(
        Seen([&] { return curator_.Ask(kAlice, "run", variant_, round, 0); }),
        ElementsAre("sync anchor/anchor.json.new",
                    "sync ledger/ledger.sqlite-wal",
                    "rename anchor/anchor.json", "sync live/anchor", "charged",
                    "drawn", "sync releases/*.new", "rename releases/*.release",
                    "sync live/releases"));
  }
}

TEST_F(BudgetSync, AnOpeningAndAClosingAreOnTheDiskBeforeTheyAreAnswered) {
  const auto row = ElementsAre("sync anchor/anchor.json.new",
                               "sync ledger/ledger.sqlite-wal",
                               "rename anchor/anchor.json", "sync live/anchor");
  EXPECT_THAT(Seen([&] { return curator_.Open(kAlice, "run", variant_); }),
              row);
  EXPECT_THAT(Seen([&] { return curator_.Close(kAlice, "run"); }), row);
}

TEST_F(BudgetSync, ARepeatWritesNothing) {
  ASSERT_EQ(curator_.Open(kAlice, "run", variant_).code, "");
  ASSERT_EQ(curator_.Ask(kAlice, "run", variant_, 1, 0).code, "");
  EXPECT_THAT(Seen([&] { return curator_.Ask(kAlice, "run", variant_, 1, 0); }),
              ElementsAre());
}

}  // namespace
}  // namespace dpnmf::curator
