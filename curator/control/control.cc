#include "curator/control/control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/descriptor.h"
#include "common/base/error.h"
#include "common/base/socket_io.h"
#include "common/base/whole_number.h"
#include "common/files/disk_error.h"
#include "common/log/log.h"
#include "common/log/without_exceptions.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestRequest = 64 << 10;
constexpr std::size_t kLongestAnswer = 64 << 20;
constexpr std::chrono::seconds kOnePeer(5);  // to send, and to take, a line

// A socket's address has 108 bytes: the directory is named by a descriptor.
struct ControlAddress {
  Descriptor directory;
  sockaddr_un address;
};

ControlAddress AddressIn(const std::string& data_dir) {
  ControlAddress where{
      Descriptor(::open(data_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      {}};
  where.address.sun_family = AF_UNIX;
  const std::string path =
      absl::StrCat("/proc/self/fd/", where.directory.get(), "/control.sock");
  std::memcpy(where.address.sun_path, path.c_str(), path.size() + 1);
  return where;
}

Descriptor NewSocket(int flags = 0) {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

// A line without its end; false if none comes in time or it is too long.
bool ReadLine(int descriptor, int stop, SteadyTime until, std::size_t longest,
              std::string* line) {
  char buffer[4096];
  for (;;) {
    if (AwaitEvents(descriptor, POLLIN, until, stop) != Transfer::kDone)
      return false;
    const ssize_t count =
        ::recv(descriptor, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return false;
    const std::size_t held = line->size();
    line->append(buffer, static_cast<std::size_t>(count));
    const std::size_t end = line->find('\n', held);
    if (end != std::string::npos) {
      line->resize(end);
      return true;
    }
    if (line->size() > longest) return false;
  }
}

bool SendLine(int descriptor, int stop, SteadyTime until,
              std::string_view line) {
  return SendAll(descriptor, std::as_bytes(std::span(line)), until, stop) ==
         Transfer::kDone;
}

std::string LineOf(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json AnswerOf(const absl::StatusOr<json>& result) {
  if (result.ok()) return {{"ok", *result}};
  std::string code = ReasonCode(result.status());
  if (code.empty()) code = "internal-error";
  return {{"error",
           {{"code", code},
            {"message", std::string(result.status().message())},
            {"status", result.status().raw_code()}}}};
}

absl::Status RequestMalformed(std::string_view problem) {
  return Refusal(absl::StatusCode::kInvalidArgument,
                 "control-request-malformed",
                 absl::StrCat(std::string(problem),
                              ": send one line of JSON, an object "
                              "with a `request` that the server "
                              "knows."));
}

absl::StatusOr<json> Call(const ControlHandlers& handlers,
                          const std::string& line) {
  try {
    const json request = json::parse(line, nullptr, false);
    if (!request.is_object() || !request.contains("request") ||
        !request["request"].is_string())
      return RequestMalformed("The request is not readable");
    const auto handler = handlers.find(request["request"].get<std::string>());
    if (handler == handlers.end())
      return RequestMalformed("The server does not know the request");
    return handler->second(request);
  } catch (const json::exception&) {
    return RequestMalformed(
        "A field of the request is missing or of another "
        "type");
  } catch (const std::exception& error) {
    return Refusal(absl::StatusCode::kInternal, "internal-error",
                   absl::StrCat("The request failed: ", error.what(), "."));
  } catch (...) {
    return Refusal(absl::StatusCode::kInternal, "internal-error",
                   "The request failed for an unknown reason.");
  }
}

// The mode of the socket says the same; this holds whatever changes the mode.
bool IsOperator(int descriptor) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

// Mode 0600 before anybody can connect: no connection is taken before listen.
absl::StatusOr<Descriptor> Listen(const std::string& data_dir) {
  const std::string path = ControlSocket(data_dir);
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      return Refusal(
          absl::StatusCode::kUnavailable, "storage-failed",
          absl::StrCat("The file ", path, " is not a socket: move it away."));
    }
    ::unlink(path.c_str());
  }
  const ControlAddress where = AddressIn(data_dir);
  Descriptor listener = NewSocket(SOCK_NONBLOCK);
  if (!where.directory.ok() || !listener.ok() ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&where.address),
             sizeof(where.address)) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(listener.get(), 8) != 0)
    return StorageFailed("create", path);
  return listener;
}

absl::Status NotRunning(const std::string& data_dir) {
  return Refusal(absl::StatusCode::kFailedPrecondition, "server-not-running",
                 absl::StrCat("No server of this user serves ", data_dir,
                              ": start dpnmf-curator serve."));
}

absl::Status ControlFailed() {
  return Refusal(absl::StatusCode::kUnavailable, "control-failed",
                 "The server did not answer on its control socket: see its "
                 "log, and try again.");
}

}  // namespace

