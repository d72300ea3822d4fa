// Files that an operator brings back: a backup's manifest and files of
// receipts. Each is refused in one sentence, or read as what it says.
#include <filesystem>
#include <fstream>

#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/wire/receipt.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "curator/maintenance/backup.h"
#include "google/protobuf/stubs/logging.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::record_file {
namespace {

// ------------------------------------------------------ a backup's manifest

// Placeholders in an input for values that differ in each ledger.
constexpr char kHead[] = "@HEAD", kHash[] = "@LEDGER", kHashOfKey[] = "@KEY";
constexpr char kManifest[] =
    R"({"format": 1, "rows": 1, "head": "@HEAD", "files":
 {"fingerprint.key": {"size": 32, "hmac_sha256": "@KEY"},
  "ledger/ledger.sqlite": {"size": 8192, "hmac_sha256": "@LEDGER"}}})";

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// A backup of a ledger without charges.
struct World {
  World() {
    const std::string data = files.directory() + "/data";
    curator::Ledger::Options options;
    options.directory = curator::LedgerDirectory(data);
    Demand(curator::Ledger::Open(options).ok(), "no ledger");
    const auto report = curator::MakeBackup(data, backup);
    Demand(report.ok(), "no backup");
    const std::string manifest = ContentOf(manifest_path);
    const auto keyed_hash = [&](const char* path) {
      constexpr std::string_view kField = "\"hmac_sha256\": \"";
      const std::size_t at = manifest.find(kField, manifest.find(path));
      return manifest.substr(at + kField.size(), 2 * sizeof(Digest));
    };
    real = {{kHead, HexOf(report->head)},
            {kHash, keyed_hash("ledger/ledger.sqlite")},
            {kHashOfKey, keyed_hash("fingerprint.key")}};
  }

  const OneFile files;
  const std::string backup = files.directory() + "/backup";
  const std::string manifest_path = backup + "/manifest.json";
  std::vector<std::pair<std::string, std::string>> real;
};

void FuzzManifest(const std::string& text) {
  static const World world;
  std::ofstream(world.manifest_path, std::ios::binary)
      << absl::StrReplaceAll(text, world.real);
  const auto report = curator::CheckBackup(world.backup, "");
  Count(report.ok() ? "manifest read" : "manifest refused");
  if (!report.ok()) return DemandRefusal(report.status());
  Demand(report->row_count == 1 && report->files >= 1,
         "a backup that holds something else");
}

// ----------------------------------------------------------------- receipts

v1::Receipt SomeReceipt() {
  const auto key = SigningKey::FromPem(
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VwBCIEIHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBw\n"
      "-----END PRIVATE KEY-----\n");
  v1::Receipt receipt;
  receipt.set_ledger_id(std::string(32, 'a'));
  receipt.set_sequence(7);
  receipt.set_row_hash(std::string(32, '\x05'));
  receipt.set_population("people");
  receipt.set_run_id(std::string(32, 'b'));
  receipt.set_round(3);
  receipt.mutable_charged()->set_units("12345");
  Sign(*key, &receipt);
  return receipt;
}

void FuzzReceipts(const std::string& text) {
  const auto receipts = ParseReceipts(text);
  Count(receipts.ok() ? "receipts read" : "receipts refused");
  if (!receipts.ok()) return DemandRefusal(receipts.status());
  for (v1::Receipt receipt : *receipts) {
    const absl::Status good = CheckReceipt(receipt);
    Count(good.ok() ? "receipt good" : "receipt bad");
    if (!good.ok()) DemandRefusal(good);
    // For display alone; JSON's -0 is read as 0.
    if (receipt.has_charged()) receipt.mutable_charged()->clear_value();
    const auto again = ParseReceipts(LineOf(receipt));
    Demand(
        again.ok() && again->size() == 1 &&
            again->front().SerializeAsString() == receipt.SerializeAsString(),
        "a receipt that is not read back");
  }
}

std::vector<std::string> FuzzSeeds() {
  const std::string line = LineOf(SomeReceipt());
  return {std::string(1, 0) + kManifest,
          std::string(1, 0) + R"({"format": 2})",
          std::string(1, 0) + R"({"format": 1, "rows": 1, "head": "",)"
                              R"( "files": {"../x": {}}})",
          std::string(1, 1) + line,
          std::string(1, 1) + line + "\n \r\n" + line,
          std::string(1, 1) + "{\"runId\": \"x\\u00e9\\n\", \"round\": 1e1}"};
}

std::vector<std::string> ExpectedOutcomes() {
  return {"manifest read",    "manifest refused", "receipts read",
          "receipts refused", "receipt good",     "receipt bad"};
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  static auto* const previous = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(previous);
  FuzzInput bytes(data, size);
  const bool is_manifest = !bytes.Bit();
  const std::string text(bytes.Rest());
  is_manifest ? FuzzManifest(text) : FuzzReceipts(text);
}

[[maybe_unused]] const bool kRegistered =
    Register({"record_file", 3'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::record_file
