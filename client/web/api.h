// Replies to the page, as JSON: calls of the analyst's service with the
// readings that the tables of `dpnmf` show.
#ifndef DPNMF_CLIENT_WEB_API_H_
#define DPNMF_CLIENT_WEB_API_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "client/files/coherence.h"
#include "client/session/client.h"
#include "client/web/live.h"
#include "common/threads/mutex.h"
#include "common/web/http_server.h"

namespace dpnmf::cli::web {

struct ApiFacts {
  std::string version;
  std::string server;  // HOST:PORT of the analyst's server
  // Pixels in a row of a part's picture; 0: a part is a picture if its entries
  // fill a square.
  std::uint32_t image_width = 0;
  // "row" or "column": along what the pixels of a picture follow one another.
  // The page changes it for one data set, until the program ends.
  std::string image_order = "row";
  // Public text by which the chooser of the rank computes coherence.
  CoherenceFlags coherence = {};
};

// Thread-safe.
class Api {
 public:
  Api(std::shared_ptr<grpc::Channel> channel, ApiFacts facts);

  // The reply to a request that was admitted: a file of the page, or the
  // result of a call. Refusals are those of RefusedReply.
  HttpReply Handle(const HttpRequest& request) const;

 private:
  absl::StatusOr<HttpReply> Call(const HttpRequest& request) const;
  HttpReply Facts() const;
  absl::StatusOr<HttpReply> SetImageOrder(const std::string& body) const;
  absl::StatusOr<HttpReply> Plan(const std::string& body) const;
  absl::StatusOr<HttpReply> Forecast(const std::string& body) const;
  absl::StatusOr<HttpReply> Start(const std::string& body) const;
  absl::StatusOr<HttpReply> Model(const std::string& run_id) const;
  absl::StatusOr<cli::Model> ModelOf(const std::string& run_id) const;
  absl::StatusOr<HttpReply> ModelCsv(const std::string& run_id) const;
  absl::StatusOr<HttpReply> Compare(const std::string& first,
                                    const std::string& second) const;
  absl::StatusOr<HttpReply> Receipts(const std::string& dataset,
                                     bool as_lines) const;
  absl::StatusOr<HttpReply> Refit(const std::string& body) const;
  HttpReply Watch(const std::string& run_id, const std::string& after) const;
  absl::StatusOr<HttpReply> Choose(const std::string& run_id) const;
  HttpReply Stream(void (LiveCalls::*call)(const std::string&, EventWriter*)
                       const,
                   const std::string& run_id) const;

  const AnalystClient client_;
  const LiveCalls live_;
  const ApiFacts facts_;
  mutable Mutex mutex_;
  // By data set.
  mutable std::map<std::string, std::string> image_orders_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpnmf::cli::web

#endif  // DPNMF_CLIENT_WEB_API_H_
