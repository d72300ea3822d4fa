#include "common/web/http_server.h"

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/mutex.h"
#include "common/web/reply.h"

namespace dpnmf {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
// Each open stream and each idle connection holds one.
constexpr std::size_t kThreads = 32;
constexpr std::size_t kLargestBody = 64 * 1024;
constexpr std::time_t kIdleSeconds = 2;
// How soon a reader that has gone is noticed.
constexpr std::chrono::milliseconds kLook(500);
// What nobody has read is bounded: a reader that does not keep up has gone.
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

class LoopbackServer final : public HttpServer {
 public:
  absl::Status Bind(std::uint32_t port) {
    // Not SO_REUSEPORT, httplib's default: another program of this user could
    // then listen on the same port.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    const int wanted = static_cast<int>(port);
    const int bound = wanted == 0 ? server_.bind_to_any_port(kLoopback)
                      : server_.bind_to_port(kLoopback, wanted) ? wanted
                                                                : -1;
    if (bound <= 0) {
      return Refusal(absl::StatusCode::kUnavailable, "port-unavailable",
                     absl::StrCat("Port ", port, " of ", kLoopback,
                                  " cannot be used; give another --port, or "
                                  "leave it out to take a free one."));
    }
    port_ = static_cast<std::uint32_t>(bound);
    return absl::OkStatus();
  }

  std::uint32_t port() const override { return port_; }

  void SetHeaders(std::map<std::string, std::string> headers) override {
    server_.set_default_headers({headers.begin(), headers.end()});
  }

  void Serve(const Handlers& handlers) override {
    server_.set_tcp_nodelay(true);
    server_.set_payload_max_length(kLargestBody);
    server_.set_keep_alive_timeout(kIdleSeconds);
    server_.set_keep_alive_max_count(1000);
    server_.set_pre_routing_handler([&](const httplib::Request& request,
                                        httplib::Response& response) {
      const std::optional<HttpReply> reply = handlers.admit(RequestOf(request));
      if (!reply.has_value())
        return httplib::Server::HandlerResponse::Unhandled;
      // Its body, if any, was not read.
      response.set_header("Connection", "close");
      Fill(*reply, &response);
      return httplib::Server::HandlerResponse::Handled;
    });
    const auto handle = [&](const httplib::Request& request,
                            httplib::Response& response) {
      ++handled_;
      HttpReply reply;
      const absl::Status made = WithoutExceptions(
          [&] { reply = handlers.handle(RequestOf(request)); });
      --handled_;
      Fill(made.ok() ? reply : RefusedReply(made), &response);
    };
    server_.Get(".*", handle).Post(".*", handle);
    server_.new_task_queue = [this]() -> httplib::TaskQueue* {
      MutexLock lock(&mutex_);
      serving_ = true;
      if (stopping_) server_.stop();
      return new httplib::ThreadPool(kThreads);
    };
    server_.listen_after_bind();
  }

  int Stop() override {
    std::vector<std::shared_ptr<EventStream>> open;
    {
      MutexLock lock(&mutex_);
      stopping_ = true;
      if (serving_) server_.stop();
      for (const auto& stream : streams_)
        if (auto live = stream.lock()) open.push_back(std::move(live));
    }
    for (const auto& stream : open) stream->Leave();
    return handled_;
  }

 private:
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

  httplib::Server server_;
  std::uint32_t port_ = 0;
  std::atomic<int> handled_ = 0;
  Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
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
