#include "common/tls/certificate.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <regex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/tls/peer_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/tls/test_certificates.h"

namespace dpnmf {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

X509Pointer First(const TlsFiles& files) {
  return std::move(ReadCertificates(files.certificate_file)->front());
}

std::string CodeOf(const TlsFiles& files) {
  return ReasonCode(CheckTlsFiles(files));
}

TEST(Certificate, StatesItsNamesInOrder) {
  TestCertificates ca;
  const X509Pointer certificate =
      First(ca.Issue("x",
                     "--dns B.Example --uri spiffe://site/alice --dns "
                     "a.example --ip 127.0.0.1 --ip ::1"));
  const SubjectNames names = NamesOf(*certificate);
  EXPECT_THAT(
      names.identities,
      ElementsAre("dns:b.example", "uri:spiffe://site/alice", "dns:a.example"));
  EXPECT_THAT(names.dns, ElementsAre("b.example", "a.example"));
  EXPECT_THAT(names.uris, ElementsAre("spiffe://site/alice"));
  EXPECT_THAT(names.ips, ElementsAre("127.0.0.1", "::1"));
}

TEST(Certificate, NamesThatAreNotPrintableAreLeftOut) {
  TestCertificates ca;
  const X509Pointer certificate = First(
      ca.IssueOdd("x", "subjectAltName=@n\n[n]\nDNS.1=a b\nDNS.2=good\n"));
  EXPECT_THAT(NamesOf(*certificate).identities, ElementsAre("dns:good"));
}

TEST(Certificate, IsForTheHostsOfItsAlternativeNameAlone) {
  TestCertificates ca;
  const X509Pointer certificate = First(ca.IssueOdd(
      "x", "subjectAltName=DNS:a.example,DNS:*.b.example,IP:10.0.0.1"));
  for (const char* host :
       {"a.example", "A.EXAMPLE", "x.b.example", "10.0.0.1"}) {
    EXPECT_TRUE(IsForHost(*certificate, host)) << host;
  }
  for (const char* host : {"localhost" /* the common name */, "b.example",
                           "x.y.b.example", "10.0.0.2", "example", ""}) {
    EXPECT_FALSE(IsForHost(*certificate, host)) << host;
  }
}

TEST(Certificate, WithoutAnAlternativeNameIsForNobody) {
  TestCertificates ca;
  const X509Pointer certificate = First(ca.IssueOdd("x", ""));
  EXPECT_THAT(NamesOf(*certificate).identities, IsEmpty());
  EXPECT_FALSE(IsForHost(*certificate, "localhost"));
}

TEST(Certificate, IsValidWithinItsDatesInclusive) {
  TestCertificates ca;
  const X509Pointer certificate = First(ca.Issue("x", "--days 30"));
  const std::int64_t first = NotBefore(*certificate);
  const std::int64_t last = NotAfter(*certificate);
  EXPECT_EQ(last - first, 30 * 24 * 3600);
  EXPECT_NEAR(static_cast<double>(first),
              static_cast<double>(std::time(nullptr)), 300);
  EXPECT_TRUE(CheckDates(*certificate, first, "x").ok());
  EXPECT_TRUE(CheckDates(*certificate, last, "x").ok());
  EXPECT_FALSE(CheckDates(*certificate, first - 1, "x").ok());
  EXPECT_FALSE(CheckDates(*certificate, last + 1, "x").ok());
}

TEST(CheckTlsFiles, AcceptsWhatTheScriptMakes) {
  TestCertificates ca;
  EXPECT_TRUE(CheckTlsFiles(ca.Issue("server", "--dns localhost")).ok());
  EXPECT_TRUE(CheckTlsFiles(ca.Issue("client", "--uri spiffe://a/b")).ok());
  EXPECT_TRUE(CheckTlsFiles(ca.Issue("address", "--ip 127.0.0.1")).ok());
}

TEST(CheckTlsFiles, SaysWhatIsWrongAndWithWhichFile) {
  TestCertificates ca, other;
  const TlsFiles good = ca.Issue("good"), twin = ca.Issue("twin");
  TlsFiles missing = good, not_pem = good, wrong_ca = good, wrong_key = good,
           key_is_certificate = good, empty = good;
  missing.ca_file = "/nonexistent/ca.crt";
  not_pem.certificate_file = CertsScript();
  wrong_ca.ca_file = other.ca_file();
  wrong_key.key_file = twin.key_file;
  key_is_certificate.key_file = good.certificate_file;
  empty.certificate_file = ca.directory() + "/empty";
  WriteAll(empty.certificate_file, "");
  const TlsFiles expired = ca.IssueOdd("expired", "subjectAltName=DNS:x", -1);
  const TlsFiles future = ca.IssueForTheFuture("future");
  const TlsFiles nameless = ca.IssueOdd("nameless", "");
  const struct {
    TlsFiles files;
    const char* code;
    std::string names;
    const char* says;
  } cases[] = {
      {missing, "tls-file-unreadable", missing.ca_file, "cannot be read"},
      {empty, "tls-file-unreadable", empty.certificate_file, "empty"},
      {not_pem, "tls-certificate-invalid", not_pem.certificate_file, "PEM"},
      {wrong_ca, "tls-certificate-invalid", wrong_ca.ca_file, "not signed"},
      {expired, "tls-certificate-invalid", expired.certificate_file,
       "expired on"},
      {future, "tls-certificate-invalid", future.certificate_file,
       "not valid before"},
      {nameless, "tls-certificate-invalid", nameless.certificate_file,
       "no DNS or URI entry"},
      {wrong_key, "tls-key-mismatch", wrong_key.key_file, "not the private"},
      {key_is_certificate, "tls-key-mismatch", key_is_certificate.key_file,
       "not a PEM private key"},
  };
  for (const auto& c : cases) {
    const absl::Status status = CheckTlsFiles(c.files);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_EQ(ReasonCode(status), c.code) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), c.names)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), c.says)) << status;
  }
}

