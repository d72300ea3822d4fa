#include "tests/attacks/budget_history.h"

#include <algorithm>
#include <optional>
#include <set>

#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

class Checker {
 public:
  Checker(const BudgetHistory& history, const std::vector<FileRow>& rows,
          const std::vector<PopulationPolicy>& policies)
      : history_(history), rows_(rows), policies_(policies) {
    for (const FileRow& row : rows_) row_of_hash_[row.hash] = row.sequence;
  }

  void Check() {
    ExpectChained(rows_);
    for (const Event& event : history_.events) CheckAnswer(event);
    ExpectDistinctBytes();
    Sweep();
    CheckTakeovers();
  }

 private:
  struct RowFacts {
    std::optional<RoundAttempt> asked;
    std::string bytes;
  };

  // Checks the answer by itself, and against the row that it names.
  void CheckAnswer(const Event& event) {
    SCOPED_TRACE(Describe(event.attempt));
    if (!event.early_code.empty()) {
      ASSERT_EQ(event.answer.code, event.early_code);
      return;
    }
    if (!event.answer.code.empty()) return;
    if (event.attempt.kind == Attempt::kOpen) {
      const auto [first, is_new] =
          openings_.emplace(event.attempt.run, event.attempt.opening());
      ASSERT_EQ(first->second.request, event.attempt.opening().request);
      ASSERT_EQ(first->second.identity, event.attempt.identity);
    }
    if (event.answer.found) CheckRelease(event);
  }

  void CheckRelease(const Event& event) {
    const Answer& answer = event.answer;
    const RoundAttempt asked = event.attempt.asking();
    ASSERT_TRUE(row_of_hash_.contains(answer.row_hash))
        << "a release without its row";
    const FileRow& row = rows_[row_of_hash_.at(answer.row_hash) - 1];
    ASSERT_LE(row.sequence, event.rows_after);
    ASSERT_EQ(row.kind, "charge");
    ASSERT_EQ(row.identity, asked.identity);
    ASSERT_EQ(row.run, asked.run);
    ASSERT_EQ(row.round, asked.round);
    ASSERT_EQ(UnitsText(row.cost), UnitsText(answer.cost));
    ASSERT_EQ(UnitsText(answer.cost), UnitsText(asked.cost));
    RowFacts& facts = facts_[row.sequence];
    if (!facts.asked.has_value()) facts.asked = asked;
    ASSERT_EQ(facts.asked->request, asked.request);
    const auto dead = history_.dead_since.find(answer.row_hash);
    const bool is_dead =
        dead != history_.dead_since.end() && dead->second < event.begin;
    ASSERT_EQ(answer.lost, is_dead);
    if (is_dead) {
      ASSERT_EQ(answer.bytes, "");
      return;
    }
    if (facts.bytes.empty()) facts.bytes = answer.bytes;
    ASSERT_EQ(answer.bytes, facts.bytes) << "two releases of one row";
  }

  void ExpectDistinctBytes() {
    std::set<std::string> seen;
    for (const auto& [row, facts] : facts_) {
      if (!facts.bytes.empty()) {
        ASSERT_TRUE(seen.insert(facts.bytes).second) << "noise was reused";
      }
    }
  }

  // The rows one after the other; after each, the calls whose window it is in.
  void Sweep() {
    std::vector<const Event*> waiting;
    for (const Event& event : history_.events) {
      if (event.early_code.empty() && event.answer.code != "run-taken-over")
        waiting.push_back(&event);
    }
    std::sort(waiting.begin(), waiting.end(), [](const auto* a, const auto* b) {
      return a->rows_before < b->rows_before;
    });
    std::multimap<std::uint64_t, const Sample*> samples;
    for (const Sample& sample : history_.samples)
      samples.emplace(sample.rows, &sample);
    std::vector<const Event*> open;
    std::size_t next = 0;
    for (std::uint64_t count = 1; count <= rows_.size(); ++count) {
      ASSERT_NO_FATAL_FAILURE(Append(rows_[count - 1]));
      for (auto [at, end] = samples.equal_range(count); at != end; ++at)
        ASSERT_NO_FATAL_FAILURE(CheckSample(*at->second));
      while (next < waiting.size() && waiting[next]->rows_before <= count)
        open.push_back(waiting[next++]);
      std::erase_if(open, [&](const Event* event) { return Explains(*event); });
      for (const Event* event : open) {
        ASSERT_GT(event->rows_after, count)
            << "no order of the calls explains: " << Describe(event->attempt)
            << " -> `" << event->answer.code << "` between rows "
            << event->rows_before << " and " << event->rows_after;
      }
    }
    ASSERT_TRUE(open.empty() && next == waiting.size())
        << "an answer counts more rows than there are";
  }

