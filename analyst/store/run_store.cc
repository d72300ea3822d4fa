#include "analyst/store/run_store.h"

#include <algorithm>
#include <utility>

#include "SQLiteCpp/SQLiteCpp.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyst/store/run_database.h"
#include "analyst/store/stored_learner.h"
#include "common/base/error.h"
#include "common/base/system_seconds.h"
#include "common/files/durable_file.h"
#include "common/threads/mutex.h"
#include "common/wire/receipt.h"

namespace dpnmf::analyst {
namespace {

absl::Status RunEnded() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "run-ended",
                 "The run has already ended and does not change: start another "
                 "one.");
}

}  // namespace

struct RunStore::State {
  explicit State(const std::string& file)
      : db(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {}

  // Runs work(db) as one transaction: committed if it returns OK, else undone.
  // SQLite's exceptions become statuses.
  template <typename Work>
  auto Transact(Work work)
      -> decltype(work(static_cast<SQLite::Database*>(nullptr))) {
    MutexLock lock(&mutex);
    try {
      SQLite::Transaction transaction(db);
      auto result = work(&db);
      if (result.ok()) transaction.commit();
      return result;
    } catch (const SQLite::Exception& error) {
      return StatusOfSqlite(error);
    }
  }

  Mutex mutex;
  SQLite::Database db ABSL_GUARDED_BY(mutex);
  std::function<std::int64_t()> unix_seconds;
};

RunStore::RunStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunStore::~RunStore() = default;

absl::StatusOr<std::unique_ptr<RunStore>> RunStore::Open(
    const std::string& directory, std::function<std::int64_t()> unix_seconds) {
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(directory));
  try {
    auto state = std::make_unique<State>(directory + "/analyst.sqlite");
    state->unix_seconds =
        unix_seconds ? std::move(unix_seconds) : &SystemSeconds;
    {
      MutexLock lock(&state->mutex);
      DPNMF_RETURN_IF_ERROR(PrepareDatabase(&state->db));
    }
    return std::unique_ptr<RunStore>(new RunStore(std::move(state)));
  } catch (const SQLite::Exception& error) {
    return StatusOfSqlite(error);
  }
}

absl::Status RunStore::Add(const RunRecord& record, const LearnerState& learner,
                           const NewRunFacts& facts) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) {
    const v1::Run& run = record.run;
    SQLite::Statement put(
        *db,
        "INSERT INTO runs (run_id, population, specification, guarantee, plan, "
        "state, rounds_done, charged, error, error_code, created, updated, "
        "started_by) VALUES (?, ?, ?, ?, ?, ?, 0, '0', '', '', ?, ?, ?)");
    put.bind(1, run.run_id());
    put.bind(2, record.population);
    BindBlob(&put, 3, run.specification().SerializeAsString());
    BindBlob(&put, 4, record.guarantee.SerializeAsString());
    BindBlob(&put, 5, run.plan().SerializeAsString());
    put.bind(6, static_cast<int>(run.state()));
    put.bind(7, now);
    put.bind(8, now);
    put.bind(9, run.started_by());
    put.exec();
    PutLearner(db, run.run_id(), learner);
    StoreOrigin(db, run);
    StoreJoined(db, run);
    if (facts.request.has_value()) StoreRequest(db, run, *facts.request);
    if (facts.dataset.has_value())
      StoreDataset(db, run.run_id(), *facts.dataset);
    if (!facts.like.empty()) CopyItems(db, facts.like, run.run_id());
    for (const v1::ListItemsReply& page : facts.items)
      StoreItemPage(db, run.run_id(), page);
    AppendRelease(db, run.run_id(), facts.release);
    v1::RunEvent event;
    event.set_state(run.state());
    event.set_rounds(run.specification().parameters().rounds());
    event.mutable_charged()->set_units("0");
    AppendEvent(db, run.run_id(), event);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::optional<AnsweredRequest>> RunStore::FindRequest(
    const std::string& started_by, const std::string& name) {
  using Found = std::optional<AnsweredRequest>;
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<Found> {
    SQLite::Statement row(*db,
                          "SELECT run_id, digest FROM run_requests WHERE "
                          "started_by = ? AND request = ?");
    row.bind(1, started_by);
    row.bind(2, name);
    if (!row.executeStep()) return Found();
    return Found({row.getColumn(0).getString(), row.getColumn(1).getString()});
  });
}

absl::Status RunStore::DropRequest(const std::string& started_by,
                                   const std::string& name) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    SQLite::Statement drop(
        *db, "DELETE FROM run_requests WHERE started_by = ? AND request = ?");
    drop.bind(1, started_by);
    drop.bind(2, name);
    drop.exec();
    return absl::OkStatus();
  });
}

