#include "common/tls/certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/files/read_file.h"

namespace dpnmf {
namespace {

using BioPointer = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

absl::Status Bad(std::string_view code, absl::string_view sentence) {
  return Refusal(absl::StatusCode::kFailedPrecondition, code,
                 std::string_view(sentence.data(), sentence.size()));
}

absl::Status BadCertificate(absl::string_view sentence) {
  return Bad("tls-certificate-invalid", sentence);
}

absl::StatusOr<std::string> ReadTlsFile(const std::string& path) {
  absl::StatusOr<std::string> content = ReadFile(path, kSettingsFileLimit);
  if (content.ok() && !content->empty()) return content;
  return Bad("tls-file-unreadable",
             absl::StrCat("The file ", path, " cannot be read. ",
                          content.ok() ? "It is empty"
                                       : absl::StripSuffix(
                                             content.status().message(), "."),
                          "; check the path and the permissions."));
}

BioPointer BioOf(std::string_view text) {
  return BioPointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
                    &BIO_free_all);
}

std::int64_t UnixSeconds(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return timegm(&parts);
}

// The text of a name; empty unless it is printable ASCII.
std::string Ia5Text(const ASN1_IA5STRING* string) {
  const std::string_view text(
      reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
      static_cast<std::size_t>(ASN1_STRING_length(string)));
  const bool printable =
      std::all_of(text.begin(), text.end(),
                  [](unsigned char c) { return c > ' ' && c < 127; });
  return printable ? std::string(text) : std::string();
}

std::string TextOfIp(const ASN1_OCTET_STRING* address) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  if (ASN1_STRING_length(address) != 4 && ASN1_STRING_length(address) != 16) {
    return "";
  }
  inet_ntop(family, ASN1_STRING_get0_data(address), text, sizeof(text));
  return text;
}

void AppendName(const GENERAL_NAME& name, SubjectNames* names) {
  if (name.type == GEN_DNS) {
    const std::string dns = absl::AsciiStrToLower(Ia5Text(name.d.dNSName));
    if (dns.empty()) return;
    names->dns.push_back(dns);
    names->identities.push_back("dns:" + dns);
  } else if (name.type == GEN_URI) {
    const std::string uri = Ia5Text(name.d.uniformResourceIdentifier);
    if (uri.empty()) return;
    names->uris.push_back(uri);
    names->identities.push_back("uri:" + uri);
  } else if (name.type == GEN_IPADD) {
    names->ips.push_back(TextOfIp(name.d.iPAddress));
  }
}

bool IsCa(const X509& certificate) {
  return X509_check_ca(const_cast<X509*>(&certificate)) == 1;  // caches only
}

// "CN=dpnmf CA,O=Hospital", in printable ASCII.
std::string NameText(const X509_NAME* name) {
  const BioPointer bio(BIO_new(BIO_s_mem()), &BIO_free_all);
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  constexpr long kLongest = 200;
  return std::string(text, static_cast<std::size_t>(std::min(size, kLongest)));
}

// The CA that is missing between `last`, the last certificate of the chain that
// could be built, and a trusted root, in a sentence; empty if it is none of
// these faults.
std::string MissingCa(int fault, const X509* last,
                      const std::vector<X509Pointer>& authorities,
                      const std::string& path, const std::string& ca_path) {
  if (last == nullptr) return "";
  const X509_NAME* const issuer = X509_get_issuer_name(last);
  if (fault == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT) {
    return absl::StrCat("The CA file ", ca_path, " holds the intermediate CA ",
                        NameText(X509_get_subject_name(last)),
                        " without the CA that signed it, ", NameText(issuer),
                        "; add the certificate of that CA, the root, to ",
                        ca_path, ".");
  }
  if (fault != X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY &&
      fault != X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE)
    return "";
  for (const X509Pointer& authority : authorities)
    if (X509_NAME_cmp(issuer, X509_get_subject_name(authority.get())) == 0)
      return "";  // another CA of the same name
  return absl::StrCat(
      "The certificate ", path, " is not signed by the CA in ", ca_path,
      ", but by ", NameText(issuer),
      ", whose certificate is missing; if that is an intermediate CA, put its "
      "certificate after your own certificate in the same file, else use the "
      "CA that signed it.");
}

}  // namespace

int NoPassphrase(char*, int, int, void*) { return -1; }

