#include "common/server/refused_calls.h"

#include "common/log/log.h"

namespace dpnmf {
namespace {

using std::chrono::steady_clock;

// No identity of a certificate is such: those begin with "dns:" or "uri:".
constexpr char kOthers[] = "others";

}  // namespace

RefusedCalls::RefusedCalls(const Observers& observers, const Limits& limits,
                           Clock clock)
    : observers_(observers),
      limits_(limits),
      clock_(clock ? std::move(clock) : steady_clock::now) {}

RefusedCalls::~RefusedCalls() { WriteAll(); }

void RefusedCalls::Note(const absl::Status& refusal, CallRecord* record) {
  const std::string code = ResultOf(refusal);
  if (!IsFirst(record->identity(), code)) return record->LeaveOutOfAudit();
  LogInfo("a call of {} was refused: {}", record->method(), code);
}

bool RefusedCalls::IsFirst(const std::string& identity,
                           const std::string& code) {
  Counts due;
  bool first = false;
  {
    MutexLock lock(&mutex_);
    due = TakeDue();
    if (counts_.empty()) begin_ = clock_();
    const bool told_apart = counts_.size() < limits_.identities ||
                            counts_.contains({identity, code});
    const auto [count, is_new] = counts_.try_emplace(
        told_apart ? Key(identity, code) : Key(kOthers, kOthers), 0);
    first = is_new && told_apart;
    if (!first) ++count->second;
  }
  Write(due);
  return first;
}

void RefusedCalls::WriteDue() {
  Counts due;
  {
    MutexLock lock(&mutex_);
    due = TakeDue();
  }
  Write(due);
}

void RefusedCalls::WriteAll() {
  Counts all;
  {
    MutexLock lock(&mutex_);
    all.swap(counts_);
  }
  Write(all);
}

RefusedCalls::Counts RefusedCalls::TakeDue() {
  Counts due;
  if (!counts_.empty() && clock_() - begin_ >= limits_.period)
    due.swap(counts_);
  return due;
}

void RefusedCalls::Write(const Counts& counts) const {
  for (const auto& [key, count] : counts) {
    if (count == 0) continue;
    const absl::Status written =
        WriteAudit(observers_.audit, "calls-refused",
                   {{"identity", key.first},
                    {"result", key.second},
                    {"count", count},
                    {"seconds", std::int64_t{limits_.period.count()}}});
    if (!written.ok()) LogError("{}", std::string(written.message()));
  }
}

}  // namespace dpnmf