absl::StatusOr<int> RunStore::CountChildren(const std::string& run_id) {
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<int> {
    SQLite::Statement count(
        *db, "SELECT count(*) FROM run_origins WHERE parent = ?");
    count.bind(1, run_id);
    count.executeStep();
    return count.getColumn(0).getInt();
  });
}

absl::Status RunStore::ReadRelease(
    const std::string& run_id,
    const std::function<bool(const v1::ReleaseReply&)>& take) {
  // A message at a time, so that no lock is held while one is sent.
  for (std::int64_t after = 0;;) {
    v1::ReleaseReply message;
    const absl::StatusOr<bool> more =
        state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<bool> {
          SQLite::Statement row(
              *db,
              "SELECT ordinal, message FROM run_releases WHERE run_id = ? AND "
              "ordinal > ? ORDER BY ordinal LIMIT 1");
          row.bind(1, run_id);
          row.bind(2, after);
          if (!row.executeStep()) return false;
          after = row.getColumn(0).getInt64();
          if (!message.ParseFromString(BlobOf(row.getColumn(1))))
            return StateDamaged("the release of a run");
          return true;
        });
    if (!more.ok()) return more.status();
    if (!*more || !take(message)) return absl::OkStatus();
  }
}

absl::StatusOr<RunRecord> RunStore::Get(const std::string& run_id) {
  return state_->Transact(
      [&](SQLite::Database* db) { return FindRun(db, run_id); });
}

absl::StatusOr<std::vector<RunRecord>> RunStore::List() {
  return state_->Transact([](SQLite::Database* db) { return AllRuns(db); });
}

absl::StatusOr<int> RunStore::CountOpen(const std::string& started_by) {
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<int> {
    SQLite::Statement count(
        *db,
        "SELECT count(*) FROM runs WHERE started_by = ? AND state NOT IN (?, "
        "?, ?)");
    count.bind(1, started_by);
    count.bind(2, static_cast<int>(v1::RUN_STATE_COMPLETED));
    count.bind(3, static_cast<int>(v1::RUN_STATE_CANCELLED));
    count.bind(4, static_cast<int>(v1::RUN_STATE_FAILED));
    count.executeStep();
    return count.getColumn(0).getInt();
  });
}

absl::StatusOr<LearnerState> RunStore::ReadLearner(const std::string& run_id) {
  return state_->Transact([&](SQLite::Database* db)
                              -> absl::StatusOr<LearnerState> {
    Eigen::MatrixXd w;
    NamedMatrices memory;
    SQLite::Statement row(
        *db,
        "SELECT name, rows, columns, entries FROM matrices WHERE run_id = ?");
    row.bind(1, run_id);
    while (row.executeStep()) {
      const std::string name = row.getColumn(0).getString();
      DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd matrix, MatrixOf(&row, 1));
      if (name == kDictionary) {
        w = std::move(matrix);
      } else if (absl::StartsWith(name, kMemoryPrefix)) {
        memory[name.substr(sizeof(kMemoryPrefix) - 1)] = std::move(matrix);
      } else {
        return StateDamaged("a matrix has an unknown name");
      }
    }
    if (w.size() == 0) return RunUnknown();
    return LearnerOf(std::move(w), std::move(memory));
  });
}

absl::StatusOr<std::optional<double>> RunStore::ReadFigure(
    const std::string& run_id, const std::string& name) {
  return state_->Transact(
      [&](SQLite::Database* db) { return KeptFigure(db, run_id, name); });
}

absl::StatusOr<Model> RunStore::ReadModel(const std::string& run_id) {
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<Model> {
    SQLite::Statement row(
        *db,
        "SELECT runs.rounds_done - (SELECT count(*) FROM matrices AS other "
        "WHERE other.run_id = runs.run_id AND other.name = ?3), runs.state, "
        "rows, columns, entries FROM runs JOIN matrices USING (run_id) WHERE "
        "run_id = ?1 AND name = ?2");
    row.bind(1, run_id);
    row.bind(2, kDictionary);
    row.bind(3, absl::StrCat(kMemoryPrefix, kUnlearned));
    if (!row.executeStep()) return RunUnknown();
    Model model;
    model.rounds_done = row.getColumn(0).getUInt();
    model.state = static_cast<v1::RunState>(row.getColumn(1).getInt());
    DPNMF_ASSIGN_OR_RETURN(model.w, MatrixOf(&row, 2));
    DPNMF_ASSIGN_OR_RETURN(model.prior_share,
                           KeptFigure(db, run_id, kPriorShare));
    return model;
  });
}