// root, signed by itself; mid, signed by root; own, with a name, signed by mid;
// self, with a name, signed by itself; old, a root of X.509's first version.
class Chains : public ::testing::Test {
 protected:
  Chains() {
    std::string output;
    EXPECT_EQ(RunShell("cd " + ca_.directory() + R"( && umask 077 &&
      new='openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc' &&
      $new -x509 -subj '/O=A; B/CN=root' -keyout root.key -out root.crt &&
      printf 'basicConstraints=critical,CA:TRUE' >mid.ext &&
      printf 'subjectAltName=DNS:own' >own.ext &&
      $new -subj /CN=mid -keyout mid.key -out mid.csr &&
      openssl x509 -req -in mid.csr -CA root.crt -CAkey root.key         -set_serial 1 -extfile mid.ext -out mid.crt &&
      $new -subj /CN=own -keyout own.key -out own.csr &&
      openssl x509 -req -in own.csr -CA mid.crt -CAkey mid.key         -set_serial 2 -extfile own.ext -out own.crt &&
      $new -x509 -subj /CN=self -addext subjectAltName=DNS:self         -keyout self.key -out self.crt &&
      $new -subj /CN=old -keyout old.key -out old.csr &&
      openssl x509 -req -in old.csr -signkey old.key -out old.crt)",
                       &output),
              0)
        << output;
  }

  // The check of files with these certificates, one after another.
  absl::Status Check(const std::vector<std::string>& authorities,
                     const std::vector<std::string>& chain,
                     const std::string& key = "own") {
    const auto join = [&](const std::string& path,
                          const std::vector<std::string>& names) {
      std::string pem;
      for (const std::string& name : names)
        pem += ReadAll(ca_.directory() + "/" + name + ".crt");
      WriteAll(path, pem);
    };
    join(files_.ca_file, authorities);
    join(files_.certificate_file, chain);
    files_.key_file = ca_.directory() + "/" + key + ".key";
    return CheckTlsFiles(files_);
  }
  void ExpectSays(const absl::Status& status, const std::string& sentence) {
    EXPECT_EQ(ReasonCode(status), "tls-certificate-invalid") << status;
    EXPECT_EQ(status.message(), sentence);
  }

  TestCertificates ca_;
  TlsFiles files_{.ca_file = ca_.directory() + "/authorities",
                  .certificate_file = ca_.directory() + "/chain"};
};

