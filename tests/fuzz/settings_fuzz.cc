// Texts that parties' operators and users write or keep: allow-lists, lists of
// clients, descriptions of data sets, anchors, policies, addresses, costs,
// certificates, headers of arrays, configuration files, dictionaries, priors
// and sums of dpnmf-sums. Refused in one sentence, or read as what they say.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "analyst/runs/sent_priors.h"
#include "analyst/serve/client_list.h"
#include "client/files/model_file.h"
#include "client/flags/prior_flags.h"
#include "client/session/options.h"
#include "common/base/error.h"
#include "common/cli/program.h"
#include "common/files/npy.h"
#include "common/privacy/mu_squared.h"
#include "common/privacy/stored_sums.h"
#include "common/tls/address.h"
#include "common/tls/certificate.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/prior.h"
#include "curator/data/description.h"
#include "curator/import/people_sums.h"
#include "curator/ledger/anchor.h"
#include "curator/ledger/ledger_row.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::settings {
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
  for (const Grant& grant : *list) {
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

// Loads a configuration as the programs do: read, or refused in one sentence.
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

// A file of numbers is read as Matrix Market by its first word, whatever its
// name.
bool IsMatrixMarket(const std::string& text) {
  return absl::StartsWithIgnoreCase(text, "%%MatrixMarket");
}

void FuzzDictionaryFile(const std::string& text, const OneFile& files,
                        const char* name) {
  if (IsMatrixMarket(text)) return;
  const auto w = cli::ReadMatrixFile(files.Write(name, text));
  if (!Read(name, w)) return;
  Demand(static_cast<std::size_t>(w->size()) <= text.size(),
         "more entries than the file has bytes");
}

// ------------------------------------------- priors, as `--prior` reads them

// Returns true if a Matrix Market file may declare a large shape (a number of
// four digits): one line may declare gigabytes of memory.
bool DeclaresMillions(const std::string& text) {
  std::size_t digits = 0;
  for (const char c : text) {
    digits =
        absl::ascii_isdigit(static_cast<unsigned char>(c)) ? digits + 1 : 0;
    if (digits > 3) return true;
  }
  return false;
}

// The analyst takes what its client sends.
void DemandTaken(const cli::PriorToSend& prior) {
  analyst::PriorHeaders headers;
  *headers.Add() = prior.header;
  auto reader = analyst::PriorReader::Create(headers);
  Demand(reader.ok(), "a prior that the analyst does not begin with");
  if (!prior.names.empty()) {
    v1::PriorFeatures features;
    features.mutable_names()->Add(prior.names.begin(), prior.names.end());
    Demand(reader->Add(features).ok(), "names that the analyst refuses");
  }
  absl::Status added;
  WriteChunks(prior.entries, [&](const v1::RealChunk& chunk) {
    added = reader->Add(chunk);
    return added.ok();
  });
  if (!added.ok()) DemandRefusal(added);
  Demand(added.ok() || !prior.entries.allFinite(),
         "entries that the analyst refuses");
  if (added.ok()) Demand(reader->Finish().ok(), "a prior of another digest");
}

// Kind of prior, then what it is written as, then the file.
void FuzzPrior(const char* kind, const std::string& text,
               const OneFile& files) {
  constexpr const char* kFiles[] = {"p.csv", "p.npy", "p.mtx"};
  const auto choice =
      static_cast<std::uint8_t>(text.empty() ? '\0' : text.front());
  const std::string content =
      text.substr(std::min<std::size_t>(1, text.size()));
  const bool is_mtx = choice % 3 == 2 || IsMatrixMarket(content);
  if (is_mtx && DeclaresMillions(content)) return;
  cli::PriorFlags flags;
  flags.users = (choice & 64) != 0 ? "rows" : "columns";
  flags.priors = {kind + files.Write(kFiles[choice % 3], content)};
  const auto priors = cli::ReadPriors(
      flags, [](const std::string&) -> absl::StatusOr<std::string> {
        return absl::InternalError("a file is taken for a run");
      });
  if (!Read("prior", priors)) return;
  const cli::PriorToSend& prior = priors->at(0);
  const std::uint64_t rows = prior.header.shape().rows(),
                      columns = prior.header.shape().columns();
  Count(prior.header.sparse() ? "prior, sparse" : "prior, dense");
  Demand(rows >= 1 && columns >= 1, "a prior without entries");
  Demand(static_cast<std::uint64_t>(prior.entries.size()) ==
             (prior.header.sparse() ? 3 * prior.header.nonzeros()
                                    : rows * columns),
         "a prior of another shape than its header's");
  Demand(prior.names.empty() || prior.names.size() == rows,
         "names of other rows");
  Demand(!absl::AsciiStrToLower(content.substr(0, content.find('\n')))
                 .ends_with(" symmetric") ||
             !is_mtx || rows == columns,
         "a symmetric matrix that is not square");
  const bool is_moment = prior.header.kind() == v1::PRIOR_KIND_MOMENT;
  if (is_moment) Demand(rows == columns, "a moment that is not square");
  if (!is_moment) Demand(prior.entries.minCoeff() >= 0, "an entry below 0");
  DemandTaken(prior);
}

// --------------------------------------------- sums that were made elsewhere

// The blocks of a text, with their checks.
std::vector<std::string> SealedBlocks(const std::string& text) {
  std::vector<std::string> blocks;
  for (const absl::string_view block : absl::StrSplit(text, '\x1e')) {
    const Digest check =
        Sha256()
            .AddBytes(std::as_bytes(std::span(block.data(), block.size())))
            .Finish();
    blocks.push_back(std::string(block) + "end " + HexOf(check) + "\n");
  }
  return blocks;
}

void DemandWhole(const curator::PeopleSums& sums) {
  Demand(sums.rows.size() == sums.people &&
             (sums.ids.empty() || sums.ids.size() == sums.people) &&
             sums.parts.size() <= sums.people,
         "people that are not counted");
  Demand(sums.sums.size() ==
             CountOfSums(sums.features, MomentRowsOf({.rows = sums.moment_rows},
                                                     sums.features)),
         "sums of another size");
  Demand(AreRowsOfSums(sums.moment_rows, sums.features), "rows of no feature");
  for (const auto* list : {&sums.rows, &sums.parts})
    Demand(std::is_sorted(list->begin(), list->end()), "an order of lines");
  Demand(std::adjacent_find(sums.parts.begin(), sums.parts.end()) ==
                 sums.parts.end() &&
             std::adjacent_find(sums.ids.begin(), sums.ids.end()) ==
                 sums.ids.end(),
         "somebody twice");
  const auto again = curator::AddedSums(PeopleSumsText(sums));
  Demand(again.ok() && PeopleSumsText(*again) == PeopleSumsText(sums),
         "sums that are not read back");
}

void FuzzSums(const std::string& text) {
  const auto sums = curator::AddedSums(text);
  if (Read("sums", sums)) DemandWhole(*sums);
}

// Blocks are separated by the byte 0x1e; their sum is that of whole numbers, in
// any order.
void FuzzSealedSums(const std::string& text) {
  const std::vector<std::string> blocks = SealedBlocks(text);
  std::string forth, back;
  for (const std::string& block : blocks) {
    forth += block;
    back = block + back;
  }
  const auto sums = curator::AddedSums(forth);
  const auto other = curator::AddedSums(back);
  if (!Read("sealed sums", sums)) return Count(ReasonCode(sums.status()));
  Demand(other.ok() && PeopleSumsText(*other) == PeopleSumsText(*sums),
         "another sum in another order");
  DemandWhole(*sums);
  std::vector<Uint128> exact(sums->sums.size());
  std::uint64_t people = 0;
  for (const std::string& block : blocks) {
    const auto one = curator::AddedSums(block);
    Demand(one.ok() && one->sums.size() == exact.size(),
           "a sum of what is no sum");
    people += one->people;
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] += one->sums[i];
  }
  Demand(people == sums->people, "other people");
  for (std::size_t i = 0; i < exact.size(); ++i)
    Demand(exact[i] == sums->sums[i], "a sum that has wrapped");
  if (blocks.size() > 1) Count("sums added");
}

