// How much memory there is to share out.
#ifndef DPNMF_COMMON_BASE_MACHINE_MEMORY_H_
#define DPNMF_COMMON_BASE_MACHINE_MEMORY_H_

#include <cstdint>

namespace dpnmf {

// Bytes that the machine, or the container (cgroup v2), has; 4 GiB if the
// system does not say.
std::uint64_t MachineMemory();

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_MACHINE_MEMORY_H_
