#include "common/web/http_server.h"

#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/descriptor.h"
#include "common/base/error.h"
#include "common/threads/mutex.h"
#include "common/web/reply.h"

namespace dpnmf {
namespace {

struct LoopbackAddress {
  const char* text;  // as httplib takes it
  const char* name;  // as people write it
  int family;
};
constexpr std::array<LoopbackAddress, 2> kLoopback = {
    LoopbackAddress{"127.0.0.1", "127.0.0.1", AF_INET},
    LoopbackAddress{"::1", "[::1]", AF_INET6}};
// Free ports of 127.0.0.1 that are tried until one is free on [::1], too.
constexpr int kTries = 64;
// Each open stream and each idle connection holds one.
constexpr std::size_t kThreads = 32;
constexpr std::size_t kLargestBody = 64 * 1024;
constexpr std::time_t kIdleSeconds = 2;
// How soon a reader that has gone is noticed.
constexpr std::chrono::milliseconds kLook(500);
// Limit of unread events: a reader that does not keep up counts as gone.
constexpr std::size_t kMostEvents = 10'000;

HttpRequest RequestOf(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.params)
    request.query.emplace(name, value);
  for (std::size_t i = 0; i < from.get_header_value_count("Host"); ++i)
    request.hosts.push_back(from.get_header_value("Host", i));
  request.origin = from.get_header_value("Origin");
  request.cookie = from.get_header_value("Cookie");
  request.key = from.get_header_value("X-Dpnmf-Key");
  request.content_type = from.get_header_value("Content-Type");
  request.body = from.body;
  return request;
}

// Memory that the system does not give, and what a library throws. There is no
// log in a page's program: its user is told.
absl::Status WithoutExceptions(const std::function<void()>& f) {
  try {
    f();
    return absl::OkStatus();
  } catch (const std::exception& exception) {
    return Refusal(absl::StatusCode::kInternal, "internal-error",
                   absl::StrCat("The program failed: ", exception.what(), "."));
  }
}

// Events from the thread that makes them to the one that sends them.
class EventStream final : public EventWriter {
 public:
  bool Send(const std::string& json) override {
    MutexLock lock(&mutex_);
    if (gone_ || waiting_.size() >= kMostEvents) return false;
    waiting_.push_back(absl::StrCat("data: ", json, "\n\n"));
    changed_.notify_all();
    return true;
  }

  void OnGone(std::function<void()> action) override {
    MutexLock lock(&mutex_);
    action_ = std::move(action);
    if (gone_ && action_) std::exchange(action_, nullptr)();
  }

  void Run(const std::function<void(EventWriter*)>& events) {
    maker_ = std::thread([this, events] {
      const absl::Status made = WithoutExceptions([&] { events(this); });
      // The reader is told, if there is memory for it.
      if (!made.ok())
        WithoutExceptions([&] { Send(ErrorJson(made)); }).IgnoreError();
      MutexLock lock(&mutex_);
      ended_ = true;
      changed_.notify_all();
    });
  }

  // Sends what waits, or looks whether the reader is there. False: over.
  bool Step(httplib::DataSink* sink) {
    std::deque<std::string> batch;
    bool ended = false;
    {
      const auto until = std::chrono::steady_clock::now() + kLook;
      MutexLock lock(&mutex_);
      while (waiting_.empty() && !ended_ && !gone_) {
        if (changed_.wait_until(mutex_, until) == std::cv_status::timeout)
          break;
      }
      batch.swap(waiting_);
      ended = ended_;
      if (gone_) return false;
    }
    if (!sink->is_writable()) return false;
    for (const std::string& event : batch)
      if (!sink->write(event.data(), event.size())) return false;
    if (ended) sink->done();
    return true;
  }

  // The reader has gone, or the server stops.
  void Leave() {
    MutexLock lock(&mutex_);
    gone_ = true;
    changed_.notify_all();
    if (action_) std::exchange(action_, nullptr)();
  }

  void Join() {
    Leave();
    if (maker_.joinable()) maker_.join();
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> action_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread maker_;
};

// False if the machine has no [::1]: it knows no IPv6, or has it turned off. An
// error of another kind does not show that.
bool HasIpv6Loopback() {
  const Descriptor probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.ok()) return errno != EAFNOSUPPORT;
  sockaddr_in6 any_port{};
  any_port.sin6_family = AF_INET6;
  any_port.sin6_addr = in6addr_loopback;
  return ::bind(probe.get(), reinterpret_cast<const sockaddr*>(&any_port),
                sizeof any_port) == 0 ||
         errno != EADDRNOTAVAIL;
}

// A socket that listens, with a server of its own: httplib has one for each.
class Listener {
 public:
  Listener() = default;
  ~Listener() {
    if (!served_ && socket_ >= 0) ::close(socket_);
  }

  // The port, or nothing if the address cannot be had there. 0 takes a free
  // one.
  std::optional<std::uint32_t> Bind(const LoopbackAddress& address,
                                    std::uint32_t port) {
    // Not SO_REUSEPORT, httplib's default: another program of this user could
    // then listen on the same port.
    server.set_socket_options([this](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      socket_ = socket;
    });
    server.set_address_family(address.family);
    const int wanted = static_cast<int>(port);
    const int bound = wanted == 0 ? server.bind_to_any_port(address.text)
                      : server.bind_to_port(address.text, wanted) ? wanted
                                                                  : -1;
    if (bound > 0) return static_cast<std::uint32_t>(bound);
    socket_ = -1;  // httplib has closed it
    return std::nullopt;
  }

  void Serve() {
    served_ = true;
    server.listen_after_bind();
  }