std::string TimeText(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  char text[32] = "";
  gmtime_r(&time, &parts);
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

std::vector<X509Pointer> ParseCertificates(std::string_view pem) {
  std::vector<X509Pointer> certificates;
  const BioPointer bio = BioOf(pem);
  while (X509* certificate =
             PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  // The loop ends well at the end of the file, where no further PEM begins.
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const bool at_end = ERR_GET_LIB(error) == ERR_LIB_PEM &&
                      ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (!at_end) certificates.clear();
  return certificates;
}

absl::StatusOr<std::vector<X509Pointer>> ReadCertificates(
    const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(const std::string pem, ReadTlsFile(path));
  std::vector<X509Pointer> certificates = ParseCertificates(pem);
  if (certificates.empty()) {
    return BadCertificate(
        absl::StrCat("The file ", path,
                     " is not a PEM certificate; give the file that begins "
                     "with BEGIN CERTIFICATE."));
  }
  return certificates;
}

absl::StatusOr<std::vector<X509Pointer>> ReadOwnCertificates(
    const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(std::vector<X509Pointer> chain,
                         ReadCertificates(path));
  // A certificate with a name that signed itself is its own CA's.
  if (!IsCa(*chain.front()) || CheckHasName(*chain.front(), path).ok())
    return chain;
  const std::string ca = NameText(X509_get_subject_name(chain.front().get()));
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (IsCa(*chain[i])) continue;
    return BadCertificate(
        absl::StrCat("The certificates in ", path,
                     " are in the wrong order: the first is that of a CA (", ca,
                     "), and number ", i + 1,
                     " is your own; put that one first, and after it the CA's "
                     "that signed it."));
  }
  return BadCertificate(absl::StrCat(
      "The file ", path, " holds the certificate of a CA (", ca,
      ") and not your own; give the file with your own certificate."));
}

SubjectNames NamesOf(const X509& certificate) {
  SubjectNames names;
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> list(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(
          &certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int i = 0; list != nullptr && i < sk_GENERAL_NAME_num(list.get()); ++i) {
    AppendName(*sk_GENERAL_NAME_value(list.get(), i), &names);
  }
  return names;
}

std::int64_t NotBefore(const X509& certificate) {
  return UnixSeconds(X509_get0_notBefore(&certificate));
}

std::int64_t NotAfter(const X509& certificate) {
  return UnixSeconds(X509_get0_notAfter(&certificate));
}

absl::Status CheckDates(const X509& certificate, std::int64_t now,
                        const std::string& path) {
  if (now < NotBefore(certificate)) {
    return BadCertificate(absl::StrCat(
        "The certificate ", path, " is not valid before ",
        TimeText(NotBefore(certificate)), "; check this machine's clock."));
  }
  if (now > NotAfter(certificate)) {
    return BadCertificate(absl::StrCat("The certificate ", path, " expired on ",
                                       TimeText(NotAfter(certificate)),
                                       "; issue a new one."));
  }
  return absl::OkStatus();
}

absl::Status CheckHasName(const X509& certificate, const std::string& path) {
  const SubjectNames names = NamesOf(certificate);
  if (!names.dns.empty() || !names.uris.empty()) return absl::OkStatus();
  return BadCertificate(absl::StrCat(
      "The certificate ", path,
      " has no DNS or URI entry in its subject alternative name; issue one "
      "with such a name (the common name is not used)."));
}

absl::Status CheckSignature(const std::vector<X509Pointer>& chain,
                            const std::vector<X509Pointer>& authorities,
                            const std::string& path,
                            const std::string& ca_path) {
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(
      X509_STORE_new(), &X509_STORE_free);
  const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)>
      intermediates(sk_X509_new_null(),
                    [](STACK_OF(X509) * stack) { sk_X509_free(stack); });
  for (const X509Pointer& authority : authorities) {
    X509_STORE_add_cert(store.get(), authority.get());
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    sk_X509_push(intermediates.get(), chain[i].get());
  }
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(
      X509_STORE_CTX_new(), &X509_STORE_CTX_free);
  const bool verified =
      X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(),
                          intermediates.get()) == 1 &&
      X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (verified) return absl::OkStatus();
  const int fault = X509_STORE_CTX_get_error(context.get());
  const std::string missing =
      MissingCa(fault, X509_STORE_CTX_get_current_cert(context.get()),
                authorities, path, ca_path);
  if (!missing.empty()) return BadCertificate(missing);
  if (fault == X509_V_ERR_CERT_HAS_EXPIRED ||
      fault == X509_V_ERR_CERT_NOT_YET_VALID) {
    // Dates are looked at after the signature of the same certificate.
    const bool is_own = X509_STORE_CTX_get_error_depth(context.get()) == 0;
    return BadCertificate(absl::StrCat(
        is_own ? absl::StrCat("The certificate ", path,
                              " is signed by the CA in ", ca_path, " and")
               : absl::StrCat("The CA's certificate for ", path),
        fault == X509_V_ERR_CERT_HAS_EXPIRED
            ? " has expired; have it renewed."
            : " is not yet valid; compare the clocks."));
  }
  return BadCertificate(absl::StrCat(
      "The certificate ", path, " is not signed by the CA in ", ca_path, " (",
      X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get())),
      "); use the CA that signed it."));
}

absl::Status CheckKey(const X509& certificate, const std::string& path,
                      const std::string& key_path) {
  DPNMF_ASSIGN_OR_RETURN(const std::string pem, ReadTlsFile(key_path));
  const BioPointer bio = BioOf(pem);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr),
      &EVP_PKEY_free);
  const bool matches =
      key != nullptr && X509_check_private_key(&certificate, key.get()) == 1;
  ERR_clear_error();
  if (matches) return absl::OkStatus();
  if (key == nullptr) {
    return Bad("tls-key-mismatch",
               absl::StrCat("The file ", key_path,
                            " is not a PEM private key without a passphrase."));
  }
  return Bad(
      "tls-key-mismatch",
      absl::StrCat("The file ", key_path,
                   " is not the private key of the first certificate in ", path,
                   "; give the two files that were made together."));
}

absl::Status CheckKeyMode(const std::string& key_path) {
  struct stat file {};
  if (stat(key_path.c_str(), &file) == 0 && (file.st_mode & S_IROTH) != 0) {
    return Bad("tls-key-readable",
               absl::StrCat("Every user of this machine may read the private "
                            "key ",
                            key_path, "; run chmod 0400 on it."));
  }
  return absl::OkStatus();
}

bool IsForHost(const X509& certificate, const std::string& host) {
  auto* mutable_certificate = const_cast<X509*>(&certificate);  // caches only
  if (X509_check_ip_asc(mutable_certificate, host.c_str(), 0) == 1) return true;
  return X509_check_host(mutable_certificate, host.data(), host.size(),
                         X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
                             X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS,
                         nullptr) == 1;
}

}  // namespace dpnmf