// Five sums: of two features, or of four and one row.
curator::PeopleSums SomeSums(std::uint8_t first, bool ids,
                             std::optional<std::uint32_t> row = std::nullopt) {
  curator::PeopleSums sums;
  sums.features = row.has_value() ? 4 : 2;
  if (row.has_value()) sums.moment_rows = {*row};
  sums.people = 2;
  sums.bits = 20;
  sums.key_check = Sha256().AddString("key").Finish();
  sums.sums = {7, 0, 3, 1, 900};
  for (std::uint8_t n = 0; n < 2; ++n) {
    sums.rows.push_back(Digest{first, n});
    if (ids) sums.ids.push_back(curator::PersonFingerprint{first, n, 1});
  }
  SealPart(&sums);
  return sums;
}

// Without its last line.
std::string BlockOf(const curator::PeopleSums& sums) {
  const std::string text = PeopleSumsText(sums);
  return text.substr(0, text.find("\nend ") + 1);
}

// First bytes from this one on say which of the following it is.
constexpr int kNewerKinds = 240;

void FuzzNewer(int kind, const std::string& text, const OneFile& files) {
  switch (kind % 5) {
    case 0:
      return FuzzPrior("", text, files);
    case 1:
      return FuzzPrior("dictionary:", text, files);
    case 2:
      return FuzzPrior("moment:", text, files);
    case 3:
      return FuzzSums(text);
    default:
      return FuzzSealedSums(text);
  }
}