TEST_F(Chains, AreReadWithTheOwnCertificateFirst) {
  EXPECT_TRUE(Check({"root"}, {"own", "mid"}).ok());
  EXPECT_TRUE(Check({"root"}, {"own", "root", "mid"}).ok());
  EXPECT_TRUE(Check({"root", "mid"}, {"own"}).ok());
  EXPECT_TRUE(Check({"mid", "root"}, {"own", "mid"}).ok());
  // A CA and one's own at once.
  EXPECT_TRUE(Check({"self"}, {"self"}, "self").ok());
  EXPECT_TRUE(Check({"self"}, {"self", "old"}, "self").ok());
  const std::string order =
      absl::StrCat("The certificates in ", files_.certificate_file,
                   " are in the wrong order: the first is that of a CA (");
  const std::string remedy =
      " is your own; put that one first, and after it the CA's that signed it.";
  for (const auto& authorities :
       std::vector<std::vector<std::string>>{{"root"}, {"mid"}}) {
    ExpectSays(Check(authorities, {"mid", "own"}),
               order + "CN=mid), and number 2" + remedy);
    ExpectSays(Check(authorities, {"root", "mid", "own"}),
               order + "CN=root,O=A\\; B), and number 3" + remedy);
  }
  ExpectSays(
      Check({"root"}, {"mid"}, "mid"),
      absl::StrCat("The file ", files_.certificate_file,
                   " holds the certificate of a CA (CN=mid) and not your "
                   "own; give the file with your own certificate."));
}

TEST_F(Chains, NameTheCaThatIsMissing) {
  for (const auto& chain :
       std::vector<std::vector<std::string>>{{"own"}, {"own", "mid"}}) {
    ExpectSays(
        Check({"mid"}, chain),
        absl::StrCat("The CA file ", files_.ca_file,
                     " holds the intermediate CA CN=mid without the CA that "
                     "signed it, CN=root,O=A\\; B; add the certificate of that "
                     "CA, the root, to ",
                     files_.ca_file, "."));
  }
  const auto missing = [&](const std::string& who) {
    return absl::StrCat(
        "The certificate ", files_.certificate_file,
        " is not signed by the CA in ", files_.ca_file, ", but by ", who,
        ", whose certificate is missing; if that is an intermediate CA, put "
        "its certificate after your own certificate in the same file, else use "
        "the CA that signed it.");
  };
  ExpectSays(Check({"root"}, {"own"}), missing("CN=mid"));
  ExpectSays(Check({"self"}, {"own", "mid"}), missing("CN=root,O=A\\; B"));
  // The key of another certificate of the file.
  const absl::Status key = Check({"root"}, {"own", "mid"}, "mid");
  EXPECT_EQ(ReasonCode(key), "tls-key-mismatch");
  EXPECT_TRUE(absl::StrContains(
      key.message(), "the first certificate in " + files_.certificate_file))
      << key;
}

// The far end of a chain that lacks a certificate.
TEST_F(Chains, OfPeersNameTheSideThatMustAct) {
  const auto check = [&](const std::string& authority, const char* own) {
    return CheckPeerCertificate(
        ReadCertificates(ca_.directory() + own).value(), PeerKind::kServer,
        {ca_.directory() + authority, ""}, std::time(nullptr));
  };
  const absl::Status peer = check("/root.crt", "/own.crt");
  EXPECT_EQ(ReasonCode(peer), "certificate-unknown-ca");
  EXPECT_TRUE(absl::StrContains(peer.message(),
                                "the peer does not send the certificate of the "
                                "intermediate CA"))
      << peer;
  const absl::Status here = check("/mid.crt", "/own.crt");
  EXPECT_EQ(ReasonCode(here), "certificate-unknown-ca");
  EXPECT_TRUE(absl::StrContains(here.message(), "The CA file of this side"))
      << here;
}

TEST(CheckTlsFiles, RefusesAKeyThatEverybodyMayRead) {
  TestCertificates ca;
  const TlsFiles files = ca.Issue("x");
  chmod(files.key_file.c_str(), 0444);
  EXPECT_EQ(CodeOf(files), "tls-key-readable");
  chmod(files.key_file.c_str(), 0440);
  EXPECT_TRUE(CheckTlsFiles(files).ok());
}

TEST(CheckTlsFiles, RefusesAKeyWithAPassphraseWithoutAskingForIt) {
  TestCertificates ca;
  const TlsFiles files = ca.Issue("x");
  ASSERT_EQ(RunShell(absl::StrCat(
                "openssl ec -aes128 -passout pass:secret -in ", files.key_file,
                " -out ", files.key_file, ".new && mv -f ", files.key_file,
                ".new ", files.key_file)),
            0);
  EXPECT_EQ(CodeOf(files), "tls-key-mismatch");
}