absl::Status RunStore::PutDataset(const std::string& run_id,
                                  const v1::Dataset& dataset) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_RETURN_IF_ERROR(FindRun(db, run_id).status());
    StoreDataset(db, run_id, dataset);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::optional<v1::Dataset>> RunStore::ReadDataset(
    const std::string& run_id) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::optional<v1::Dataset>> {
        DPNMF_RETURN_IF_ERROR(FindRun(db, run_id).status());
        SQLite::Statement row(
            *db, "SELECT dataset FROM run_datasets WHERE run_id = ?");
        row.bind(1, run_id);
        if (!row.executeStep()) return std::nullopt;
        v1::Dataset dataset;
        if (!dataset.ParseFromString(BlobOf(row.getColumn(0))))
          return StateDamaged("the data set of a run");
        return dataset;
      });
}

absl::Status RunStore::PutItemPage(const std::string& run_id,
                                   const v1::ListItemsReply& page) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_RETURN_IF_ERROR(FindRun(db, run_id).status());
    StoreItemPage(db, run_id, page);
    return absl::OkStatus();
  });
}

absl::Status RunStore::ReadItemPages(
    const std::string& run_id,
    const std::function<bool(const v1::ListItemsReply&)>& take) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_RETURN_IF_ERROR(FindRun(db, run_id).status());
    SQLite::Statement row(
        *db, "SELECT page FROM run_items WHERE run_id = ? ORDER BY first");
    row.bind(1, run_id);
    while (row.executeStep()) {
      v1::ListItemsReply page;
      if (!page.ParseFromString(BlobOf(row.getColumn(0))) || !take(page))
        return StateDamaged("the items of a run");
    }
    return absl::OkStatus();
  });
}

absl::Status RunStore::ChangeState(const std::string& run_id,
                                   const StateChange& change) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, FindRun(db, run_id));
    if (IsFinal(record.run.state())) return RunEnded();
    SQLite::Statement put(
        *db,
        "UPDATE runs SET state = ?, plan = ?, error = ?, error_code = ?, "
        "updated = ? WHERE run_id = ?");
    const v1::RunState state = NextState(record.run.state(), change.state);
    put.bind(1, static_cast<int>(state));
    BindBlob(&put, 2,
             change.plan.value_or(record.run.plan()).SerializeAsString());
    put.bind(3, change.error.value_or(record.run.error()));
    put.bind(4, change.error_code.value_or(record.run.error_code()));
    put.bind(5, now);
    put.bind(6, run_id);
    put.exec();
    RecordChain(db, change.event.position());
    DPNMF_RETURN_IF_ERROR(SeeVoidOf(db, record, change.event.position()));
    v1::RunEvent event = change.event;
    event.set_state(state);
    AppendEvent(db, run_id, std::move(event));
    return absl::OkStatus();
  });
}

absl::Status RunStore::FinishRound(const std::string& run_id,
                                   const FinishedRound& finished) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, FindRun(db, run_id));
    if (finished.round != record.run.rounds_done() + 1) {
      return Refusal(
          absl::StatusCode::kInternal, "round-out-of-order",
          "The round to be stored does not follow the last stored one.");
    }
    std::optional<MuSquared> charged =
        MuSquared::FromUnitsText(record.run.charged().units());
    if (MirrorCharge(db, record.population, finished.charge,
                     finished.event.position(), now)) {
      charged = MuSquared::Add(*charged, finished.charge.cost);
      if (!charged.has_value())
        return StateDamaged("a run's cost is out of range");
    }
    SQLite::Statement put(
        *db,
        "UPDATE runs SET state = ?, rounds_done = ?, charged = ?, updated = ? "
        "WHERE run_id = ?");
    const v1::RunState state =
        NextState(record.run.state(), v1::RUN_STATE_RUNNING);
    put.bind(1, static_cast<int>(state));
    put.bind(2, finished.round);
    put.bind(3, charged->UnitsText());
    put.bind(4, now);
    put.bind(5, run_id);
    put.exec();
    if (finished.charge.receipt.has_value())
      PutReceipt(db, *finished.charge.receipt);
    for (const v1::Receipt& receipt : finished.other_receipts)
      PutReceipt(db, receipt);
    if (!finished.lost) PutLearner(db, run_id, finished.state);
    AppendRelease(db, run_id, finished.release);
    RecordChain(db, finished.event.position());
    DPNMF_RETURN_IF_ERROR(SeeVoidOf(db, record, finished.event.position()));
    v1::RunEvent event = finished.event;
    event.set_state(state);
    AppendEvent(db, run_id, std::move(event));
    return absl::OkStatus();
  });
}

