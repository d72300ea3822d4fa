// Requests of programs on the same machine: requests on a curator's control
// socket and answers to them, and HTTP requests to a page on loopback. A
// request is answered in one line with a documented code, and changes only what
// it says; the page is handed to nobody without its secrets.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/log/log.h"
#include "common/threads/mutex.h"
#include "common/web/http_server.h"
#include "common/web/loopback_access.h"
#include "common/web/reply.h"
#include "curator/control/online_import.h"
#include "curator/control/transform_record.h"
#include "curator/data/description.h"
#include "curator/import/import.h"
#include "curator/import/people/fingerprint.h"
#include "curator/ledger/data_paths.h"
#include "nlohmann/json.hpp"
#include "tests/curator/import/rows_import.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::local_requests {
namespace {

using nlohmann::json;

// -------------------------------------------------------------- sockets

class Socket {
 public:
  explicit Socket(int number) : number_(number) {
    Demand(number >= 0, "no socket");
  }
  ~Socket() { ::close(number_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return number_; }

 private:
  const int number_;
};

// libFuzzer's timer interrupts a call that waits.
void SendAll(int peer, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // a peer that is cut off
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string ReceiveAll(int peer) {
  std::string all;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::recv(peer, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(count));
  }
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Demand(path.size() < sizeof address.sun_path, "too long a path");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// ------------------------------------------- requests on a control socket

curator::PopulationPolicy People() {
  return {"people", Adjacency::kReplaceOne, Conversion::kGaussian, 0.5, 1e-7};
}

// A server of one data set "a", without the network; beside it lies a draft,
// ".c".
struct Curator {
  Curator() : data_dir(files.directory() + "/data") {
    curator::ImportOptions options = curator::RowsImport(
        data_dir, files.Write("v.csv", "1,2\n3,4\n5,7\n"), "a",
        People().population, People().epsilon, People().delta);
    options.label_columns = 0;
    options.adjacency = People().adjacency;
    options.conversion = People().conversion;
    ledger =
        curator::Ledger::Open(curator::LedgerPaths(data_dir, "", true).value())
            .value();
    Demand(ledger->DeclarePopulation(People()).ok(), "no population");
    curator::BetweenSteps between;
    between.before_publish = [&](const curator::DatasetImport& import,
                                 const curator::DatasetDigests& digests) {
      return ledger->BindDataset(import.description().population,
                                 import.description().name, digests);
    };
    Demand(curator::Import(options, between).ok(), "no data set");
    catalog = curator::Catalog::Open(data_dir).value();
    options.input = files.Write("c.csv", "2,1\n4,3\n7,5\n");
    options.name = "c";
    Demand(curator::Import(options, between).ok(), "no draft");
    std::filesystem::rename(curator::DatasetDirectory(data_dir, "c"),
                            curator::DatasetDirectory(data_dir, ".c"));
    audit = AuditLog::Open(curator::AuditFile(data_dir)).value();
    curator::ControlHandlers handlers = curator::OnlineImportHandlers(
        {data_dir, ledger.get(), &catalog, audit.get(), nullptr, nullptr,
         curator::KeyOfFiles(
             curator::LoadOrCreateFingerprintKey(data_dir).value()),
         nullptr});
    handlers.merge(curator::TransformRecordHandlers(audit.get()));
    server =
        curator::ControlServer::Start(data_dir, std::move(handlers)).value();
  }

  // Returns the answer to these bytes; no more bytes are sent.
  std::string Ask(std::string_view bytes) const {
    const Socket peer(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = AddressOf(curator::ControlSocket(data_dir));
    Demand(::connect(peer.get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof address) == 0,
           "the control socket is gone");
    SendAll(peer.get(), bytes);
    ::shutdown(peer.get(), SHUT_WR);
    return ReceiveAll(peer.get());
  }

  const OneFile files;
  const std::string data_dir;
  std::unique_ptr<curator::Ledger> ledger;
  curator::Catalog catalog;
  std::unique_ptr<AuditLog> audit;
  std::unique_ptr<curator::ControlServer> server;
};

// The refusal in an answer; nothing if it says "ok".
std::optional<absl::Status> RefusalIn(const json& answer) {
  Demand(answer.is_object() && answer.size() == 1, "an answer of another kind");
  if (answer.contains("ok")) return std::nullopt;
  const json& error = answer.at("error");
  return Refusal(static_cast<absl::StatusCode>(error.at("status").get<int>()),
                 error.at("code").get<std::string>(),
                 error.at("message").get<std::string>());
}

// Demands that the ledger holds what a "declare" declared.
void DemandDeclared(const curator::Ledger& ledger, const json& request) {
  const std::string name = request.at("population").get<std::string>();
  const auto policy = ledger.Policy(name);
  Demand(policy.ok(), "a population that is not declared");
  Demand(
      NameOf(policy->adjacency) == request.at("adjacency").get<std::string>() &&
          NameOf(policy->conversion) ==
              request.at("conversion").get<std::string>() &&
          policy->epsilon == request.at("epsilon").get<double>() &&
          policy->delta == request.at("delta").get<double>() &&
          policy->epsilon > 0 && policy->delta > 0 && policy->delta < 1,
      "another policy than was asked for");
}

// Demands that the fields of a "record-transform" that was answered are valid.
void DemandRecord(const json& request) {
  const auto text = [&](const char* field) {
    return request.at(field).get<std::string>();
  };
  Demand(curator::IsName(text("dataset")) &&
             curator::IsName(text("population")) &&
             DigestOfHex(text("model_sha256")).has_value() &&
             text("output").size() <= 4096 && text("by").size() <= 256,
         "a record of nothing");
}

void FuzzRequest(FuzzInput* bytes) {
  static auto* curator = new Curator;
  static int declared = 0;
  const std::string_view sent = bytes->Rest();
  const std::size_t end = sent.find('\n');
  const auto rows = curator->ledger->PositionOf("people")->row_count;
  const std::string text = curator->Ask(sent);
  Demand(curator->ledger->Policy("people").value() == People(),
         "the policy of a population has changed");
  Demand(curator->catalog.All().size() == 1, "another data set is served");
  if (end == std::string_view::npos) {
    Count("no line");
    return Demand(text.empty(), "an answer to no request");
  }
  Demand(!text.empty() && text.find('\n') == text.size() - 1,
         "an answer that is not one line");
  const json answer = json::parse(text, nullptr, false);
  const auto refusal = RefusalIn(answer);
  const bool grew = curator->ledger->PositionOf("people")->row_count != rows;
  if (refusal.has_value()) {
    DemandRefusal(*refusal);
    Count(ReasonCode(*refusal));
    return Demand(!grew, "a refused request has changed the ledger");
  }
  const json request = json::parse(sent.substr(0, end), nullptr, false);
  const std::string what = request.at("request").get<std::string>();
  Count(what + " answered");
  Demand(!grew || what == "declare",
         "a row of the ledger that nobody declared");
  if (what == "declare") DemandDeclared(*curator->ledger, request);
  if (what == "record-transform") DemandRecord(request);
  // The ledger of a long run would fill the memory.
  if (grew && ++declared % 1000 == 0) {
    delete curator;
    curator = new Curator;
  }
}

// --------------------------------------------- answers on a control socket

// Takes one connection after another, reads a line and sends what it has.
class AnsweringServer {
 public:
  AnsweringServer()
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address =
        AddressOf(curator::ControlSocket(files_.directory()));
    Demand(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof address) == 0 &&
               ::listen(listener_.get(), 8) == 0,
           "cannot listen");
    thread_ = std::thread([this] { Run(); });
  }
  ~AnsweringServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  void Say(std::string answer) {
    MutexLock lock(&mutex_);
    answer_ = std::move(answer);
  }
  const std::string& data_dir() const { return files_.directory(); }

 private:
  void Run() {
    for (;;) {
      const int peer = ::accept(listener_.get(), nullptr, nullptr);
      if (peer < 0) return;
      const Socket closes(peer);
      char byte = 0;
      while (::recv(peer, &byte, 1, 0) == 1 && byte != '\n') {
      }
      std::string answer;
      {
        MutexLock lock(&mutex_);
        answer = answer_;
      }
      SendAll(peer, answer);
    }
  }

  const OneFile files_;
  const Socket listener_;
  Mutex mutex_;
  std::string answer_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Codes that the server sends are its own; they are codes.
void DemandCode(const absl::Status& refusal) {
  const std::string code = ReasonCode(refusal);
  Demand(!code.empty() && code.size() <= 64 &&
             std::all_of(code.begin(), code.end(),
                         [](char c) {
                           return ('a' <= c && c <= 'z') ||
                                  ('0' <= c && c <= '9') || c == '-';
                         }),
         "a refusal without a code: " + refusal.ToString());
  for (const char c : refusal.message())
    Demand(static_cast<unsigned char>(c) >= ' ', "control characters");
}

template <typename Status>
void Came(const char* what, const Status& status) {
  Count(absl::StrCat(what, status.ok() ? " answered" : " refused"));
  if (!status.ok()) DemandCode(status);
}

void FuzzAnswer(FuzzInput* bytes) {
  static AnsweringServer server;
  const std::uint8_t what = bytes->Byte() % 3;
  server.Say(std::string(bytes->Rest()));
  if (what == 0) {
    const auto reloaded = curator::ReloadOnline(server.data_dir(), "me");
    Came("asked reload", reloaded.status());
    return;
  }
  if (what == 1)
    return Came("asked check",
                curator::CheckOnlineDraft(server.data_dir(), "x"));
  Came("asked declare",
       curator::DeclareOnline(server.data_dir(), People(), "me"));
}

// ---------------------------------------------------------- requests of a page

constexpr std::uint32_t kPort = 8080;

// Secrets that the browser learns by opening a page once.
struct Secrets {
  std::string host, token, cookie, key;
};

// Host and token, as they are printed.
Secrets SecretsOf(const LoopbackAccess& access) {
  const std::string address = access.Address();
  const std::size_t path = address.find("/?token=");
  return {address.substr(7, path - 7), address.substr(path + 8), "", ""};
}

std::string CookieIn(const HttpReply& reply) {
  const std::string& cookie = reply.headers.at("Set-Cookie");
  return cookie.substr(0, cookie.find(';'));
}

// Empty if the reply is another one.
std::string KeyIn(const HttpReply& reply) {
  constexpr std::string_view kBegin = "{\"key\":\"";
  return reply.status == 200 && reply.body.starts_with(kBegin)
             ? reply.body.substr(kBegin.size(), 64)
             : "";
}

// A piece of text: the right one, an empty one, or one of the input.
std::string Choice(FuzzInput* bytes, const std::string& right) {
  const std::uint8_t choice = bytes->Byte();
  if (choice < 160) return right;
  if (choice < 176) return "";
  if (choice < 192) return right.substr(0, right.size() / 2);
  if (choice < 208) return right + "x";
  return std::string(bytes->Bytes(choice % 24));
}

HttpRequest RequestOf(FuzzInput* bytes, const Secrets& secrets) {
  constexpr const char* kMethods[] = {"GET", "POST", "HEAD", "PUT", "get", ""};
  constexpr const char* kPaths[] = {"/",           "/api/x",    "/page.css",
                                    "/closed.css", "/icon.svg", "/api/",
                                    "/api",        "//api/x",   "/api/key"};
  HttpRequest request;
  request.method = kMethods[bytes->Byte() % std::size(kMethods)];
  const std::uint8_t path = bytes->Byte();
  request.path = path < 224 ? kPaths[path % std::size(kPaths)]
                            : std::string(bytes->Bytes(path % 32));
  if (bytes->Bit()) request.query["token"] = Choice(bytes, secrets.token);
  const std::uint8_t hosts = bytes->Byte();
  for (int i = hosts < 192 ? 1 : hosts % 3; i > 0; --i)
    request.hosts.push_back(Choice(bytes, secrets.host));
  if (bytes->Byte() >= 192)
    request.origin = Choice(bytes, "http://" + secrets.host);
  request.cookie = Choice(bytes, secrets.cookie);
  if (bytes->Byte() >= 192) request.cookie = "a=b; " + request.cookie + " ;c";
  request.key = Choice(bytes, secrets.key);
  request.content_type = Choice(bytes, "application/json");
  return request;
}

// loopback_access.h, read plainly: whether the request may be handled.
bool MayPass(const HttpRequest& request, const Secrets& secrets) {
  const bool call = request.path.rfind("/api/", 0) == 0;
  if (request.hosts != std::vector<std::string>{secrets.host} ||
      (!request.origin.empty() && request.origin != "http://" + secrets.host))
    return false;
  if (request.method == "POST"
          ? !call
          : request.method != "GET" && request.method != "HEAD")
    return false;
  if (request.path == "/closed.css" || request.path == "/icon.svg") return true;
  if (request.path == "/" && request.query.contains("token")) return false;
  if (request.path == "/api/key" && request.method == "POST") return false;
  std::set<std::string> cookies;
  for (const absl::string_view pair : absl::StrSplit(request.cookie, ';'))
    cookies.insert(std::string(absl::StripAsciiWhitespace(pair)));
  return !secrets.cookie.empty() && cookies.contains(secrets.cookie) &&
         (!call || (!secrets.key.empty() && request.key == secrets.key)) &&
         (request.method != "POST" ||
          request.content_type == "application/json");
}

// Refusals are fixed texts, whatever the request says.
void DemandFixed(const HttpReply& reply) {
  if (!KeyIn(reply).empty()) return;
  static auto* const bodies = new std::set<std::string>;
  bodies->insert(reply.body);
  Demand(bodies->size() <= 20, "a refusal that repeats the request");
}

void FuzzDoor(FuzzInput* bytes) {
  LoopbackAccess access(kPort, "dpnmf web");
  Secrets secrets = SecretsOf(access);
  bool used = false;  // the key, by a call
  for (int left = 4; left > 0 && !bytes->empty(); --left) {
    const HttpRequest request = RequestOf(bytes, secrets);
    const auto reply = access.Admit(request);
    Demand(!reply.has_value() == MayPass(request, secrets),
           "another verdict than a plain one");
    Count(reply.has_value() ? absl::StrCat("page ", reply->status)
                            : "page admitted");
    if (!reply.has_value()) {
      used = used || absl::StartsWith(request.path, "/api/");
      continue;
    }
    DemandFixed(*reply);
    if (reply->headers.contains("Set-Cookie")) {
      Demand(secrets.cookie.empty() && request.method == "GET" &&
                 request.path == "/" && request.hosts[0] == secrets.host &&
                 request.query.at("token") == secrets.token,
             "a cookie for somebody else");
      secrets.cookie = CookieIn(*reply);
    }
    if (const std::string key = KeyIn(*reply); !key.empty()) {
      Demand(!used && (secrets.key.empty() || secrets.key == key) &&
                 request.method == "POST" && request.path == "/api/key",
             "a key for another request");
      secrets.key = key;
      HttpRequest call = request;
      call.path = "/api/x";
      call.key = key;
      Demand(MayPass(call, secrets), "a key for somebody else");
    }
  }
}

// The same door behind the server, and bytes on its socket.
class Page {
 public:
  Page()
      : server_(HttpServer::Listen(0).value()),
        access_(server_->port(), "dpnmf web") {
    secrets_ = SecretsOf(access_);
    HttpRequest first;
    first.hosts = {secrets_.host};
    first.query["token"] = secrets_.token;
    secrets_.cookie = CookieIn(*access_.Admit(first));
    HttpRequest second;
    second.method = "POST";
    second.path = "/api/key";
    second.hosts = {secrets_.host};
    second.cookie = secrets_.cookie;
    second.content_type = "application/json";
    secrets_.key = KeyIn(*access_.Admit(second));
    server_->SetHeaders(LoopbackAccess::Headers());
    thread_ = std::thread([this] {
      const absl::Status served = server_->Serve(
          {.admit = [this](const HttpRequest& r) { return access_.Admit(r); },
           .handle =
               [this](const HttpRequest& r) {
                 MutexLock lock(&mutex_);
                 handled_.push_back(r.path);
                 const auto file = FileAt(r.path, {});
                 if (file.has_value()) return *file;
                 return RefusedReply(Refusal(absl::StatusCode::kNotFound,
                                             "web-call-unknown",
                                             "There is no such page."));
               }});
      Demand(served.ok(), "a page whose port failed");
    });
  }
  ~Page() {
    server_->Stop();
    thread_.join();
  }

  const Secrets& secrets() const { return secrets_; }

  // The replies, and the paths that were handled.
  std::string Send(const std::string& bytes, std::vector<std::string>* paths) {
    const Socket peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Demand(::connect(peer.get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof address) == 0,
           "the page is gone");
    SendAll(peer.get(), bytes);
    // The server gives no reply to a peer that will say no more.
    char first = 0;
    if (IsAnswered(bytes)) ::recv(peer.get(), &first, 1, MSG_PEEK);
    ::shutdown(peer.get(), SHUT_WR);
    std::string replies = ReceiveAll(peer.get());
    MutexLock lock(&mutex_);
    *paths = std::exchange(handled_, {});
    return replies;
  }

 private:
  // Whole, and without a body that the server would wait for.
  static bool IsAnswered(const std::string& bytes) {
    const std::string text = absl::AsciiStrToLower(bytes);
    const auto says = [&](const char* what) {
      return text.find(what) != std::string::npos;
    };
    return (bytes.starts_with("GET ") || bytes.starts_with("HEAD ")) &&
           says("\r\n\r\n") && !says("content-length") &&
           !says("transfer-encoding") && !says("expect");
  }

  const std::unique_ptr<HttpServer> server_;
  LoopbackAccess access_;
  Secrets secrets_;
  Mutex mutex_;
  std::vector<std::string> handled_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// The bytes 1 to 4 stand for the token, the cookie, the key and the host.
void FuzzPage(FuzzInput* bytes) {
  static Page page;
  const std::string text(bytes->Rest());
  const std::string sent =
      absl::StrReplaceAll(text, {{"\x01", page.secrets().token},
                                 {"\x02", page.secrets().cookie},
                                 {"\x03", page.secrets().key},
                                 {"\x04", page.secrets().host}});
  std::vector<std::string> handled;
  const std::string replies = page.Send(sent, &handled);
  if (replies.empty()) return Count("no reply");
  Demand(replies.starts_with("HTTP/1.1 "), "a reply of another kind");
  Count("http " + replies.substr(9, 3));
  Demand(replies.find("Content-Security-Policy") != std::string::npos ||
             replies.starts_with("HTTP/1.1 100"),
         "a reply without its headers");
  for (const std::string& secret :
       {page.secrets().token, page.secrets().cookie, page.secrets().key})
    Demand(replies.find(secret) == std::string::npos, "a secret in a reply");
  for (const std::string& path : handled) {
    Count("http handled");
    Demand(text.find('\x04') != std::string::npos, "no host of its own");
    if (path == "/closed.css" || path == "/icon.svg") continue;
    Demand(text.find('\x02') != std::string::npos,
           "a page for somebody without the cookie");
    Demand(
        path.rfind("/api/", 0) != 0 || text.find('\x03') != std::string::npos,
        "a call of somebody without the key");
  }
}

std::string Seed(std::initializer_list<int> bytes) {
  std::string seed;
  for (const int byte : bytes) seed.push_back(static_cast<char>(byte));
  return seed;
}

json DeclareRequest(const std::string& population) {
  return {{"request", "declare"},
          {"population", population},
          {"adjacency", "replace_one"},
          {"conversion", "gaussian"},
          {"epsilon", 0.5},
          {"delta", 1e-7},
          {"by", "me"}};
}

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  // Requests on the control socket.
  const auto request = [&](const json& object) {
    seeds.push_back(Seed({0}) + object.dump() + "\n");
  };
  for (const char* draft :
       {"a", "b", ".c", "..", "../a", "", ".", "a\n", "a\xc3\xa9"})
    request({{"request", "check"}, {"draft", draft}});
  request({{"request", "check"}, {"draft", std::string("a\0b", 3)}});
  for (const char* name : {"people", "others", "x.others", "../x", "", "B"})
    request(DeclareRequest(name));
  for (const auto& [field, value] :
       std::initializer_list<std::pair<const char*, json>>{
           {"epsilon", 0},
           {"epsilon", -1},
           {"epsilon", 1e300},
           {"epsilon", "1"},
           {"delta", 1},
           {"delta", 1e-320},
           {"adjacency", "one_rating"},
           {"conversion", ""},
           {"by", 7},
           {"by", "line\nbreak"}}) {
    json declare = DeclareRequest("new");
    declare[field] = value;
    request(declare);
  }
  request({{"request", "reload"}, {"by", "me"}});
  request({{"request", "reload"}});
  request({{"request", "nothing"}});
  request({{"request", 3}});
  request(json::array({1}));
  seeds.push_back(Seed({0}) + "{\"request\": \"reload\"");
  seeds.push_back(Seed({0}) + std::string(20000, '[') + "\n");
  seeds.push_back(Seed({0}) + "{\"request\":\"reload\",\"by\":\"me\"}\nmore\n");
  // Answers.
  for (const int what : {0, 1, 2}) {
    for (const char* answer :
         {R"({"ok":{"added":["b"],"served":["a","b"]}})", R"({"ok":{}})",
          R"({"ok":7})", R"({"ok":[]})", R"({"ok":{"added":7,"served":[7]}})",
          R"({"error":{"code":"storage-failed","message":"No.","status":14}})",
          R"({"error":{"code":"","message":"No.","status":14}})",
          R"({"error":{"code":"A\nB","message":"a\nb","status":3}})",
          R"({"error":{"code":"x","message":"No.","status":0}})",
          R"({"error":{"code":"x","message":"No.","status":99}})",
          R"({"error":7})", "[]", "7", "", "{"})
      seeds.push_back(Seed({1, what}) + answer + "\n");
    seeds.push_back(Seed({1, what}) + "{\"ok\":{}}");
    const json long_code = {
        {"code", std::string(65, 'x')}, {"message", "No."}, {"status", 14}};
    seeds.push_back(Seed({1, what}) + json{{"error", long_code}}.dump() + "\n");
  }
  // The door. First the token and the key; then each kind of request with
  // everything right, without the cookie, and without the key.
  const std::string first = Seed({0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::string second = Seed({1, 8, 0, 0, 0, 0, 0, 0, 0, 0});
  for (int method = 0; method < 6; ++method) {
    for (int path = 0; path < 9; ++path) {
      for (const auto& [cookie, key, type] :
           {std::array{0, 0, 0}, std::array{160, 0, 0}, std::array{0, 192, 0},
            std::array{0, 0, 176}, std::array{176, 0, 0}})
        seeds.push_back(Seed({2}) + first + second +
                        Seed({method, path, 0, 0, 0, 0, cookie, 0, key, type}));
    }
  }
  seeds.push_back(Seed({2}) + first + first);
  seeds.push_back(Seed({2}) + second + first + second + second);
  seeds.push_back(Seed({2}) + Seed({0, 0, 1, 192, 0, 0, 0, 0, 0, 0, 0}) +
                  first);
  for (const int host : {160, 176, 192, 220})
    seeds.push_back(Seed({2}) + first + second +
                    Seed({0, 0, 0, 0, host, 'x', 'y', 0, 0, 0, 0, 0}));
  seeds.push_back(Seed({2}) + first +
                  Seed({0, 0, 0, 194, 0, 0, 0, 0, 0, 0, 0}));
  seeds.push_back(Seed({2}) + first +
                  Seed({0, 0, 0, 0, 0, 192, 192, 0, 192, 0, 0}));
  // Bytes on the page's socket.
  const std::string host = "Host: \x04\r\n";
  const std::string cookie = "Cookie: \x02\r\n";
  const std::string key = "X-Dpnmf-Key: \x03\r\n";
  const std::string type = "Content-Type: application/json\r\n";
  for (const std::string& text :
       {"GET / HTTP/1.1\r\n" + host + "\r\n",
        "GET /page.css HTTP/1.1\r\n" + host + cookie + "\r\n",
        "GET /api/x HTTP/1.1\r\n" + host + cookie + key + "\r\n",
        "GET /api/x HTTP/1.1\r\n" + host + cookie + "\r\n",
        "GET /%61pi/x HTTP/1.1\r\n" + host + cookie + "\r\n",
        "GET //api/x HTTP/1.1\r\n" + host + cookie + "\r\n",
        "GET /?token=\x01 HTTP/1.1\r\n" + host + "\r\n",
        "GET /icon.svg HTTP/1.1\r\n" + host + "\r\n",
        "GET / HTTP/1.1\r\nHost: a.example\r\n" + cookie + "\r\n",
        "GET / HTTP/1.1\r\n" + host + host + cookie + "\r\n",
        "GET http://\x04/ HTTP/1.1\r\n" + cookie + "\r\n",
        "POST /api/x HTTP/1.1\r\n" + host + cookie + key + type +
            "Content-Length: 2\r\n\r\n{}",
        "POST /api/x HTTP/1.1\r\n" + host + cookie + key + type +
            "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "POST /api/x HTTP/1.1\r\n" + host + cookie + key + type +
            "Content-Length: 99999999\r\n\r\n{}",
        "POST /api/x HTTP/1.1\r\n" + host + cookie + key +
            "Content-Length: 2\r\n\r\n{}",
        "POST / HTTP/1.1\r\n" + host + cookie + key + "\r\n",
        "HEAD /page.css HTTP/1.1\r\n" + host + cookie + "\r\n",
        "GET /page.css HTTP/1.1\r\n" + host + cookie +
            "Range: bytes=0-3,5-\r\n\r\n",
        "GET /page.css HTTP/1.1\r\n" + host + cookie +
            "\r\nGET / HTTP/1.1\r\n" + host + "\r\n",
        std::string("GET / HTTP/1.1\r\n"),
        std::string("nonsense\r\n\r\n")})
    seeds.push_back(Seed({3}) + text);
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  return {"no line",
          "control-request-malformed",
          "check answered",
          "dataset-exists",
          "declare answered",
          "reload answered",
          "record-transform answered",
          "population-differs",
          "population-reserved",
          "dataset-unknown",
          "asked reload answered",
          "asked reload refused",
          "asked check answered",
          "asked check refused",
          "asked declare answered",
          "asked declare refused",
          "page admitted",
          "page 303",
          "page 401",
          "page 403",
          "page 405",
          "page 415",
          "page 421",
          "http handled",
          "http 200",
          "http 401",
          "http 403",
          "http 404",
          "http 421"};
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  SetLogLevel("off");
  constexpr void (*kKinds[])(FuzzInput*) = {FuzzRequest, FuzzAnswer, FuzzDoor,
                                            FuzzPage};
  FuzzInput bytes(data, size);
  kKinds[bytes.Byte() % std::size(kKinds)](&bytes);
}

[[maybe_unused]] const bool kRegistered =
    Register({"local_requests", 2'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::local_requests