TEST(CheckTlsFiles, RefusesATruncatedCertificate) {
  TestCertificates ca;
  const TlsFiles files = ca.Issue("x");
  const std::string pem = ReadAll(files.certificate_file);
  TlsFiles cut = files;
  cut.certificate_file = ca.directory() + "/cut.crt";
  WriteAll(cut.certificate_file, pem.substr(0, pem.size() / 2));
  EXPECT_EQ(CodeOf(cut), "tls-certificate-invalid");
  WriteAll(cut.certificate_file, pem + pem.substr(0, pem.size() / 2));
  EXPECT_EQ(CodeOf(cut), "tls-certificate-invalid");
}

// The script itself.

// A revocation list of the CA with these dates, seconds from now; 0: no date.
std::string ListOf(const TestCertificates& ca, long updated, long next_update) {
  const std::string pem = ReadAll(ca.directory() + "/ca/ca.key");
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> key_file(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free_all);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(key_file.get(), nullptr, nullptr, nullptr),
      &EVP_PKEY_free);
  const X509CrlPointer list(X509_CRL_new());
  X509_CRL_set_issuer_name(
      list.get(),
      X509_get_subject_name(ReadCertificates(ca.ca_file())->front().get()));
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> date(
      ASN1_TIME_new(), &ASN1_TIME_free);
  X509_CRL_set1_lastUpdate(list.get(), X509_gmtime_adj(date.get(), updated));
  if (next_update != 0) {
    X509_CRL_set1_nextUpdate(list.get(),
                             X509_gmtime_adj(date.get(), next_update));
  }
  X509_CRL_sign(list.get(), key.get(), EVP_sha256());
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> out(BIO_new(BIO_s_mem()),
                                                          &BIO_free_all);
  PEM_write_bio_X509_CRL(out.get(), list.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

// The end of its time is optional in a list (RFC 5280, 5.1.2.5).
TEST(RevocationLists, AreRefusedOutsideTheirDatesOrWithoutAnEnd) {
  const TestCertificates ca;
  const TrustFiles trust{ca.ca_file(), ca.directory() + "/list.crl"};
  const auto read = [&](long updated, long next_update) {
    WriteAll(trust.crl_file, ListOf(ca, updated, next_update));
    return ReadRevocationLists(trust, std::time(nullptr)).status();
  };
  EXPECT_TRUE(read(-60, 60).ok()) << read(-60, 60);
  for (const auto& [updated, next_update] :
       {std::pair{-60, -30}, {60, 120}, {-60, 0}}) {
    EXPECT_EQ(ReasonCode(read(updated, next_update)), "tls-crl-invalid")
        << updated << " " << next_update;
  }
}

// A peer's certificate may state a serial number of any length.
TEST(Peer, IsDescribedInOneShortLine) {
  const X509Pointer certificate(X509_new());
  ASN1_INTEGER* const serial = X509_get_serialNumber(certificate.get());
  ASN1_STRING_set(serial, std::string(5000, '\x7f').data(), 5000);
  EXPECT_EQ(DescribePeer(*certificate),
            "no name, serial 7F7F7F7F7F7F7F7F7F7F7F7F7F7F7F7F7F7F7F7F...");
}

TEST(CertsScript, NeverOverwritesACa) {
  TestCertificates ca;
  const std::string before = ReadAll(ca.ca_file());
  const std::string key = ReadAll(ca.directory() + "/ca/ca.key");
  EXPECT_EQ(RunShell(CertsScript() + " init " + ca.directory()), 0);
  EXPECT_EQ(RunShell(CertsScript() + " demo " + ca.directory()), 0);
  EXPECT_EQ(ReadAll(ca.ca_file()), before);
  EXPECT_EQ(ReadAll(ca.directory() + "/ca/ca.key"), key);
}

TEST(CertsScript, KeysAreForTheirOwnerAlone) {
  TestCertificates ca;
  ca.Issue("x");
  for (const char* key : {"/ca/ca.key", "/x/tls.key"}) {
    struct stat file {};
    ASSERT_EQ(stat((ca.directory() + key).c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0400u) << key;
  }
}

TEST(CertsScript, LeavesNothingElseBehind) {
  TestCertificates ca;
  ca.Issue("x");
  ca.Issue("x");
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(ca.directory() + "/x")) {
    ++files;
    EXPECT_TRUE(std::regex_match(entry.path().filename().string(),
                                 std::regex("ca\\.crt|tls\\.(crt|key)")))
        << entry.path();
  }
  EXPECT_EQ(files, 3);
}

TEST(CertsScript, RenewsWithAnotherKey) {
  TestCertificates ca;
  const TlsFiles files = ca.Issue("x");
  const std::string key = ReadAll(files.key_file);
  ca.Issue("x");
  EXPECT_NE(ReadAll(files.key_file), key);
  EXPECT_TRUE(CheckTlsFiles(files).ok());
}

TEST(CertsScript, DemoMakesAllFourParts) {
  TestCertificates ca;
  ASSERT_EQ(RunShell(CertsScript() + " demo " + ca.directory()), 0);
  for (const char* name : {"curator", "analyst", "alice"}) {
    EXPECT_TRUE(CheckTlsFiles(ca.FilesOf(name)).ok()) << name;
  }
  for (const char* name : {"curator", "analyst"}) {
    const X509Pointer certificate = First(ca.FilesOf(name));
    for (const char* host : {name, "localhost", "127.0.0.1"}) {
      EXPECT_TRUE(IsForHost(*certificate, host)) << name << " " << host;
    }
  }
  EXPECT_THAT(NamesOf(*First(ca.FilesOf("alice"))).identities,
              ElementsAre("dns:alice.client"));
}

TEST(CertsScript, SignsARequestWhoseKeyNeverTravels) {
  TestCertificates ca;
  const std::string away = ca.directory() + "/away";
  ASSERT_EQ(RunShell(CertsScript() + " request " + away +
                     " far --dns far.example --uri spiffe://a/far"),
            0);
  ASSERT_EQ(
      RunShell("{ " + CertsScript() + " sign " + ca.directory() + " " + away +
               "/far/request.csr > " + away + "/far/tls.crt; } 2>/dev/null"),
      0);
  const TlsFiles files{.ca_file = ca.ca_file(),
                       .certificate_file = away + "/far/tls.crt",
                       .key_file = away + "/far/tls.key"};
  EXPECT_TRUE(CheckTlsFiles(files).ok()) << CheckTlsFiles(files);
  EXPECT_THAT(NamesOf(*First(files)).identities,
              ElementsAre("dns:far.example", "uri:spiffe://a/far"));
}

// A request that asks to become a CA gets a plain certificate.
TEST(CertsScript, TakesOnlyTheNamesFromARequest) {
  TestCertificates ca;
  const std::string csr = ca.directory() + "/evil.csr";
  const std::string certificate = ca.directory() + "/evil.crt";
  ASSERT_EQ(RunShell("openssl req -new -newkey ec -pkeyopt "
                     "ec_paramgen_curve:P-256 -noenc -subj /CN=e -addext "
                     "basicConstraints=CA:TRUE -addext subjectAltName=DNS:e "
                     "-keyout /dev/null -out " +
                     csr),
            0);
  ASSERT_EQ(RunShell("{ " + CertsScript() + " sign " + ca.directory() + " " +
                     csr + " > " + certificate + "; } 2>/dev/null"),
            0);
  const X509Pointer signed_one =
      std::move(ReadCertificates(certificate)->front());
  EXPECT_EQ(X509_check_ca(signed_one.get()), 0);
}

TEST(CertsScript, RefusesBadArgumentsInOneLine) {
  TestCertificates ca;
  const std::string issue = " issue " + ca.directory();
  for (const std::string& arguments :
       {std::string(" issue"), issue, issue + " ../x", issue + " ca",
        issue + " x --dns 'a,DNS:b'", issue + " x --dns", issue + " x --ip q",
        issue + " x --uri 'a b'", issue + " x --days 0", issue + " x --days -1",
        issue + " x --what 1", std::string(" issue /nonexistent x"),
        " sign " + ca.directory() + " /nonexistent"}) {
    std::string output;
    EXPECT_EQ(RunShell(CertsScript() + arguments, &output), 2) << arguments;
    EXPECT_TRUE(absl::StartsWith(output, "certs.sh: ")) << output;
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  }
  EXPECT_EQ(RunShell(CertsScript() + " nonsense"), 2);
  std::string help;
  EXPECT_EQ(RunShell(CertsScript() + " --help", &help), 0);
  EXPECT_TRUE(absl::StrContains(help, "issue DIR NAME"));
}

}  // namespace
}  // namespace dpnmf
