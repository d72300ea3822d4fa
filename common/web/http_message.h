// Requests and replies of the web servers.
#ifndef DPNMF_COMMON_WEB_HTTP_MESSAGE_H_
#define DPNMF_COMMON_WEB_HTTP_MESSAGE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dpnmf {

struct HttpRequest {
  std::string method = "GET";
  std::string path = "/";                    // decoded, without the query
  std::map<std::string, std::string> query;  // the first of each name
  std::vector<std::string> hosts;            // every Host header
  // Headers; empty if absent. The key is that of loopback_access.h.
  std::string origin, cookie, key, content_type;
  std::string body;  // empty while the request is admitted
};

// Takes the events of one open reply. Thread-safe.
class EventWriter {
 public:
  virtual ~EventWriter() = default;
  // Queues one event: a line of JSON. False: the reader has gone.
  virtual bool Send(const std::string& json) = 0;
  // `action` runs once when the reader goes or the server stops, on another
  // thread; at once if that has happened. {} takes it back: it does not run
  // after that returns.
  virtual void OnGone(std::function<void()> action) = 0;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::map<std::string, std::string> headers = {};
  // If set, the reply is a stream of server-sent events and has no body. It
  // runs on a thread of its own, and the stream ends when it returns. It must
  // return soon after the reader has gone. An exception ends the stream with
  // the event {"error": ...}.
  std::function<void(EventWriter*)> events = {};
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WEB_HTTP_MESSAGE_H_