  httplib::Server server;
  bool serving = false;  // LoopbackServer::mutex_ guards it

 private:
  int socket_ = -1;  // httplib closes it after it has served, and not before
  bool served_ = false;
};

class LoopbackServer final : public HttpServer {
 public:
  absl::Status Bind(std::uint32_t port) {
    const LoopbackAddress* taken = nullptr;
    for (int tries = port == 0 ? kTries : 1; tries > 0; --tries) {
      taken = TryPort(port);
      if (taken == nullptr) return absl::OkStatus();
    }
    return Refusal(
        absl::StatusCode::kUnavailable, "port-unavailable",
        port == 0
            ? std::string(
                  "No port was found that is free on 127.0.0.1 and on [::1]; "
                  "give one that is with --port.")
            : absl::StrCat("Port ", port, " of ", taken->name,
                           " cannot be used; give another --port, or leave it "
                           "out to take a free one."));
  }

  std::uint32_t port() const override { return port_; }

  void SetHeaders(std::map<std::string, std::string> headers) override {
    for (const auto& listener : listeners_)
      listener->server.set_default_headers({headers.begin(), headers.end()});
  }

  absl::Status Serve(const Handlers& handlers) override {
    // All end with the first that ends: an address that is no longer held must
    // not leave the page open at the other.
    std::vector<std::thread> threads;
    std::atomic<bool> failed = false;
    for (const auto& listener : listeners_) {
      Prepare(handlers, listener.get());
      threads.emplace_back([this, &listener, &failed] {
        listener->Serve();
        if (!IsStopping()) failed = true;
        Stop();
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (!failed) return absl::OkStatus();
    return Refusal(absl::StatusCode::kUnavailable, "web-ended",
                   "The page has ended: its port failed. Start it again.");
  }

  int Stop() override {
    std::vector<std::shared_ptr<EventStream>> open;
    {
      MutexLock lock(&mutex_);
      stopping_ = true;
      for (const auto& listener : listeners_) StopServing(listener.get());
      for (const auto& stream : streams_)
        if (auto live = stream.lock()) open.push_back(std::move(live));
    }
    for (const auto& stream : open) stream->Leave();
    return handled_;
  }

 private:
  // Listens at the port of each address that the machine has. The address that
  // is taken, or null.
  const LoopbackAddress* TryPort(std::uint32_t port) {
    listeners_.clear();
    port_ = port;
    for (const LoopbackAddress& address : kLoopback) {
      if (address.family == AF_INET6 && !HasIpv6Loopback()) continue;
      listeners_.push_back(std::make_unique<Listener>());
      const auto bound = listeners_.back()->Bind(address, port_);
      if (!bound.has_value()) return &address;
      port_ = *bound;
    }
    return nullptr;
  }

  bool IsStopping() {
    MutexLock lock(&mutex_);
    return stopping_;
  }

  // Once for each time that it serves: httplib's stop() may not come twice.
  void StopServing(Listener* listener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::exchange(listener->serving, false)) listener->server.stop();
  }

  // `handlers` must outlive Serve.
  void Prepare(const Handlers& handlers, Listener* listener) {
    httplib::Server& server = listener->server;
    server.set_tcp_nodelay(true);
    server.set_payload_max_length(kLargestBody);
    server.set_keep_alive_timeout(kIdleSeconds);
    server.set_keep_alive_max_count(1000);
    server.set_pre_routing_handler([this, &handlers](
                                       const httplib::Request& request,
                                       httplib::Response& response) {
      const std::optional<HttpReply> reply = handlers.admit(RequestOf(request));
      if (!reply.has_value())
        return httplib::Server::HandlerResponse::Unhandled;
      // Its body, if any, was not read.
      response.set_header("Connection", "close");
      Fill(*reply, &response);
      return httplib::Server::HandlerResponse::Handled;
    });
    const auto handle = [this, &handlers](const httplib::Request& request,
                                          httplib::Response& response) {
      ++handled_;
      HttpReply reply;
      const absl::Status made = WithoutExceptions(
          [&] { reply = handlers.handle(RequestOf(request)); });
      --handled_;
      Fill(made.ok() ? reply : RefusedReply(made), &response);
    };
    server.Get(".*", handle).Post(".*", handle);
    server.new_task_queue = [this, listener]() -> httplib::TaskQueue* {
      MutexLock lock(&mutex_);
      listener->serving = true;
      if (stopping_) StopServing(listener);
      return new httplib::ThreadPool(kThreads);
    };
  }

  void Fill(const HttpReply& reply, httplib::Response* response) {
    response->status = reply.status;
    for (const auto& [name, value] : reply.headers)
      response->set_header(name, value);
    if (!reply.events)
      return response->set_content(reply.body, reply.content_type);
    const auto stream = std::make_shared<EventStream>();
    {
      MutexLock lock(&mutex_);
      std::erase_if(streams_, [](const auto& old) { return old.expired(); });
      streams_.push_back(stream);
      if (stopping_) stream->Leave();
    }
    stream->Run(reply.events);
    response->set_chunked_content_provider(
        "text/event-stream",
        [stream](std::size_t, httplib::DataSink& sink) {
          return stream->Step(&sink);
        },
        [stream](bool) { stream->Join(); });
  }

  std::vector<std::unique_ptr<Listener>> listeners_;  // not changed by Serve
  std::uint32_t port_ = 0;
  std::atomic<int> handled_ = 0;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::weak_ptr<EventStream>> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(
    std::uint32_t port) {
  auto server = std::make_unique<LoopbackServer>();
  DPNMF_RETURN_IF_ERROR(server->Bind(port));
  return server;
}

}  // namespace dpnmf
