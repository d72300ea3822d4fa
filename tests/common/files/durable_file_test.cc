#include "common/files/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "common/base/error.h"
#include "common/files/read_file.h"
#include "gtest/gtest.h"
#include "tests/common/base/failing_system.h"

namespace dpnmf {
namespace {

namespace fs = std::filesystem;
using Call = FailingSystem::Call;

class DurableFileTest : public ::testing::Test {
 protected:
  DurableFileTest() {
    std::string pattern = ::testing::TempDir() + "durableXXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~DurableFileTest() override { fs::remove_all(directory_); }

  std::string Path(const std::string& name) const {
    return directory_ + "/" + name;
  }
  std::string Get(const std::string& name) const {
    return ReadFile(Path(name), kOwnFileLimit).value_or("(none)");
  }
  int Count() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(directory_))
      count += entry.exists();
    return count;
  }

  std::string directory_;
};

TEST_F(DurableFileTest, ReadsWholeFilesUpToTheBound) {
  for (const std::size_t size : {0, 1, 4095, 4096, 4097, 100'000}) {
    const std::string text(size, 'x');
    std::ofstream(Path("f")) << text;
    EXPECT_EQ(ReadFile(Path("f"), size).value(), text);
    EXPECT_EQ(ReadFile(Path("f"), kOwnFileLimit).value(), text);
    if (size > 0) {
      EXPECT_EQ(ReasonCode(ReadFile(Path("f"), size - 1).status()),
                "file-too-large");
    }
  }
  EXPECT_EQ(ReasonCode(ReadFile(Path("absent"), 1).status()), "file-missing");
  EXPECT_EQ(ReasonCode(ReadFile(directory_, 1).status()), "storage-failed");
}

TEST_F(DurableFileTest, ReadsPipesToTheirEnd) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const std::string text(100'000, 'y');
  std::thread writer([&] { std::ofstream(Path("pipe")) << text; });
  EXPECT_EQ(ReadFile(Path("pipe"), kOwnFileLimit).value(), text);
  writer.join();
  EXPECT_EQ(ReasonCode(ReadFile("/dev/zero", 1000).status()), "file-too-large");
}

TEST_F(DurableFileTest, ErrorsNameThePathTheReasonAndTheAdvice) {
  EXPECT_EQ(WriteDurably("/nonexistent/f", "x").message(),
            "Cannot create `/nonexistent/f`: No such file or directory; "
            "create the parent directory first, or choose another path.");
}

TEST_F(DurableFileTest, NewFilesReplaceNothing) {
  ASSERT_TRUE(
      WriteDurably(Path("f"), "head ", std::as_bytes(std::span("b", 1))).ok());
  EXPECT_EQ(Get("f"), "head b");
  EXPECT_EQ(ReasonCode(WriteDurably(Path("f"), "other")), "storage-failed");
  std::ofstream(Path("g")) << "g";
  EXPECT_EQ(ReasonCode(RenameNew(Path("g"), Path("f"))), "storage-failed");
  EXPECT_EQ(ReasonCode(CopyDurably(Path("g"), Path("f"))), "storage-failed");
  EXPECT_EQ(Get("f"), "head b");
}

TEST_F(DurableFileTest, CopiesKeepBytesAndMode) {
  const std::string text(3'000'000, 'z');
  std::ofstream(Path("from")) << text;
  fs::permissions(Path("from"), fs::perms(0640));
  ASSERT_TRUE(CopyDurably(Path("from"), Path("to")).ok());
  EXPECT_EQ(Get("to"), text);
  EXPECT_EQ(fs::status(Path("to")).permissions(), fs::perms(0640));
}

TEST_F(DurableFileTest, OneLockAtATime) {
  const absl::Status held(absl::StatusCode::kFailedPrecondition, "held");
  std::optional<FileLock> lock = FileLock::Take(Path("lock"), held).value();
  EXPECT_EQ(FileLock::Take(Path("lock"), held).status(), held);
  lock.reset();
  EXPECT_TRUE(FileLock::Take(Path("lock"), held).ok());
}

// Whatever call fails: the old file or the new one, whole, and nothing beside.
TEST_F(DurableFileTest, AReplacementIsWholeWhateverCallFails) {
  int failed = 0;
  for (int n = 1;; ++n) {
    ASSERT_TRUE(ReplaceDurably(Path("f"), "old").ok());
    int calls = 0;
    absl::Status done;
    {
      const FailingSystem system(
          [&](Call, const std::string&) { return ++calls == n; });
      done =
          ReplaceDurably(Path("f"), "new ", std::as_bytes(std::span("b", 1)));
    }
    EXPECT_EQ(Count(), 1);
    if (calls < n) {
      EXPECT_TRUE(done.ok()) << done;
      break;
    }
    ++failed;
    EXPECT_EQ(ReasonCode(done), "storage-failed");
    const std::string text = Get("f");
    EXPECT_TRUE(text == "old" || text == "new b") << text;
  }
  // create, two writes, sync, rename, open and sync of the directory
  EXPECT_EQ(failed, 7);
  EXPECT_EQ(Get("f"), "new b");
}

// A file system without files that have no name.
class OnlyNamedFiles final : public failpoint::System {
 public:
  OnlyNamedFiles() { failpoint::in_place_of_the_system = this; }
  ~OnlyNamedFiles() override { failpoint::in_place_of_the_system = nullptr; }
  int Open(const char* path, int flags, mode_t mode) override {
    if ((flags & O_TMPFILE) != O_TMPFILE)
      return System::Open(path, flags, mode);
    errno = EOPNOTSUPP;
    return -1;
  }
};

TEST_F(DurableFileTest, AGrowingFileIsThereWhenItIsWholeAndNotBefore) {
  for (const bool replaces : {false, true}) {
    if (replaces) {
      std::ofstream(Path("f")) << "old";
      fs::permissions(Path("f"), fs::perms(0644));
    }
    auto file = GrowingFile::Create(Path("f"));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Append("one,").ok());
    ASSERT_TRUE(file->Append("two").ok());
    EXPECT_EQ(Count(), replaces) << "it has no name";
    ASSERT_TRUE(file->Publish().ok());
    EXPECT_EQ(Get("f"), "one,two");
    EXPECT_EQ(fs::status(Path("f")).permissions(), fs::perms(0600));
    EXPECT_EQ(Count(), 1);
  }
}

// Somebody else may remove what has a name, and a killed process leaves it.
TEST_F(DurableFileTest, ASpoolHasNoNameOnAnyFileSystem) {
  const auto check = [this] {
    auto one = GrowingFile::Spool(directory_);
    auto other = GrowingFile::Spool(directory_);
    ASSERT_TRUE(one.ok()) << one.status();
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(Count(), 0);
    ASSERT_TRUE(one->Append("one").ok());
    ASSERT_TRUE(other->Append("other").ok());
    EXPECT_EQ(std::ifstream(one->place()).get(), 'o');
    const GrowingFile moved = *std::move(other);
    std::byte bytes[5];
    ASSERT_TRUE(moved.Read(0, bytes).ok());
    EXPECT_EQ(std::memcmp(bytes, "other", 5), 0);
  };
  check();
  const OnlyNamedFiles system;
  check();
  EXPECT_EQ(Count(), 0);
}

TEST_F(DurableFileTest, AKilledProcessLeavesNothingOfAGrowingFile) {
  const pid_t child = fork();
  if (child == 0) {
    auto file = GrowingFile::Create(Path("f"));
    if (file.ok() && file->Append("somebody's row").ok()) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(Count(), 0);
}

TEST_F(DurableFileTest, AGrowingFileHasANameOfItsOwnWhereItMustHaveOne) {
  const OnlyNamedFiles system;
  std::ofstream(Path("f")) << "old";
  {
    auto file = GrowingFile::Create(Path("f"));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Append("half").ok());
    EXPECT_EQ(Count(), 2);
  }
  EXPECT_EQ(Count(), 1);
  EXPECT_EQ(Get("f"), "old");
  auto file = GrowingFile::Create(Path("f"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append("whole").ok());
  ASSERT_TRUE(file->Publish().ok());
  EXPECT_EQ(Get("f"), "whole");
  EXPECT_EQ(Count(), 1);
}

TEST_F(DurableFileTest, AGrowingFileReportsEachFailingCall) {
  for (const bool replaces : {false, true}) {
    for (int n = 1;; ++n) {
      fs::remove(Path("f"));
      if (replaces) std::ofstream(Path("f")) << "old";
      int calls = 0;
      const absl::Status done = [&]() -> absl::Status {
        const FailingSystem system(
            [&](Call, const std::string&) { return ++calls == n; });
        DPNMF_ASSIGN_OR_RETURN(GrowingFile file,
                               GrowingFile::Create(Path("f")));
        DPNMF_RETURN_IF_ERROR(file.Append("new"));
        return file.Publish();
      }();
      const std::string text = Get("f");
      if (calls < n) {
        EXPECT_TRUE(done.ok()) << done;
        EXPECT_EQ(text, "new");
        EXPECT_GT(n, 6);
        break;
      }
      EXPECT_EQ(ReasonCode(done), "storage-failed") << n;
      EXPECT_TRUE(text == "new" || text == (replaces ? "old" : "(none)"))
          << text;
      EXPECT_LE(Count(), 1);
    }
  }
}

TEST_F(DurableFileTest, ATreeIsRemovedWithoutFollowingLinks) {
  fs::create_directories(Path("tree/a/b"));
  std::ofstream(Path("tree/a/b/f")) << "f";
  std::ofstream(Path("tree/g")) << "g";
  fs::create_directory(Path("elsewhere"));
  std::ofstream(Path("elsewhere/kept")) << "kept";
  fs::create_directory_symlink(Path("elsewhere"), Path("tree/a/link"));
  int synced = 0;
  const FailingSystem system([&](Call call, const std::string& path) {
    synced += call == Call::kSyncDirectory && path == fs::canonical(directory_);
    return false;
  });
  ASSERT_TRUE(RemoveTreeDurably(Path("tree")).ok());
  EXPECT_EQ(Count(), 1);
  EXPECT_EQ(Get("elsewhere/kept"), "kept");
  EXPECT_EQ(synced, 1);
  // Whoever removed it may not have synced the directory.
  ASSERT_TRUE(RemoveTreeDurably(Path("tree")).ok());
  EXPECT_EQ(synced, 2);
  EXPECT_TRUE(RemoveTreeDurably(Path("none/tree")).ok());
}

TEST_F(DurableFileTest, EachWriteReportsEachFailingCall) {
  const auto all = [&] {
    fs::remove_all(Path("d"));
    fs::remove(Path("copy"));
    fs::remove(Path("appended"));
    absl::Status done = CreateDurableDirectory(Path("d/e"));
    done.Update(CopyDurably(Path("f"), Path("copy")));
    done.Update(AppendDurably(Path("appended"), "line\n"));
    done.Update(RewriteDurably(Path("f")));
    done.Update(SyncFile(Path("f")));
    absl::StatusOr<StagedFile> staged = StagedFile::Create(Path("d"), "s");
    done.Update(staged.status());
    if (staged.ok()) {
      done.Update(staged->Write("staged"));
      done.Update(staged->PublishAs("s"));
    }
    return done;
  };
  std::ofstream(Path("f")) << "f";
  for (int n = 1;; ++n) {
    int calls = 0;
    const FailingSystem system(
        [&](Call, const std::string&) { return ++calls == n; });
    const absl::Status done = all();
    if (calls < n) {
      EXPECT_TRUE(done.ok()) << done;
      EXPECT_GT(n, 25);
      break;
    }
    EXPECT_EQ(ReasonCode(done), "storage-failed") << n;
  }
}

}  // namespace
}  // namespace dpnmf