void AddNewerSeeds(std::vector<std::string>* seeds) {
  const auto seed = [&](int kind, const std::string& text) {
    seeds->push_back(static_cast<char>(kNewerKinds + kind) + text);
  };
  const std::string market = "%%MatrixMarket matrix ";
  Eigen::MatrixXd mostly_zero = Eigen::MatrixXd::Zero(3, 4);
  mostly_zero(2, 1) = 0.5;
  const std::string texts[] = {
      std::string(1, 0) + "1,0\n0,2\n",
      std::string(1, 0) +
          "feature,part_1,part_2\nx,1,2\n\"y, \"\"z\"\"\",3,4\n",
      std::string(1, 0) + "1,-2\n3,inf\n",
      std::string(1, 64) + "1,2\n3,4\n5,6\n",
      std::string(1, 66) + "left,right\n1,2\n3,4\n",
      std::string(1, 1) + cli::NpyBytes(Eigen::MatrixXd::Constant(2, 2, 0.5)),
      std::string(1, 1) + cli::NpyBytes(mostly_zero),
      std::string(1, 1) + cli::NpyBytes(Eigen::MatrixXd(0, 2)),
      std::string(1, 1) + cli::NpyBytes(Eigen::MatrixXd(2, 0)),
      std::string(1, 2) + market + "array real general\n2 2\n1\n2\n2\n4\n",
      std::string(1, 2) + market +
          "coordinate real general\n%c\n3 4 2\n1 1 1\n3 4 .5\n",
      std::string(1, 2) + market +
          "coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
      std::string(1, 2) + market +
          "coordinate real symmetric\n2 3 2\n1 3 5\n2 3 7\n",
      std::string(1, 2) + market +
          "coordinate real symmetric\n3 2 2\n1 2 5\n3 1 7\n",
      std::string(1, 2) + market + "coordinate real general\n2 2 1\n3 1 1\n",
      std::string(1, 2) + market + "array integer symmetric\n1 1\n1\n"};
  for (const int kind : {0, 1, 2})
    for (const std::string& text : texts) seed(kind, text);
  // Sums: of some, of nobody, with ids; twice; of another key; and two that
  // wrap.
  const curator::PeopleSums a = SomeSums(1, false), b = SomeSums(2, false);
  curator::PeopleSums nobody = a, large = a, larger = b, other = b;
  nobody.people = 0;
  nobody.rows.clear();
  nobody.sums.assign(nobody.sums.size(), 0);
  SealPart(&nobody);
  large.sums[2] = (std::uint64_t{1} << 63) + 4;
  larger.sums[2] = (std::uint64_t{1} << 63) + 1;
  SealPart(&large);
  SealPart(&larger);
  other.key_check[0] ^= 1;
  SealPart(&other);
  seed(3, PeopleSumsText(a));
  seed(3,
       PeopleSumsText(a) + "\n" + PeopleSumsText(b) + PeopleSumsText(nobody));
  seed(3, PeopleSumsText(a) + PeopleSumsText(a));
  seed(3, "\n");
  for (const curator::PeopleSums* second :
       std::initializer_list<const curator::PeopleSums*>{
           &a, &b, &nobody, &large, &larger, &other})
    seed(4, BlockOf(large) + '\x1e' + BlockOf(*second));
  seed(4, BlockOf(a));
  seed(4, BlockOf(b) + '\x1e' + BlockOf(nobody) + '\x1e' + BlockOf(a));
  seed(4, BlockOf(SomeSums(1, true)) + '\x1e' + BlockOf(SomeSums(2, true)));
  seed(4, BlockOf(SomeSums(1, true)) + '\x1e' + BlockOf(SomeSums(1, true)));
  // On rows: the same, others, and all; and of more features than a second
  // moment has rows.
  const curator::PeopleSums on_row = SomeSums(1, false, 2);
  curator::PeopleSums wide = on_row;
  wide.features = 2000;
  wide.moment_rows = {7, 1999};
  wide.sums.assign(2003, 1);
  SealPart(&wide);
  seed(3, PeopleSumsText(on_row) + PeopleSumsText(SomeSums(2, true, 2)));
  seed(3, PeopleSumsText(on_row) + PeopleSumsText(SomeSums(2, false, 2)));
  seed(3, PeopleSumsText(wide));
  seed(4, BlockOf(on_row) + '\x1e' + BlockOf(SomeSums(2, false, 2)));
  seed(4, BlockOf(on_row) + '\x1e' + BlockOf(SomeSums(2, false, 1)));
  seed(4, BlockOf(on_row) + '\x1e' + BlockOf(a));
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

std::string SomeDescription(std::optional<StoredSums> sums = std::nullopt) {
  curator::StoredDescription stored;
  stored.description.sums = std::move(sums);
  stored.description.name = "digits";
  stored.description.population = "people";
  stored.description.features = 64;
  stored.description.users = 1797;
  stored.description.epsilon = 4;
  stored.description.delta = 1e-5;
  return ToJson(stored);
}

std::vector<std::string> FuzzSeeds() {
  NpyHeader header;
  header.dtype = "<f8";
  header.shape = {2, 1};
  const curator::Anchor anchor{std::string(32, 'a'), 3, {}};
  const curator::PopulationPolicy policy{"people", Adjacency::kReplaceOne,
                                         Conversion::kRdp, 4, 1e-5};
  const std::string texts[] = {
      R"({"peers": [{"identity": "dns:a", "roles": ["analyst"],)"
      R"( "datasets": ["digits", "*"], "budgets": [{"population": "p",)"
      R"( "epsilon": 2.5}]}, {"identity": "uri:b", "roles": ["auditor"],)"
      R"( "datasets": []}]})",
      R"({"peers": [{"identity": "dns:alice", "roles": ["analyst"]},)"
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
                    R"({"peers": [{"identity": "dns:a", "roles": )"
                    R"(["analyst"], "datasets": [], "budgets": )"
                    R"([{"population": "p", "epsilon": )" +
                    epsilon + "}]}]}");
  }
  seeds.push_back(std::string(1, 2) +
                  SomeDescription(StoredSums{.bits = -3, .rows = {2, 40}}));
  seeds.push_back(std::string(1, 5) + "[::1]:65535");
  seeds.push_back(std::string(1, 8) + kCertificate + kCertificate);
  seeds.push_back(std::string(1, 9) +
                  "serve.threads = 0x10\nserve.words = \"\"\"a\nb\"\"\"\n");
  AddNewerSeeds(&seeds);
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes;
  for (const std::string what :
       {"allow-list", "client list", "description", "anchor", "policy",
        "address", "cost", "npy header", "certificate", "configuration",
        "w.npy", "w.csv", "prior", "sums", "sealed sums"}) {
    outcomes.push_back(what + " read");
    outcomes.push_back(what + " refused");
  }
  for (const char* what : {"prior, sparse", "prior, dense", "sums added",
                           "sums-file-malformed", "sums-duplicate"})
    outcomes.push_back(what);
  return outcomes;
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  constexpr void (*kTexts[])(const std::string&) = {
      FuzzAllowList, FuzzClientList, FuzzDescription,
      FuzzAnchor,    FuzzPolicy,     FuzzAddress,
      FuzzCost,      FuzzNpyHeader,  FuzzCertificates};
  static const OneFile files;
  FuzzInput bytes(data, size);
  const std::uint8_t first = bytes.Byte();
  const std::size_t kind = first % (std::size(kTexts) + 3);
  const std::string text(bytes.Rest());
  if (first >= kNewerKinds) {
    FuzzNewer(first - kNewerKinds, text, files);
  } else if (kind < std::size(kTexts)) {
    kTexts[kind](text);
  } else if (kind == std::size(kTexts)) {
    FuzzConfiguration(text, files);
  } else {
    FuzzDictionaryFile(text, files,
                       kind == std::size(kTexts) + 1 ? "w.npy" : "w.csv");
  }
}

[[maybe_unused]] const bool kRegistered =
    Register({"settings", 20'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::settings