absl::Status RunStore::SeeVoid(const std::string& population,
                               std::int64_t void_since) {
  return state_->Transact([&](SQLite::Database* db) {
    return MarkRuns(db, population, void_since);
  });
}

absl::Status RunStore::MarkReceipts(std::int64_t void_since,
                                    const std::vector<VoidMark>& marks) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    std::vector<std::string> ledgers;
    SQLite::Statement id(*db, "SELECT DISTINCT ledger_id FROM receipts");
    while (id.executeStep()) ledgers.push_back(id.getColumn(0).getString());
    for (const std::string& ledger : ledgers) {
      for (const VoidMark& mark : marks) {
        DPNMF_ASSIGN_OR_RETURN(
            std::optional<v1::Receipt> receipt,
            ReadReceipt(db, ledger, static_cast<std::int64_t>(mark.sequence)));
        if (!receipt.has_value() || receipt->has_void_since() ||
            receipt->row_hash() != mark.row_hash)
          continue;
        receipt->set_void_since(void_since);
        receipt->set_void_signature(mark.signature);
        if (CheckReceipt(*receipt).ok()) ReplaceReceipt(db, *receipt);
      }
    }
    return absl::OkStatus();
  });
}

absl::Status RunStore::FinishFit(const std::string& run_id,
                                 const Eigen::MatrixXd& w,
                                 const v1::RunEvent& told,
                                 const FitFigures& figures) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, FindRun(db, run_id));
    if (IsFinal(record.run.state())) return RunEnded();
    const std::uint32_t rounds =
        record.run.specification().parameters().rounds();
    SQLite::Statement put(
        *db,
        "UPDATE runs SET state = ?, rounds_done = ?, updated = ? WHERE run_id "
        "= ?");
    put.bind(1, static_cast<int>(v1::RUN_STATE_COMPLETED));
    put.bind(2, rounds);
    put.bind(3, now);
    put.bind(4, run_id);
    put.exec();
    PutMatrix(db, run_id, kDictionary, w);
    WriteFigures(figures, [&](const std::string& name, const auto& matrix) {
      PutMatrix(db, run_id, kMemoryPrefix + name, matrix);
    });
    v1::RunEvent event = told;
    event.set_state(v1::RUN_STATE_COMPLETED);
    event.set_round(rounds);
    event.set_rounds(rounds);
    AppendEvent(db, run_id, std::move(event));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<v1::RunEvent>> RunStore::Events(
    const std::string& run_id, std::uint64_t after, int limit) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::vector<v1::RunEvent>> {
        std::vector<v1::RunEvent> events;
        SQLite::Statement row(
            *db,
            "SELECT event FROM events WHERE run_id = ? AND cursor > ? "
            "ORDER BY cursor LIMIT ?");
        row.bind(1, run_id);
        row.bind(2, static_cast<std::int64_t>(
                        std::min<std::uint64_t>(after, INT64_MAX)));
        row.bind(3, limit);
        while (row.executeStep()) {
          v1::RunEvent event;
          if (!event.ParseFromString(BlobOf(row.getColumn(0))))
            return StateDamaged("an event");
          events.push_back(std::move(event));
        }
        return events;
      });
}

absl::StatusOr<std::vector<v1::Receipt>> RunStore::Receipts(
    const std::string& dataset, const v1::Receipt& after, int limit) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::vector<v1::Receipt>> {
        SQLite::Statement row(
            *db,
            "SELECT receipt FROM receipts WHERE (ledger_id, sequence) > (?1, "
            "?2) AND (?3 = '' OR dataset = ?3) ORDER BY ledger_id, sequence "
            "LIMIT ?4");
        row.bind(1, after.ledger_id());
        row.bind(2, static_cast<std::int64_t>(after.sequence()));
        row.bind(3, dataset);
        row.bind(4, limit);
        std::vector<v1::Receipt> receipts;
        while (row.executeStep()) {
          v1::Receipt receipt;
          if (!receipt.ParseFromString(BlobOf(row.getColumn(0))))
            return StateDamaged("a receipt");
          receipts.push_back(std::move(receipt));
        }
        return receipts;
      });
}

absl::StatusOr<std::optional<std::string>> RunStore::ReceiptKeyOf(
    const std::string& dataset) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::optional<std::string>> {
        return FindReceiptKey(db, dataset);
      });
}