std::string ControlSocket(const std::string& data_dir) {
  return data_dir + "/control.sock";
}

struct ControlServer::State {
  State(std::string directory, ControlHandlers table, Descriptor socket)
      : data_dir(std::move(directory)),
        handlers(std::move(table)),
        listener(std::move(socket)),
        stop(::eventfd(0, EFD_CLOEXEC)) {}

  void Run() const {
    while (!Stopping(0)) {
      if (AwaitEvents(listener.get(), POLLIN,
                      Clock::now() + std::chrono::hours(1),
                      stop.get()) != Transfer::kDone)
        continue;
      const Descriptor peer(
          ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      // Without memory for it, a request gets no answer; the server goes on.
      if (peer.ok() && IsOperator(peer.get())) {
        WithoutExceptions([&] {
          Serve(peer.get());
          return absl::OkStatus();
        }).IgnoreError();
      }
      // Such as no descriptors left: the connection still waits.
      if (!peer.ok() && Stopping(200)) return;
    }
  }

  bool Stopping(int milliseconds) const {
    pollfd one{stop.get(), POLLIN, 0};
    return ::poll(&one, 1, milliseconds) > 0;
  }

  void Serve(int peer) const {
    std::string line;
    if (!ReadLine(peer, stop.get(), Clock::now() + kOnePeer, kLongestRequest,
                  &line))
      return;
    const std::string answer = LineOf(AnswerOf(Call(handlers, line)));
    if (!SendLine(peer, stop.get(), Clock::now() + kOnePeer, answer))
      LogInfo("an answer on the control socket was not taken");
  }

  const std::string data_dir;
  const ControlHandlers handlers;
  const Descriptor listener;
  const Descriptor stop;
  std::thread thread;
};

ControlServer::ControlServer(std::unique_ptr<State> state)
    : state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::Start(
    const std::string& data_dir, ControlHandlers handlers) {
  DPNMF_ASSIGN_OR_RETURN(Descriptor listener, Listen(data_dir));
  auto state = std::make_unique<State>(data_dir, std::move(handlers),
                                       std::move(listener));
  if (!state->stop.ok())
    return StorageFailed("create", ControlSocket(data_dir));
  State* const shared = state.get();
  state->thread = std::thread([shared] { shared->Run(); });
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

ControlServer::~ControlServer() {
  ::eventfd_write(state_->stop.get(), 1);
  state_->thread.join();
  ::unlink(ControlSocket(state_->data_dir).c_str());
}

absl::StatusOr<json> AskControl(const std::string& data_dir,
                                const json& request,
                                std::chrono::seconds timeout) {
  const ControlAddress where = AddressIn(data_dir);
  const Descriptor peer = NewSocket();
  if (!where.directory.ok() || !peer.ok() ||
      ::connect(peer.get(), reinterpret_cast<const sockaddr*>(&where.address),
                sizeof(where.address)) != 0 ||
      !IsOperator(peer.get()))
    return NotRunning(data_dir);
  const auto until = Clock::now() + timeout;
  std::string line;
  if (!SendLine(peer.get(), kNoStop, until, LineOf(request)) ||
      !ReadLine(peer.get(), kNoStop, until, kLongestAnswer, &line))
    return ControlFailed();
  const json answer = json::parse(line, nullptr, false);
  try {
    if (answer.contains("ok")) return answer["ok"];
    const json& error = answer.at("error");
    const std::uint64_t kind = WholeNumberOf(error.at("status"));
    const std::string code = error.at("code").get<std::string>();
    constexpr const char* kOfCodes = "abcdefghijklmnopqrstuvwxyz0123456789-";
    if (kind < 1 || kind > 16 || code.empty() || code.size() > 64 ||
        code.find_first_not_of(kOfCodes) != std::string::npos)
      return ControlFailed();
    return Refusal(static_cast<absl::StatusCode>(kind), code,
                   error.at("message").get<std::string>());
  } catch (const json::exception&) {
    return ControlFailed();
  }
}

}  // namespace dpnmf::curator
