// PEM files that an operator gives, and what a peer shows in a handshake:
// certificates, CAs, revocation lists and keys, as text or as the DER in it.
// Refused in one sentence or read; what goes to a log is short and printable,
// and a key is written back the same.
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <memory>
#include <span>

#include "common/base/error.h"
#include "common/crypto/ed25519.h"
#include "common/tls/certificate.h"
#include "common/tls/peer_check.h"
#include "common/wire/receipt.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::certificate_file {
namespace {

constexpr char kBegin[] = "20260101000000Z", kEnd[] = "21260101000000Z";
constexpr std::int64_t kNow = 1'800'000'000;  // 2027

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

// The DER of what OpenSSL's i2d function writes.
template <typename T>
std::string Der(int (*write)(const T*, unsigned char**), const T* object) {
  std::string der(static_cast<std::size_t>(write(object, nullptr)), '\0');
  auto* end = reinterpret_cast<unsigned char*>(der.data());
  write(object, &end);
  return der;
}

std::string Pem(const char* label, std::string_view der) {
  const Bio bio(BIO_new(BIO_s_mem()), &BIO_free_all);
  PEM_write_bio(bio.get(), label, "",
                reinterpret_cast<const unsigned char*>(der.data()),
                static_cast<long>(der.size()));
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

// Ed25519, so that all that it signs is the same in every process.
Key KeyOf(char seed) {
  const std::string bytes(32, seed);
  return {
      EVP_PKEY_new_raw_private_key(
          EVP_PKEY_ED25519, nullptr,
          reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()),
      &EVP_PKEY_free};
}

void SetName(X509_NAME* name, const char* text) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(text), -1,
                             -1, 0);
}

struct Extension {
  int kind;
  const char* value;
};

// A certificate of `name`'s key by the CA of seed 'c', as DER.
std::string Certificate(const char* name, char seed,
                        std::initializer_list<Extension> extensions) {
  const X509Pointer certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), seed);
  ASN1_TIME_set_string(X509_getm_notBefore(certificate.get()), kBegin);
  ASN1_TIME_set_string(X509_getm_notAfter(certificate.get()), kEnd);
  SetName(X509_get_subject_name(certificate.get()), name);
  SetName(X509_get_issuer_name(certificate.get()), "ca");
  X509_set_pubkey(certificate.get(), KeyOf(seed).get());
  for (const auto& [kind, value] : extensions) {
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)>
        extension(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value),
                  &X509_EXTENSION_free);
    X509_add_ext(certificate.get(), extension.get(), -1);
  }
  X509_sign(certificate.get(), KeyOf('c').get(), nullptr);
  return Der<X509>(&i2d_X509, certificate.get());
}

std::string Authority() {
  return Certificate("ca", 'c',
                     {{NID_basic_constraints, "critical,CA:TRUE"},
                      {NID_key_usage, "critical,keyCertSign,cRLSign"}});
}

std::string Peer() {
  return Certificate(
      "peer", 'p',
      {{NID_subject_alt_name,
        "DNS:A.example,URI:spiffe://lab/x,IP:127.0.0.1,email:a@b"},
       {NID_ext_key_usage, "clientAuth,serverAuth"}});
}

// Without the date of the next one if `next` is null.
std::string RevocationList(const char* next) {
  const X509CrlPointer list(X509_CRL_new());
  X509_CRL_set_version(list.get(), 1);
  const std::unique_ptr<X509_NAME, decltype(&X509_NAME_free)> issuer(
      X509_NAME_new(), &X509_NAME_free);
  SetName(issuer.get(), "ca");
  X509_CRL_set_issuer_name(list.get(), issuer.get());
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> date(
      ASN1_TIME_new(), &ASN1_TIME_free);
  ASN1_TIME_set_string(date.get(), kBegin);
  X509_CRL_set1_lastUpdate(list.get(), date.get());
  if (next != nullptr) {
    ASN1_TIME_set_string(date.get(), next);
    X509_CRL_set1_nextUpdate(list.get(), date.get());
  }
  X509_CRL_sign(list.get(), KeyOf('c').get(), nullptr);
  return Der<X509_CRL>(&i2d_X509_CRL, list.get());
}

// Files that are good, and one for the input.
struct World {
  const OneFile files;
  const std::string ca = files.Write("ca.pem", Pem("CERTIFICATE", Authority()));
  const std::string list =
      files.Write("list.pem", Pem("X509 CRL", RevocationList(kEnd)));
  const std::vector<X509Pointer> peer =
      ParseCertificates(Pem("CERTIFICATE", Peer()));
};

void CheckStatus(const std::string& what, const absl::Status& status) {
  Count(what + (status.ok() ? " read" : " refused"));
  if (!status.ok()) DemandRefusal(status);
}

