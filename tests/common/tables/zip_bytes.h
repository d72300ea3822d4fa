// A ZIP archive as numpy.savez writes it, made in memory.
#ifndef DPNMF_TESTS_COMMON_TABLES_ZIP_BYTES_H_
#define DPNMF_TESTS_COMMON_TABLES_ZIP_BYTES_H_

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace dpnmf {

struct ZippedFile {
  std::string name, content;
  bool deflate = true;
};

inline std::string LittleEndian(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, number >>= 8)
    text.push_back(static_cast<char>(number & 0xff));
  return text;
}

// Deflates with the bits of zlib: negative of a window for a raw stream, 16
// more for gzip.
inline std::string Deflated(std::string_view content, int bits) {
  z_stream stream = {};
  if (deflateInit2(&stream, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    std::abort();
  std::string in(content), out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
inline std::string Gzip(std::string_view content) {
  return Deflated(content, 15 + 16);
}

// With sizes of 64 bits in extra fields if `wide`.
inline std::string ZipOf(const std::vector<ZippedFile>& files,
                         bool wide = false) {
  std::string archive, directory;
  for (const ZippedFile& file : files) {
    const std::string stored =
        file.deflate ? Deflated(file.content, -15) : file.content;
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(file.content.data()),
              static_cast<uInt>(file.content.size()));
    const std::string extra = wide ? LittleEndian(1, 2) + LittleEndian(16, 2) +
                                         LittleEndian(file.content.size(), 8) +
                                         LittleEndian(stored.size(), 8)
                                   : "";
    const std::string common =
        LittleEndian(wide ? 45 : 20, 2) + LittleEndian(0, 2) +
        LittleEndian(file.deflate ? 8 : 0, 2) + LittleEndian(0x21 << 16, 4) +
        LittleEndian(crc, 4) +
        LittleEndian(wide ? 0xffffffff : stored.size(), 4) +
        LittleEndian(wide ? 0xffffffff : file.content.size(), 4) +
        LittleEndian(file.name.size(), 2) + LittleEndian(extra.size(), 2);
    directory += LittleEndian(0x02014b50, 4) + LittleEndian(45, 2) + common +
                 LittleEndian(0, 10) + LittleEndian(archive.size(), 4) +
                 file.name + extra;
    archive +=
        LittleEndian(0x04034b50, 4) + common + file.name + extra + stored;
  }
  const std::uint64_t start = archive.size();
  return archive + directory + LittleEndian(0x06054b50, 4) +
         LittleEndian(0, 4) + LittleEndian(files.size(), 2) +
         LittleEndian(files.size(), 2) + LittleEndian(directory.size(), 4) +
         LittleEndian(start, 4) + LittleEndian(0, 2);
}

}  // namespace dpnmf

#endif  // DPNMF_TESTS_COMMON_TABLES_ZIP_BYTES_H_