absl::StatusOr<std::string> RunStore::RecordReceiptKey(
    const std::string& dataset, const std::string& key) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::string> {
        const std::optional<std::string> known = FindReceiptKey(db, dataset);
        if (known.has_value()) return *known;
        PutReceiptKey(db, dataset, key, now);
        return key;
      });
}

absl::StatusOr<bool> RunStore::GiveReceiptKey(const std::string& key) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<bool> {
    if (FindReceiptKey(db, "") == key) return false;
    db->exec("DELETE FROM receipt_keys");
    PutReceiptKey(db, "", key, now);
    return true;
  });
}

absl::StatusOr<MirrorView> RunStore::Mirror(const std::string& population) {
  return state_->Transact([&](SQLite::Database* db)
                              -> absl::StatusOr<MirrorView> {
    MirrorView view;
    SQLite::Statement chain(
        *db, "SELECT row_count, head FROM chain WHERE population = ?");
    chain.bind(1, population);
    if (chain.executeStep()) {
      view.row_count =
          static_cast<std::uint64_t>(chain.getColumn(0).getInt64());
      view.head = BlobOf(chain.getColumn(1));
    }
    SQLite::Statement row(
        *db,
        "SELECT run_id, round, cost, row_hash FROM mirror WHERE population = ? "
        "ORDER BY unix_seconds, run_id, round");
    row.bind(1, population);
    while (row.executeStep()) {
      const std::optional<MuSquared> cost =
          MuSquared::FromUnitsText(row.getColumn(2).getString());
      if (!cost.has_value()) return StateDamaged("a mirrored charge");
      view.charges.push_back({row.getColumn(0).getString(),
                              row.getColumn(1).getUInt(),
                              *cost,
                              BlobOf(row.getColumn(3)),
                              {}});
    }
    return view;
  });
}

absl::StatusOr<std::uint64_t> RunStore::Forget(
    const std::string& run_id, const std::string& forgotten_by) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::uint64_t> {
        DPNMF_ASSIGN_OR_RETURN(const RunRecord record, FindRun(db, run_id));
        if (!IsFinal(record.run.state())) {
          return Refusal(absl::StatusCode::kFailedPrecondition, "run-not-ended",
                         "The run has not ended; cancel it first.");
        }
        for (const char* table :
             {"matrices", "events", "run_datasets", "run_items", "run_releases",
              "run_origins", "run_joined", "runs"}) {
          SQLite::Statement drop(
              *db, absl::StrCat("DELETE FROM ", table, " WHERE run_id = ?"));
          drop.bind(1, run_id);
          drop.exec();
        }
        SQLite::Statement drop(*db,
                               "DELETE FROM run_requests WHERE run_id = ? AND "
                               "request LIKE 'refit:%'");
        drop.bind(1, run_id);
        drop.exec();
        SQLite::Statement put(
            *db, "INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?, ?, ?)");
        put.bind(1, run_id);
        put.bind(2, record.population);
        put.bind(3, static_cast<int>(record.run.state()));
        put.bind(4, forgotten_by);
        put.bind(5, now);
        put.exec();
        SQLite::Statement count(*db,
                                "SELECT count(*) FROM mirror WHERE run_id = ?");
        count.bind(1, run_id);
        count.executeStep();
        return static_cast<std::uint64_t>(count.getColumn(0).getInt64());
      });
}

absl::StatusOr<std::vector<std::pair<std::string, std::uint32_t>>>
RunStore::ForgottenRuns() {
  using Runs = std::vector<std::pair<std::string, std::uint32_t>>;
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<Runs> {
    Runs runs;
    SQLite::Statement row(
        *db,
        "SELECT run_id, coalesce(max(round), 0) FROM forgotten LEFT JOIN "
        "mirror USING (run_id) GROUP BY run_id");
    while (row.executeStep()) {
      runs.emplace_back(row.getColumn(0).getString(),
                        row.getColumn(1).getUInt());
    }
    return runs;
  });
}

absl::StatusOr<std::vector<std::string>> RunStore::EndedBefore(
    std::int64_t unix_seconds) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::vector<std::string>> {
        std::vector<std::string> ended;
        SQLite::Statement row(*db,
                              "SELECT run_id, state FROM runs WHERE updated < "
                              "? ORDER BY sequence");
        row.bind(1, unix_seconds);
        while (row.executeStep()) {
          const int state = row.getColumn(1).getInt();
          if (v1::RunState_IsValid(state) &&
              IsFinal(static_cast<v1::RunState>(state)))
            ended.push_back(row.getColumn(0).getString());
        }
        return ended;
      });
}

}  // namespace dpnmf::analyst
