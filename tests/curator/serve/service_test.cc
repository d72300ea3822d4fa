// CuratorService over an in-process channel: what a peer can send and what it
// gets.
#include "curator/serve/service.h"

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/receipt.h"
#include "common/wire/release.h"
#include "common/wire/status.h"
#include "curator/session/redact_for_peer.h"
#include "tests/curator/serve/curator_fixture.h"
#include "tests/curator/serve/run_ids.h"

namespace dpnmf::curator {
namespace {

// A hand-driven training stream.
class Peer {
 public:
  explicit Peer(v1::CuratorService::Stub* stub)
      : stream_(stub->Train(&context_)) {}

  void SendOpen(const RunParameters& parameters) {
    v1::TrainRequest request;
    request.mutable_open()->set_run_id(kRun);
    *request.mutable_open()->mutable_parameters() = ToProto(parameters);
    stream_->Write(request);
  }
  void SendRound(std::uint32_t round, const Eigen::MatrixXd& w) {
    v1::TrainRequest request;
    request.mutable_round()->set_round(round);
    request.mutable_round()->mutable_shape()->set_rows(
        static_cast<std::uint64_t>(w.rows()));
    request.mutable_round()->mutable_shape()->set_columns(
        static_cast<std::uint64_t>(w.cols()));
    stream_->Write(request);
    WriteChunks(w, [&](const v1::RealChunk& chunk) {
      v1::TrainRequest part;
      *part.mutable_dictionary() = chunk;
      return stream_->Write(part);
    });
  }
  void Send(const v1::TrainRequest& request) { stream_->Write(request); }
  void SendClose() {
    v1::TrainRequest request;
    request.mutable_close();
    stream_->Write(request);
  }
  v1::TrainReply Receive() {
    v1::TrainReply reply;
    EXPECT_TRUE(stream_->Read(&reply));
    return reply;
  }
  // All messages of one release; sizes go into *bytes.
  std::vector<NoisedMatrix> ReceiveRelease(
      std::vector<std::size_t>* bytes = nullptr) {
    v1::TrainReply reply = Receive();
    ReleaseReader reader =
        ReleaseReader::Create(reply.release(), 1 << 20).value();
    while (reply.message_case() != v1::TrainReply::kEnd) {
      if (bytes != nullptr) bytes->push_back(reply.ByteSizeLong());
      reply = Receive();
      if (reply.has_lattice()) {
        EXPECT_TRUE(reader.Add(reply.lattice()).ok());
      } else if (reply.has_real()) {
        EXPECT_TRUE(reader.Add(reply.real()).ok());
      }
    }
    end = reply.end();
    return reader.Take();
  }
  v1::ReleaseEnd end;  // of the last release
  absl::Status Finish() {
    stream_->WritesDone();
    v1::TrainReply reply;
    while (stream_->Read(&reply)) {
    }
    return FromGrpc(stream_->Finish());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::TrainRequest, v1::TrainReply>>
      stream_;
};

class ServiceTest : public CuratorFixture {
 protected:
  const Eigen::MatrixXd w_ = RandomDictionary(kFeatures, 3, 1);
};

TEST_F(ServiceTest, ARunFromOpenToClose) {
  Peer peer(stub_.get());
  peer.SendOpen(SmallRun());
  const v1::TrainReply opened = peer.Receive();
  ASSERT_TRUE(opened.has_opened());
  EXPECT_EQ(opened.opened().users(), kUsers);
  for (std::uint32_t round = 1; round <= 4; ++round) {
    peer.SendRound(round, w_);
    const std::vector<NoisedMatrix> parts = peer.ReceiveRelease();
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].name, "A");
    EXPECT_TRUE(parts[0].symmetric);
    EXPECT_EQ(parts[1].name, "B");
    EXPECT_EQ(parts[1].lattice.size(), kFeatures * 3);
  }
  peer.SendClose();
  EXPECT_TRUE(peer.Receive().has_closed());
  EXPECT_TRUE(peer.Finish().ok());
}

TEST_F(ServiceTest, TheReceiptCoversWhatIsSentHoweverOftenItIsSent) {
  std::string first;
  for (int time = 0; time < 2; ++time) {
    Peer peer(stub_.get());
    peer.SendOpen(SmallRun());
    const v1::RunOpened opened = peer.Receive().opened();
    peer.SendRound(1, w_);
    const std::vector<NoisedMatrix> parts = peer.ReceiveRelease();
    const v1::Receipt& receipt = peer.end.receipt();
    EXPECT_TRUE(CheckReceipt(receipt).ok());
    const v1::RunParameters parameters = ToProto(SmallRun());
    const Digest digest = DigestOfRelease(
        {&parameters, &opened.plan().stages(0), opened.users(), {}}, parts);
    EXPECT_EQ(receipt.release_sha256(),
              std::string(digest.begin(), digest.end()));
    if (time == 0) first = receipt.SerializeAsString();
    EXPECT_EQ(receipt.SerializeAsString(), first);
    EXPECT_TRUE(peer.Finish().ok());
  }
}

// A peer learns that it is the operator's turn, and nothing of paths, rows or
// the system's reasons.
TEST_F(ServiceTest, WhatFailsOnTheOperatorsDiskIsOneFixedSentence) {
  const auto ask = [&] {
    Peer peer(stub_.get());
    peer.SendOpen(SmallRun());
    EXPECT_TRUE(peer.Receive().has_opened());
    peer.SendRound(1, w_);
    return peer.Finish();
  };
  std::filesystem::rename(directory_ + "/releases", directory_ + "/away");
  const absl::Status store = ask();
  EXPECT_EQ(ReasonCode(store), "storage-failed");
  EXPECT_EQ(store.message(),
            "The curator could not do this: its operator finds the reason in "
            "the curator's log.");
  std::filesystem::rename(directory_ + "/away", directory_ + "/releases");
  std::filesystem::rename(directory_ + "/anchor", directory_ + "/away");
  const absl::Status anchor = ask();
  EXPECT_EQ(ReasonCode(anchor), "ledger-behind-anchor");
  EXPECT_EQ(anchor.message(), store.message());
  EXPECT_EQ(ledger_->PositionOf("people")->charged, MuSquared());
  std::filesystem::rename(directory_ + "/away", directory_ + "/anchor");
}

TEST(RedactForPeer, OnlyWhatIsListedPasses) {
  const auto told = [](const std::string& code) {
    return RedactForPeer(Refusal(absl::StatusCode::kDataLoss, code,
                                 "The file /var/lib/dpnmf/x is damaged."));
  };
  for (const char* code :
       {"dataset-damaged", "dataset-name-differs", "dataset-removed",
        "dataset-not-in-ledger", "people-damaged", "receipt-key-damaged",
        "fingerprint-key-damaged", "storage-failed", "ledger-missing",
        "a-code-of-tomorrow"}) {
    EXPECT_EQ(told(code).message().find("/var"), std::string::npos) << code;
    EXPECT_EQ(ReasonCode(told(code)), code);
    EXPECT_EQ(told(code).code(), absl::StatusCode::kDataLoss);
  }
  for (const char* code :
       {"adjacency-mismatch", "certificate-revoked", "dataset-not-ready",
        "round-out-of-order", "too-much-memory"})
    EXPECT_NE(told(code).message().find("/var"), std::string::npos) << code;
  EXPECT_EQ(RedactForPeer(absl::OkStatus()), absl::OkStatus());
}

TEST_F(ServiceTest, RoundsEndInOrderWhenTheServerIsToldToStop) {
  Peer peer(stub_.get());
  peer.SendOpen(SmallRun());
  EXPECT_TRUE(peer.Receive().has_opened());
  peer.SendRound(1, w_);
  peer.ReceiveRelease();
  service_->BeginShutdown();
  const MuSquared charged = ledger_->PositionOf("people")->charged;
  peer.SendRound(2, w_);
  EXPECT_EQ(ReasonCode(peer.Finish()), "shutting-down");
  EXPECT_EQ(ledger_->PositionOf("people")->charged, charged);
}

// Memory or threads that the system does not give, wherever that happens.
TEST_F(ServiceTest, AnExceptionIsAnInternalErrorAndNothingIsCharged) {
  check_peer_ = [](const auto&) -> absl::Status { throw std::bad_alloc(); };
  Stop();
  Start();
  Peer peer(stub_.get());
  peer.SendOpen(SmallRun());
  EXPECT_TRUE(peer.Receive().has_opened());
  peer.SendRound(1, w_);
  const absl::Status status = peer.Finish();
  EXPECT_EQ(ReasonCode(status), "internal-error");
  EXPECT_EQ(status.message(),
            "The request failed for an internal reason; the server's operator "
            "finds the reason in the server's log.");
  EXPECT_EQ(ledger_->PositionOf("people")->charged, MuSquared());
}

TEST_F(ServiceTest, MessagesAreOfOneSizeWhateverTheNoise) {
  std::vector<std::size_t> first, second;
  Peer peer(stub_.get());
  peer.SendOpen(SmallRun());
  peer.Receive();
  peer.SendRound(1, w_);
  peer.ReceiveRelease(&first);
  peer.SendRound(2, w_);
  peer.ReceiveRelease(&second);
  EXPECT_EQ(first, second);
}

TEST_F(ServiceTest, MessagesOutOfOrderAreRefused) {
  v1::TrainRequest chunk, empty;
  chunk.mutable_dictionary()->add_values(1);
  for (const v1::TrainRequest& request : {chunk, empty}) {
    Peer peer(stub_.get());
    peer.Send(request);
    EXPECT_EQ(ReasonCode(peer.Finish()), "message-out-of-order");
  }
  Peer peer(stub_.get());
  peer.SendRound(1, w_);
  EXPECT_EQ(ReasonCode(peer.Finish()), "message-out-of-order");
}

TEST_F(ServiceTest, ASecondOpenOnOneStreamIsRefused) {
  Peer peer(stub_.get());
  peer.SendOpen(SmallRun());
  peer.Receive();
  peer.SendOpen(SmallRun());
  EXPECT_EQ(ReasonCode(peer.Finish()), "session-opened");
}

TEST_F(ServiceTest, ADictionaryOfAnImpossibleShapeIsRefusedBeforeItIsRead) {
  Peer peer(stub_.get());
  peer.SendOpen(SmallRun());
  peer.Receive();
  v1::TrainRequest request;
  request.mutable_round()->set_round(1);
  request.mutable_round()->mutable_shape()->set_rows(1ull << 60);
  request.mutable_round()->mutable_shape()->set_columns(1ull << 60);
  peer.Send(request);
  EXPECT_EQ(ReasonCode(peer.Finish()), "matrix-shape");
}

TEST_F(ServiceTest, ListsOnlyWhatTheIdentityMayUse) {
  grpc::ClientContext context;
  v1::ListDatasetsReply reply;
  ASSERT_TRUE(stub_->ListDatasets(&context, {}, &reply).ok());
  ASSERT_EQ(reply.datasets_size(), 1);
  EXPECT_EQ(reply.datasets(0).name(), "planted");
  EXPECT_EQ(reply.datasets(0).features(), kFeatures);
  EXPECT_EQ(reply.datasets(0).guarantee().epsilon(), 4);
  EXPECT_EQ(reply.version(), "test");
}

TEST_F(ServiceTest, ItemsAreListedForAnalystsOfTheDataSetAlone) {
  const auto page_of =
      [&](const std::string& identity, const std::string& dataset,
          std::uint64_t first) -> absl::StatusOr<v1::ListItemsReply> {
    identities_ = {identity};
    grpc::ClientContext context;
    v1::ListItemsRequest request;
    request.set_dataset(dataset);
    request.set_first(first);
    v1::ListItemsReply reply;
    const absl::Status status =
        FromGrpc(stub_->ListItems(&context, request, &reply));
    if (!status.ok()) return status;
    return reply;
  };
  EXPECT_EQ(ReasonCode(page_of("dns:analyst", "planted", 0).status()),
            "items-none");
  ItemList items;
  for (int i = 0; i < 30'000; ++i) {
    items.ids.push_back("id " + std::to_string(i));
    items.names.push_back(std::string(50, 'n'));
  }
  items.features = Eigen::MatrixXd(30'000, 0);
  std::vector<std::unique_ptr<Dataset>> datasets;
  datasets.push_back(PlantedDataset("planted", "people"));
  datasets.push_back(PlantedDataset("hidden", "others"));
  catalog_ = Catalog::FromDatasets(std::move(datasets),
                                   {{"planted", items}, {"hidden", items}});
  const auto first = page_of("dns:analyst", "planted", 0);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->more());
  EXPECT_EQ(first->items(7).id(), "id 7");
  const auto second = page_of("dns:second", "planted",
                              static_cast<std::uint64_t>(first->items_size()));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(second->more());
  EXPECT_EQ(first->items_size() + second->items_size(), 30'000);
  EXPECT_EQ(ReasonCode(page_of("dns:analyst", "planted", 30'000).status()),
            "item-out-of-range");
  for (const char* other : {"hidden", "none"}) {
    EXPECT_EQ(ReasonCode(page_of("dns:analyst", other, 0).status()),
              "dataset-unknown");
  }
  EXPECT_EQ(ReasonCode(page_of("dns:auditor", "planted", 0).status()),
            "role-missing");
  EXPECT_EQ(ReasonCode(page_of("dns:stranger", "planted", 0).status()),
            "identity-unknown");
}

TEST_F(ServiceTest, MoreNumbersThanAnyRoundTakesAreRefused) {
  Peer peer(stub_.get());
  peer.SendOpen(SmallRun());
  peer.Receive();
  v1::TrainRequest request;
  request.mutable_round()->set_round(1);
  for (int i = 0; i < 17; ++i) request.mutable_round()->add_numbers(1);
  peer.Send(request);
  EXPECT_EQ(ReasonCode(peer.Finish()), "numbers-malformed");
}

TEST_F(ServiceTest, AStrangerLearnsNothing) {
  identities_ = {"dns:stranger"};
  grpc::ClientContext first, second;
  v1::ListDatasetsReply list;
  EXPECT_EQ(ReasonCode(FromGrpc(stub_->ListDatasets(&first, {}, &list))),
            "identity-unknown");
  v1::GetLedgerRequest request;
  request.set_dataset("planted");
  v1::GetLedgerReply ledger;
  EXPECT_EQ(ReasonCode(FromGrpc(stub_->GetLedger(&second, request, &ledger))),
            "identity-unknown");
}

TEST_F(ServiceTest, TheLedgerShowsOwnChargesAndOthersAsTotalsOnly) {
  {
    Peer peer(stub_.get());
    peer.SendOpen(SmallRun());
    peer.Receive();
    peer.SendRound(1, w_);
    peer.ReceiveRelease();
    EXPECT_TRUE(peer.Finish().ok());
  }
  v1::GetLedgerRequest request;
  request.set_dataset("planted");
  v1::GetLedgerReply own, auditor;
  grpc::ClientContext first, second;
  ASSERT_TRUE(stub_->GetLedger(&first, request, &own).ok());
  ASSERT_EQ(own.own_charges_size(), 1);
  EXPECT_EQ(own.own_charges(0).run_id(), kRun);
  EXPECT_EQ(own.own_charges(0).charged().units(), own.own_charged().units());
  EXPECT_EQ(own.own_charged().units(), own.position().charged().units());
  identities_ = {"dns:auditor"};
  ASSERT_TRUE(stub_->GetLedger(&second, request, &auditor).ok());
  EXPECT_EQ(auditor.own_charges_size(), 0);
  EXPECT_EQ(auditor.own_charged().units(), "0");
  EXPECT_EQ(auditor.position().charged().units(),
            own.position().charged().units());
}

// Training goes on, and everything that names the guarantee says since when it
// does not hold. The receipt of an earlier charge stays as it was.
TEST_F(ServiceTest, AVoidGuaranteeIsSaidWithEveryPosition) {
  Peer peer(stub_.get());
  peer.SendOpen(SmallRun());
  EXPECT_FALSE(peer.Receive().opened().ledger().has_void_since());
  peer.SendRound(1, w_);
  peer.ReceiveRelease();
  const auto before =
      receipts_->ReceiptOf(ledger_->PositionOf("people")->row_count);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_FALSE(before->has_void_since());
  ASSERT_TRUE(ledger_->VoidGuarantee({"people", Digest{1}, "Ann"}).ok());
  const std::int64_t since = *ledger_->PositionOf("people")->void_since;
  EXPECT_EQ(receipts_->ReceiptOf(before->sequence())->SerializeAsString(),
            before->SerializeAsString());
  peer.SendRound(2, w_);
  peer.ReceiveRelease();
  const auto after =
      receipts_->ReceiptOf(ledger_->PositionOf("people")->row_count);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->void_since(), since);
  EXPECT_TRUE(CheckReceipt(*after).ok());
  peer.SendClose();
  EXPECT_EQ(peer.Receive().closed().ledger().void_since(), since);
  EXPECT_TRUE(peer.Finish().ok());
  v1::GetLedgerRequest request;
  request.set_dataset("planted");
  v1::GetLedgerReply ledger;
  v1::ListDatasetsReply datasets;
  grpc::ClientContext first, second;
  ASSERT_TRUE(stub_->GetLedger(&first, request, &ledger).ok());
  EXPECT_EQ(ledger.guarantee().void_since(), since);
  EXPECT_EQ(ledger.position().void_since(), since);
  // For the receipt that was given before.
  v1::Receipt marked = *before;
  marked.set_void_since(since);
  EXPECT_EQ(ReasonCode(CheckReceipt(marked)), "receipt-invalid");
  marked.set_void_signature(ledger.own_charges(0).void_signature());
  EXPECT_TRUE(CheckReceipt(marked).ok());
  ASSERT_TRUE(stub_->ListDatasets(&second, {}, &datasets).ok());
  EXPECT_EQ(datasets.datasets(0).guarantee().void_since(), since);
}

// Capped at epsilon 0.5, under a population's cap of 4.
TEST_F(ServiceTest, TheLargestRunOfAnIdentityWithALimitOfItsOwnIsAccepted) {
  v1::GetLedgerRequest request;
  request.set_dataset("planted");
  v1::GetLedgerReply unlimited, limited;
  grpc::ClientContext first, second;
  ASSERT_TRUE(stub_->GetLedger(&first, request, &unlimited).ok());
  EXPECT_FALSE(unlimited.position().has_own_limit());
  identities_ = {"dns:second"};
  ASSERT_TRUE(stub_->GetLedger(&second, request, &limited).ok());
  const auto largest_run = [](const v1::LedgerPosition& position) {
    return LargestRun(RoomOf(position).value(), Conversion::kRdp, 1e-5).value();
  };
  EXPECT_EQ(largest_run(unlimited.position()), 4);
  EXPECT_EQ(largest_run(limited.position()), 0.5);
  RunParameters parameters = SmallRun();
  parameters.epsilon = 0.51;
  {
    Peer peer(stub_.get());
    peer.SendOpen(parameters);
    EXPECT_EQ(ReasonCode(peer.Finish()), "identity-budget-exhausted");
  }
  parameters.epsilon = largest_run(limited.position());
  Peer peer(stub_.get());
  peer.SendOpen(parameters);
  EXPECT_LT(largest_run(peer.Receive().opened().ledger()), 1e-4);
  peer.SendRound(1, w_);
  peer.ReceiveRelease();
  peer.SendClose();
  // Budget of the three rounds that were not run.
  const v1::LedgerPosition position = peer.Receive().closed().ledger();
  EXPECT_GT(largest_run(position), 0.4);
  EXPECT_LT(largest_run(position), 0.5);
}

TEST_F(ServiceTest, ALostConnectionKeepsTheReservationAndTheRunGoesOn) {
  std::vector<NoisedMatrix> before;
  {
    Peer peer(stub_.get());
    peer.SendOpen(SmallRun());
    peer.Receive();
    peer.SendRound(1, w_);
    before = peer.ReceiveRelease();
    EXPECT_TRUE(peer.Finish().ok());  // half-closed without closing the run
  }
  Peer peer(stub_.get());
  peer.SendOpen(SmallRun());
  EXPECT_EQ(peer.Receive().opened().next_round(), 2u);
  peer.SendRound(1, w_);
  EXPECT_EQ(peer.ReceiveRelease(), before);
  peer.SendRound(2, w_);
  peer.ReceiveRelease();
}

}  // namespace
}  // namespace dpnmf::curator
