#include "curator/gate/release_store.h"

#include <fstream>
#include <limits>

#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {
namespace {

StoredRelease SomeRelease() {
  StoredRelease release;
  release.row_hash = DigestOfNumber(1);
  release.round = 3;
  release.cost = MuSquared::FromUnits((static_cast<Uint128>(5) << 64) + 7);
  NoisedMatrix a;
  a.name = "A";
  a.rows = a.columns = 2;
  a.symmetric = true;
  a.step_exponent = -40;
  a.lattice = {std::numeric_limits<std::int64_t>::min(), -1,
               std::numeric_limits<std::int64_t>::max()};
  NoisedMatrix g;
  g.name = "gradient";
  g.rows = 1;
  g.columns = 3;
  g.is_lattice = false;
  g.reals = {-0.0, 1e-308, 0.1};
  release.parts = {a, g, NoisedMatrix{}};
  return release;
}

std::string PathOf(const TempDirectory& directory, const Digest& hash) {
  return directory / (HexOf(hash) + ".release");
}

void Store(const ReleaseStore& store, const StoredRelease& release) {
  auto reserved = store.Reserve("name", 1 << 16);
  ASSERT_TRUE(reserved.ok()) << reserved.status();
  ASSERT_TRUE(store.Write(*std::move(reserved), release).ok());
}

TEST(ReleaseStore, ReadsBackWhatWasWritten) {
  const TempDirectory directory;
  const ReleaseStore store = ReleaseStore::Open(directory / "s").value();
  EXPECT_CODE(store.Read(DigestOfNumber(1)), "file-missing");
  Store(store, SomeRelease());
  EXPECT_EQ(store.Read(DigestOfNumber(1)).value(), SomeRelease());
  EXPECT_TRUE(std::signbit(store.Read(DigestOfNumber(1))->parts[1].reals[0]));
}

TEST(ReleaseStore, ReservedSpaceIsNotPartOfTheFile) {
  const TempDirectory directory;
  const ReleaseStore store = ReleaseStore::Open(directory.path()).value();
  Store(store, SomeRelease());
  EXPECT_EQ(std::filesystem::file_size(PathOf(directory, DigestOfNumber(1))),
            EncodeRelease(SomeRelease()).size());
}

TEST(ReleaseStore, AReservationThatIsNotUsedLeavesNothing) {
  const TempDirectory directory;
  const ReleaseStore store = ReleaseStore::Open(directory.path()).value();
  { ASSERT_TRUE(store.Reserve("name", 100).ok()); }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(ReleaseStore, ClearsWhatAnEarlierProcessLeftUnfinished) {
  const TempDirectory directory;
  Store(ReleaseStore::Open(directory.path()).value(), SomeRelease());
  std::ofstream(directory / "half.new") << "half";
  const ReleaseStore store = ReleaseStore::Open(directory.path()).value();
  EXPECT_FALSE(std::filesystem::exists(directory / "half.new"));
  EXPECT_TRUE(store.Read(DigestOfNumber(1)).ok());
}

TEST(ReleaseStore, SeesEveryFlippedByteAndEveryCut) {
  const std::string good = EncodeRelease(SomeRelease());
  EXPECT_EQ(DecodeRelease(good).value(), SomeRelease());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      EXPECT_CODE(DecodeRelease(bad), "release-damaged") << at;
    }
    EXPECT_CODE(DecodeRelease(good.substr(0, at)), "release-damaged") << at;
  }
  EXPECT_CODE(DecodeRelease(good + '\0'), "release-damaged");
}

// With a right checksum over wrong content: counts beyond the file, another
// version, bytes left over.
TEST(ReleaseStore, RefusesWhatDoesNotParseWhateverItsChecksum) {
  const std::string good = EncodeRelease(SomeRelease());
  const std::string body = good.substr(0, good.size() - 32);
  const auto sealed = [](std::string text) {
    const Digest digest =
        Sha256()
            .AddBytes(std::as_bytes(std::span(text.data(), text.size())))
            .Finish();
    text.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    return text;
  };
  ASSERT_TRUE(DecodeRelease(sealed(body)).ok());
  EXPECT_CODE(DecodeRelease(sealed(body + '\0')), "release-damaged");
  int refused = 0;
  for (std::size_t at = 0; at < body.size(); ++at) {
    std::string bad = body;
    bad[at] = static_cast<char>(0xff);
    const auto decoded = DecodeRelease(sealed(bad));
    if (!decoded.ok()) ++refused;
    EXPECT_CODE(DecodeRelease(sealed(body.substr(0, at))), "release-damaged");
  }
  EXPECT_GT(refused, 60);
}

TEST(ReleaseStore, DoesNotTakeAnotherRowsFileForThisRows) {
  const TempDirectory directory;
  const ReleaseStore store = ReleaseStore::Open(directory.path()).value();
  Store(store, SomeRelease());
  std::filesystem::copy(PathOf(directory, DigestOfNumber(1)),
                        PathOf(directory, DigestOfNumber(2)));
  EXPECT_CODE(store.Read(DigestOfNumber(2)), "release-damaged");
}

}  // namespace
}  // namespace dpnmf::curator
