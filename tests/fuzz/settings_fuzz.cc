// Texts that parties' operators and users write or keep: allow-lists, lists of
// clients, descriptions of data sets, anchors, policies, addresses, costs,
// certificates, headers of arrays, configuration files and dictionaries.
// Refused in one sentence, or read as what they say.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "analyst/client/model_file.h"
#include "analyst/client/options.h"
#include "analyst/client_list.h"
#include "common/base/error.h"
#include "common/base/npy.h"
#include "common/cli/program.h"
#include "common/privacy/mu_squared.h"
#include "common/tls/certificate.h"
#include "common/wire/address.h"
#include "curator/data/description.h"
#include "curator/ledger/anchor.h"
#include "curator/ledger/ledger_row.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz {
namespace {

// Counts and, if refused, demands a proper refusal.
template <typename Value>
bool Read(const std::string& what, const absl::StatusOr<Value>& value) {
  Count(what + (value.ok() ? " read" : " refused"));
  if (!value.ok()) DemandRefusal(value.status());
  return value.ok();
}

void FuzzAllowList(const std::string& text) {
  const auto list = ParseAllowList(text, kCuratorAllowList);
  if (!Read("allow-list", list)) return;
  Count(list->older_shape ? "allow-list, older shape" : "allow-list, peers");
  for (const Grant& grant : list->grants) {
    Demand(grant.identity.starts_with("dns:") ||
               grant.identity.starts_with("uri:"),
           "an identity of another kind");
    Demand(!grant.roles.empty(), "a grant without a role");
    for (const auto& [population, epsilon] : grant.epsilon_by_population)
      Demand(epsilon > 0 && epsilon <= 1000, "an epsilon out of range");
  }
}

void FuzzClientList(const std::string& text) {
  const auto list = analyst::ClientList::Parse(text);
  if (!Read("client list", list)) return;
  Count(ParseAllowList(text, kAnalystAllowList)->older_shape
            ? "client list, older shape"
            : "client list, peers");
  const auto stranger =
      list->Authorise({"dns:stranger"}, analyst::Permission::kStart);
  if (!stranger.ok()) DemandRefusal(stranger.status());
}

void FuzzDescription(const std::string& text) {
  const auto stored = curator::StoredDescriptionOfJson(text);
  if (!Read("description", stored)) return;
  Demand(CheckDeclaration(stored->description).ok(), "a bad declaration");
  const auto again = curator::StoredDescriptionOfJson(ToJson(*stored));
  Demand(again.ok() && ToJson(*again) == ToJson(*stored),
         "a description that is not read back");
}

void FuzzAnchor(const std::string& text) {
  const auto anchor = curator::ParseAnchor(text);
  if (!Read("anchor", anchor)) return;
  const auto again = curator::ParseAnchor(AnchorText(*anchor));
  Demand(again.ok() && *again == *anchor, "an anchor that is not read back");
}

void FuzzPolicy(const std::string& text) {
  const auto policy = curator::ParsePolicy("people", text);
  Count(policy.has_value() ? "policy read" : "policy refused");
  Demand(!policy.has_value() || PolicyText(*policy) == text,
         "a policy that is not read back");
}

void FuzzAddress(const std::string& text) {
  Read("address", ParseAddress(text));
}

void FuzzCost(const std::string& text) {
  const auto cost = MuSquared::FromUnitsText(text);
  Count(cost.has_value() ? "cost read" : "cost refused");
  Demand(!cost.has_value() || cost->UnitsText() == text,
         "a cost that is not read back");
}

void FuzzNpyHeader(const std::string& text) {
  const auto header = ParseNpyHeader(text);
  if (!Read("npy header", header)) return;
  Demand(header->data_offset <= text.size(), "data past the end");
  Demand(header->shape.size() == 1 || header->shape.size() == 2,
         "a shape of other dimensions");
}

void FuzzCertificates(const std::string& text) {
  const auto certificates = ParseCertificates(text);
  Count(certificates.empty() ? "certificate refused" : "certificate read");
  for (const X509Pointer& certificate : certificates) {
    const SubjectNames names = NamesOf(*certificate);
    for (const auto* list : {&names.identities, &names.dns, &names.uris}) {
      for (const std::string& name : *list) {
        for (const char c : name)
          Demand(c > ' ' && c < 0x7f, "a name that is not printable");
      }
    }
    const std::int64_t now = NotBefore(*certificate);
    NotAfter(*certificate);
    IsForHost(*certificate, "a.example");
    for (const absl::Status& status :
         {CheckDates(*certificate, now, "own.pem"),
          CheckHasName(*certificate, "own.pem"),
          CheckSignature(certificates, certificates, "own.pem", "ca.pem")}) {
      if (!status.ok()) DemandRefusal(status);
    }
  }
}

// As the programs do: read, or refused in one sentence.
void FuzzConfiguration(const std::string& text, const OneFile& files) {
  const std::string path = files.Write("dpnmf.toml", text);
  cli::GlobalOptions options;
  int number = 0;
  std::vector<std::string> words;
  bool flag = false;
  const Command serve = {
      .name = "serve",
      .summary = "Serves",
      .flags = {Flag("--threads", &number, "", {.range = {1, 64}}),
                Flag("--words", &words, ""), Flag("--flag", &flag, "")},
      .run = [] { return kExitOk; }};
  const Program program = {.root = {.name = "test",
                                    .flags = cli::GlobalFlags(&options),
                                    .commands = {serve}},
                           .config = {.help = "A file"}};
  const char* const argv[] = {"test", "serve", "--config", path.c_str()};
  std::ostringstream out, err;
  const ExitCode code = Main(program, 4, argv, &out, &err);
  Count(code == kExitOk ? "configuration read" : "configuration refused");
  Demand(out.str().empty(), "output of a configuration file");
  const std::string said = err.str();
  Demand(code == kExitOk
             ? said.empty() && (number == 0 || (number >= 1 && number <= 64))
             : code == kExitUsage &&
                   (said.ends_with("[usage]\n") ||
                    said.starts_with(R"({"error":{"code":"usage",)")) &&
                   std::count(said.begin(), said.end(), '\n') == 1,
         "a configuration that is neither read nor refused in a sentence");
}

void FuzzDictionaryFile(const std::string& text, const OneFile& files,
                        const char* name) {
  const auto w = cli::ReadMatrixFile(files.Write(name, text));
  if (!Read(name, w)) return;
  Demand(static_cast<std::size_t>(w->size()) <= text.size(),
         "more entries than the file has bytes");
}

// Self-signed, P-256, with names of four kinds.
constexpr char kCertificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBozCCAUigAwIBAgIUVj9h6yeMfFv9nWyD16ZTboqhm/UwCgYIKoZIzj0EAwIw\n"
    "DDEKMAgGA1UEAwwBdDAgFw0yNjExMjEwODA1MjNaGA8yMTI2MTAyODA4MDUyM1ow\n"
    "DDEKMAgGA1UEAwwBdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEF+wsosuJUF\n"
    "Ip2LJht2oNM4x5QqteyGZtqv5mrAf/AKpJHeVtJb7AapWJK61Jo7QXyYmauK0GIx\n"
    "YX+oy8d3Sh6jgYUwgYIwHQYDVR0OBBYEFP+YmKBmwVghLoOk2WD3tR0R1AijMB8G\n"
    "A1UdIwQYMBaAFP+YmKBmwVghLoOk2WD3tR0R1AijMA8GA1UdEwEB/wQFMAMBAf8w\n"
    "LwYDVR0RBCgwJoIJQS5leGFtcGxlhg5zcGlmZmU6Ly9sYWIveIcEfwAAAYEDeEB5\n"
    "MAoGCCqGSM49BAMCA0kAMEYCIQCfJrnDt7TL81pFGwtYPE077gXi8Y3eNk8vrViN\n"
    "CLxM7QIhAJ/x2RcZ3rAOoaToyEK/N9FQUf9+7I2PY/C6jL3bvcAZ\n"
    "-----END CERTIFICATE-----\n";

std::string SomeDescription() {
  curator::StoredDescription stored;
  stored.description.name = "digits";
  stored.description.population = "people";
  stored.description.features = 64;
  stored.description.users = 1797;
  stored.description.epsilon = 4;
  stored.description.delta = 1e-5;
  return ToJson(stored);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  NpyHeader header;
  header.dtype = "<f8";
  header.shape = {2, 1};
  const curator::Anchor anchor{std::string(32, 'a'), 3, {}};
  const curator::PopulationPolicy policy{"people", Adjacency::kReplaceOne,
                                         Conversion::kRdp, 4, 1e-5};
  const std::string texts[] = {
      R"({"grants": [{"identity": "dns:a", "roles": ["analyst"],)"
      R"( "datasets": ["digits", "*"], "budgets": [{"population": "p",)"
      R"( "epsilon": 2.5}]}, {"identity": "uri:b", "roles": ["auditor"],)"
      R"( "datasets": []}]})",
      R"({"clients": [{"identity": "dns:alice", "roles": ["analyst"]},)"
      R"( {"identity": "uri:x", "roles": ["auditor"]}]})",
      SomeDescription(),
      AnchorText(anchor),
      PolicyText(policy),
      "localhost:7001",
      "1152921504606846976",
      NpyHeaderBytes(header),
      kCertificate,
      "server = \"a:1\"\nformat = 'json'\n[serve]\nthreads = 3\n"
      "words = [\"a\", \"b\\u00e9\"] # c\nflag = true\n",
      cli::NpyBytes(Eigen::MatrixXd::Constant(2, 2, 0.5)),
      "1,2e-3\n-0,nan\n",
  };
  std::vector<std::string> seeds;
  for (const std::string& text : texts) {
    seeds.push_back(std::string(1, static_cast<char>(seeds.size())) + text);
  }
  for (const char* epsilon : {"0", "-1", "1001", "1e999"}) {
    seeds.push_back(std::string(1, 0) +
                    R"({"grants": [{"identity": "dns:a", "roles": )"
                    R"(["analyst"], "datasets": [], "budgets": )"
                    R"([{"population": "p", "epsilon": )" +
                    epsilon + "}]}]}");
  }
  // The two lists in their present shape.
  seeds.push_back(std::string(1, 0) +
                  R"({"peers": [{"identity": "dns:a", "roles": ["analyst"],)"
                  R"( "datasets": ["digits"], "budgets": [{"population": "p",)"
                  R"( "epsilon": 2.5}]}]})");
  seeds.push_back(std::string(1, 1) +
                  R"({"peers": [{"identity": "dns:alice", "roles":)"
                  R"( ["analyst", "operator"]}]})");
  seeds.push_back(std::string(1, 5) + "[::1]:65535");
  seeds.push_back(std::string(1, 8) + kCertificate + kCertificate);
  seeds.push_back(std::string(1, 9) +
                  "serve.threads = 0x10\nserve.words = \"\"\"a\nb\"\"\"\n");
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes;
  for (const std::string what :
       {"allow-list", "client list", "description", "anchor", "policy",
        "address", "cost", "npy header", "certificate", "configuration",
        "w.npy", "w.csv"}) {
    outcomes.push_back(what + " read");
    outcomes.push_back(what + " refused");
  }
  for (const std::string list : {"allow-list", "client list"}) {
    outcomes.push_back(list + ", older shape");
    outcomes.push_back(list + ", peers");
  }
  return outcomes;
}

}  // namespace dpnmf::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpnmf::fuzz;  // NOLINT(google-build-using-namespace)
  constexpr void (*kTexts[])(const std::string&) = {
      FuzzAllowList, FuzzClientList, FuzzDescription,
      FuzzAnchor,    FuzzPolicy,     FuzzAddress,
      FuzzCost,      FuzzNpyHeader,  FuzzCertificates};
  static const OneFile files;
  FuzzInput bytes(data, size);
  const std::size_t kind = bytes.Byte() % (std::size(kTexts) + 3);
  const std::string text(bytes.Rest());
  if (kind < std::size(kTexts)) {
    kTexts[kind](text);
  } else if (kind == std::size(kTexts)) {
    FuzzConfiguration(text, files);
  } else {
    FuzzDictionaryFile(text, files,
                       kind == std::size(kTexts) + 1 ? "w.npy" : "w.csv");
  }
  return 0;
}