  void Append(const FileRow& row) {
    SCOPED_TRACE("row " + std::to_string(row.sequence));
    if (row.kind == "genesis") return;
    Verdict verdict;
    if (row.kind == "population") {
      for (const PopulationPolicy& policy : policies_) {
        if (policy.population == row.population)
          model_.Declare(row.population, CapOf(policy).units());
      }
      ASSERT_EQ(UnitsText(model_.CapOf(row.population)), UnitsText(row.cost));
      ASSERT_EQ(model_.rows(), row.sequence);
      return;
    }
    if (row.kind == "open") {
      ASSERT_TRUE(openings_.contains(row.run));
      const OpenAttempt& opening = openings_.at(row.run);
      ASSERT_EQ(opening.identity, row.identity);
      ASSERT_EQ(UnitsText(opening.cost), UnitsText(row.cost));
      verdict = model_.DoOpen(opening);
    } else if (row.kind == "charge") {
      const auto facts = facts_.find(row.sequence);
      ASSERT_TRUE(facts != facts_.end() && facts->second.asked.has_value())
          << "charged, and nobody was answered";
      verdict = model_.DoAsk(*facts->second.asked);
    } else {
      verdict = model_.DoClose(row.identity, row.run);
      ASSERT_EQ(UnitsText(verdict.returned), UnitsText(row.cost));
    }
    ASSERT_EQ(verdict.code, "");
    ASSERT_TRUE(verdict.appends);
    ASSERT_EQ(model_.rows(), row.sequence);
  }

  void CheckSample(const Sample& sample) const {
    const BudgetModel::Totals totals = model_.TotalsOf(sample.population);
    ASSERT_EQ(UnitsText(sample.charged), UnitsText(totals.charged));
    ASSERT_EQ(UnitsText(sample.reserved), UnitsText(totals.reserved));
    ASSERT_LE(sample.charged + sample.reserved,
              model_.CapOf(sample.population));
    ASSERT_EQ(sample.head, rows_[sample.rows - 1].hash);
  }

  // Returns true if the answer is the right one after the rows so far.
  bool Explains(const Event& event) const {
    const Attempt& attempt = event.attempt;
    const Answer& answer = event.answer;
    switch (attempt.kind) {
      case Attempt::kOpen: {
        const Verdict verdict = model_.Open(attempt.opening());
        return verdict.code == answer.code && Stands(verdict, "open", event) &&
               (!answer.code.empty() ||
                verdict.next_round == answer.next_round);
      }
      case Attempt::kAsk:
      case Attempt::kFind: {
        const Verdict verdict = attempt.kind == Attempt::kAsk
                                    ? model_.Ask(attempt.asking())
                                    : model_.Find(attempt.asking());
        if (verdict.code != answer.code) return false;
        if (!answer.code.empty()) return true;
        const std::uint64_t row =
            answer.found ? row_of_hash_.at(answer.row_hash) : 0;
        return verdict.row == row && Stands(verdict, "charge", event);
      }
      case Attempt::kClose: {
        const Verdict verdict = model_.Close(attempt.identity, attempt.run);
        return verdict.code == answer.code && Stands(verdict, "close", event) &&
               verdict.returned == answer.returned;
      }
    }
    return false;
  }

  // The row that the call appends comes next, within the call's window.
  bool Stands(const Verdict& verdict, const std::string& kind,
              const Event& event) const {
    if (!verdict.appends) return true;
    const std::uint64_t next = model_.rows() + 1;
    if (next > rows_.size() || next > event.rows_after) return false;
    const FileRow& row = rows_[next - 1];
    return row.kind == kind && row.run == event.attempt.run;
  }

  void CheckTakeovers() const {
    std::map<std::pair<std::string, std::string>, std::vector<const Event*>>
        opens;
    std::map<std::uint64_t, const Event*> open_of_session;
    for (const Event& event : history_.events) {
      if (!event.attempt.by_session() || !event.answer.code.empty() ||
          !event.early_code.empty() || event.attempt.kind != Attempt::kOpen) {
        continue;
      }
      opens[{event.attempt.identity, event.attempt.run}].push_back(&event);
      open_of_session[event.attempt.session] = &event;
    }
    for (const Event& event : history_.events) {
      if (!event.attempt.by_session() || !event.early_code.empty() ||
          event.attempt.kind != Attempt::kAsk) {
        continue;
      }
      const Event& own = *open_of_session.at(event.attempt.session);
      bool may = false, must = false;
      for (const Event* other :
           opens[{event.attempt.identity, event.attempt.run}]) {
        if (other->attempt.session == event.attempt.session) continue;
        may = may || (other->begin < event.end && other->end > own.begin);
        if (other->begin < own.end) continue;
        // Also a round that had begun is over when a later opening returns.
        must = must || other->end < event.begin ||
               (event.answer.found &&
                row_of_hash_.at(event.answer.row_hash) > other->rows_after);
      }
      SCOPED_TRACE(Describe(event.attempt));
      if (event.answer.code == "run-taken-over") {
        ASSERT_TRUE(may) << "nobody has taken the run over";
      } else {
        ASSERT_FALSE(must) << "two streams on one run";
      }
    }
  }

  const BudgetHistory& history_;
  const std::vector<FileRow>& rows_;
  const std::vector<PopulationPolicy>& policies_;
  std::map<std::string, std::uint64_t> row_of_hash_;
  std::map<std::string, OpenAttempt> openings_;
  std::map<std::uint64_t, RowFacts> facts_;
  BudgetModel model_;
};

}  // namespace

void ExpectSerial(const BudgetHistory& history,
                  const std::vector<FileRow>& rows,
                  const std::vector<PopulationPolicy>& policies) {
  Checker(history, rows, policies).Check();
}

}  // namespace dpnmf::curator
