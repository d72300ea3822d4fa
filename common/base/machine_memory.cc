#include "common/base/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace dpnmf {

std::uint64_t MachineMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  std::uint64_t bytes =
      pages > 0 && page > 0
          ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
          : std::uint64_t{4} << 30;
  // "max" is no number: no limit.
  std::uint64_t container = 0;
  std::ifstream file("/sys/fs/cgroup/memory.max");
  if (file >> container && container > 0) bytes = std::min(bytes, container);
  return bytes;
}

}  // namespace dpnmf
