#include "common/server/peer_authorizer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/tls/certificate.h"
#include "grpcpp/security/auth_metadata_processor.h"

namespace dpnmf {
namespace {

constexpr std::string_view kOwnServices = "/dpnmf.";

class PeerAuthorizer final : public grpc::AuthMetadataProcessor {
 public:
  PeerAuthorizer(TlsFiles files, Admit admit)
      : files_(std::move(files)), admit_(std::move(admit)) {}

  grpc::Status Process(const InputMetadata& metadata,
                       grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    const absl::Status valid = CheckPeerStillValid(*context, files_);
    if (!valid.ok()) {
      return {grpc::StatusCode::UNAUTHENTICATED, std::string(valid.message())};
    }
    const auto path = metadata.find(":path");
    if (path != metadata.end() &&
        std::string_view(path->second.data(), path->second.size())
            .starts_with(kOwnServices)) {
      return grpc::Status::OK;
    }
    if (admit_(IdentitiesOf(*context)).ok()) return grpc::Status::OK;
    return {grpc::StatusCode::PERMISSION_DENIED,
            "The certificate's identity is not on this server's allow-list."};
  }

 private:
  const TlsFiles files_;
  const Admit admit_;
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> MakePeerAuthorizer(TlsFiles files,
                                                                Admit admit) {
  return std::make_shared<PeerAuthorizer>(std::move(files), std::move(admit));
}

Admit OrOneself(const TlsFiles& files, Admit admit) {
  return [files, admit = std::move(admit)](
             const std::vector<std::string>& identities) {
    const auto own = ReadCertificates(files.certificate_file);
    if (own.ok()) {
      const std::vector<std::string> names = NamesOf(*own->front()).identities;
      for (const std::string& identity : identities) {
        if (std::find(names.begin(), names.end(), identity) != names.end())
          return absl::OkStatus();
      }
    }
    return admit(identities);
  };
}

}  // namespace dpnmf