// A peer's own certificate, and what it sent besides.
void FuzzPeer(const std::string& text, const World& world) {
  const std::vector<X509Pointer> chain = ParseCertificates(text);
  Count(chain.empty() ? "certificate refused" : "certificate read");
  for (const TrustFiles& trust :
       {TrustFiles{world.ca, ""}, {world.ca, world.list}}) {
    for (const PeerKind kind : {PeerKind::kClient, PeerKind::kServer})
      CheckStatus("peer", CheckPeerCertificate(chain, kind, trust, kNow));
  }
  for (const X509Pointer& certificate : chain) {
    const std::string line = DescribePeer(*certificate);
    Demand(line.size() <= 300, "a peer that fills the log");
    const SubjectNames names = NamesOf(*certificate);
    for (const auto* list : {&names.identities, &names.dns, &names.uris}) {
      for (const std::string& name : *list) {
        for (const char c : name)
          Demand(c > ' ' && c < 0x7f, "a name that is not printable");
      }
    }
    for (const absl::Status& status :
         {CheckDates(*certificate, kNow, "own.pem"),
          CheckHasName(*certificate, "own.pem"),
          CheckPeerName(*certificate, "a.example"),
          CheckSignature(chain, chain, "own.pem", "ca.pem")}) {
      if (!status.ok()) DemandRefusal(status);
    }
  }
}

void FuzzAuthorities(const std::string& text, const World& world) {
  const TrustFiles trust{world.files.Write("input", text), world.list};
  CheckStatus("CA", ReadCertificates(trust.ca_file).status());
  CheckStatus("peer",
              CheckPeerCertificate(world.peer, PeerKind::kClient, trust, kNow));
  CheckStatus("list", ReadRevocationLists(trust, kNow).status());
}

void FuzzList(const std::string& text, const World& world) {
  const TrustFiles trust{world.ca, world.files.Write("input", text)};
  CheckStatus("list", ReadRevocationLists(trust, kNow).status());
  CheckStatus("peer",
              CheckPeerCertificate(world.peer, PeerKind::kClient, trust, kNow));
}

void FuzzKey(const std::string& text, const World& world) {
  CheckStatus("key", CheckKey(*world.peer.front(), "the certificate",
                              world.files.Write("input", text)));
  const auto key = SigningKey::FromPem(text);
  Count(key.has_value() ? "private key read" : "private key refused");
  if (!key.has_value()) return;
  const auto again = SigningKey::FromPem(key->Pem());
  Demand(again.has_value() && again->public_key() == key->public_key(),
         "a key that is not read back");
  const auto message = std::as_bytes(std::span(text));
  Demand(Verify(key->public_key(), message, key->Sign(message)),
         "a signature that is not good");
}

void FuzzPublicKey(const std::string& text, const World& world) {
  const auto key = ReadReceiptKey(world.files.Write("input", text));
  CheckStatus("public key", key.status());
  Demand(!key.ok() || PublicKeyOfPem(PemOf(*key)) == *key,
         "a public key that is not read back");
}

struct Kind {
  const char* label;
  void (*fuzz)(const std::string& text, const World& world);
};
constexpr Kind kKinds[] = {{"CERTIFICATE", FuzzPeer},
                           {"CERTIFICATE", FuzzAuthorities},
                           {"X509 CRL", FuzzList},
                           {"PRIVATE KEY", FuzzKey},
                           {"PUBLIC KEY", FuzzPublicKey}};

std::vector<std::string> FuzzSeeds() {
  const std::string key = Der<EVP_PKEY>(&i2d_PrivateKey, KeyOf('p').get());
  const struct {
    char kind;
    std::string der;
  } inputs[] = {{0, Peer()},
                {0, Authority()},
                {1, Authority()},
                {1, Peer()},
                {2, RevocationList(kEnd)},
                {2, RevocationList("20260601000000Z")},
                {2, RevocationList(nullptr)},
                {3, key},
                {3, Der<EVP_PKEY>(&i2d_PrivateKey, KeyOf('x').get())},
                {4, Der<EVP_PKEY>(&i2d_PUBKEY, KeyOf('p').get())}};
  std::vector<std::string> seeds;
  // The kind, DER or text, the file.
  for (const auto& [kind, der] : inputs) {
    const std::string pem = Pem(kKinds[static_cast<int>(kind)].label, der);
    seeds.push_back(std::string({kind, 0}) + der);
    seeds.push_back(std::string({kind, 1}) + pem);
    seeds.push_back(std::string({kind, 1}) + pem + "text\n" + pem);
  }
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes;
  for (const std::string what : {"certificate", "peer", "CA", "list", "key",
                                 "private key", "public key"}) {
    outcomes.push_back(what + " read");
    outcomes.push_back(what + " refused");
  }
  return outcomes;
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  static const World world;
  FuzzInput bytes(data, size);
  const Kind& kind = kKinds[bytes.Byte() % std::size(kKinds)];
  const bool is_text = bytes.Bit();
  const std::string rest(bytes.Rest());
  kind.fuzz(is_text ? rest : Pem(kind.label, rest), world);
}

[[maybe_unused]] const bool kRegistered =
    Register({"certificate_file", 5'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::certificate_file
