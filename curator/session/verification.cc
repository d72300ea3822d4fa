#include "curator/session/verification.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/error.h"
#include "common/log/log.h"
#include "common/log/without_exceptions.h"
#include "curator/data/file_digests.h"

namespace dpnmf::curator {
namespace {

absl::StatusOr<std::vector<FileCheck>> ChecksOf(const Dataset& dataset,
                                                const Ledger& ledger,
                                                const Digest& file_key) {
  const DatasetDescription& description = dataset.description();
  DPNMF_ASSIGN_OR_RETURN(
      const auto in_ledger,
      ledger.FilesOf(description.population, description.name));
  return dataset.Checks(in_ledger, file_key);
}

struct DatasetWork {
  std::string name;
  std::uint64_t bytes = 0;
  std::vector<FileCheck> checks;
};

// The work for all data sets of the catalog, the smallest first.
absl::StatusOr<std::vector<DatasetWork>> WorkOf(const Catalog& catalog,
                                                const Ledger& ledger,
                                                const Digest& file_key) {
  std::vector<DatasetWork> all;
  for (const Dataset* dataset : catalog.All()) {
    DatasetWork& work = all.emplace_back();
    work.name = dataset->description().name;
    DPNMF_ASSIGN_OR_RETURN(work.checks, ChecksOf(*dataset, ledger, file_key));
    for (const FileCheck& check : work.checks)
      work.bytes += check.expected.bytes;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const DatasetWork& a, const DatasetWork& b) {
                     return a.bytes < b.bytes;
                   });
  return all;
}

// Links are followed: the file may be on another disk than its directory.
dev_t DiskOf(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? facts.st_dev : 0;
}

}  // namespace

absl::Status VerifyDataset(const Dataset& dataset, const Ledger& ledger,
                           const Digest& file_key) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<FileCheck> checks,
                         ChecksOf(dataset, ledger, file_key));
  return CheckFiles(checks, file_key);
}

// One file on one disk.
struct Verification::Work {
  std::string name;  // of its data set
  FileCheck check;
  // Files of the data set that are not verified yet, on any disk.
  std::shared_ptr<std::atomic<std::size_t>> left;
};

Verification::Verification(Options options) : options_(std::move(options)) {}

Verification::~Verification() {
  stopped_ = true;
  for (std::thread& thread : threads_) thread.join();
}

absl::StatusOr<std::unique_ptr<Verification>> Verification::Start(
    Options options) {
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<DatasetWork> all,
      WorkOf(*options.catalog, *options.ledger, options.file_key));
  std::unique_ptr<Verification> started(new Verification(std::move(options)));
  const Options& own = started->options_;
  std::uint64_t room = own.at_once;
  std::map<dev_t, std::vector<Work>> by_disk;
  for (DatasetWork& one : all) {
    if (one.bytes <= room) {
      room -= one.bytes;
      DPNMF_RETURN_IF_ERROR(CheckFiles(one.checks, own.file_key));
      own.catalog->SetVerified(one.name);
      continue;
    }
    LogInfo("the data set {} is served once its files are verified", one.name);
    const auto left =
        std::make_shared<std::atomic<std::size_t>>(one.checks.size());
    for (FileCheck& check : one.checks) {
      by_disk[DiskOf(check.path)].push_back({one.name, std::move(check), left});
    }
  }
  for (auto& [disk, works] : by_disk) {
    started->threads_.emplace_back(
        [verification = started.get(), own_works = std::move(works)] {
          verification->Run(own_works);
        });
  }
  return started;
}

absl::Status Verification::RunOne(const Work& work) {
  DPNMF_RETURN_IF_ERROR(
      CheckFile(work.check, options_.file_key, [this](const std::string& path) {
        return ReadContent(path, [this] { return stopped_.load(); });
      }));
  if (work.left->fetch_sub(1) > 1) return absl::OkStatus();
  AwaitTick(options_.pacer);
  options_.catalog->SetVerified(work.name);
  LogInfo("the data set {} is verified and served from now on", work.name);
  return absl::OkStatus();
}

void Verification::Run(const std::vector<Work>& works) {
  for (const Work& work : works) {
    const absl::Status verified =
        WithoutExceptions([&] { return RunOne(work); });
    if (verified.ok()) continue;
    if (stopped_.exchange(true)) return;
    LogError("{}", std::string(verified.message()));
    {
      const MutexLock lock(&mutex_);
      status_ = verified;
    }
    if (options_.failed) options_.failed();
    return;
  }
}

absl::Status Verification::status() const {
  const MutexLock lock(&mutex_);
  return status_;
}

}  // namespace dpnmf::curator
