#include <atomic>

#include "curator/factor/isa/kernel_table.h"

namespace dpnmf::curator {

// The tables of table.cc, each compiled for its instruction set.
namespace isa_base {
extern const KernelTable kKernels;
}
#if defined(DPNMF_KERNELS_V3)
namespace isa_v3 {
extern const KernelTable kKernels;
}
#endif
#if defined(DPNMF_KERNELS_V4)
namespace isa_v4 {
extern const KernelTable kKernels;
}
#endif

namespace {

#if defined(DPNMF_KERNELS_V3)
bool HasV3() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
#endif
#if defined(DPNMF_KERNELS_V4)
bool HasV4() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

const KernelTable* Best() {
  const KernelTables runnable = RunnableKernels();
  return runnable.tables[runnable.count - 1];
}

std::atomic<const KernelTable*> forced{nullptr};

}  // namespace

KernelTables RunnableKernels() {
  KernelTables runnable;
  runnable.tables[runnable.count++] = &isa_base::kKernels;
#if defined(DPNMF_KERNELS_V3)
  if (HasV3()) runnable.tables[runnable.count++] = &isa_v3::kKernels;
#endif
#if defined(DPNMF_KERNELS_V4)
  if (HasV4()) runnable.tables[runnable.count++] = &isa_v4::kKernels;
#endif
  return runnable;
}

const KernelTable& Kernels() {
  static const KernelTable* const best = Best();
  const KernelTable* const table = forced.load(std::memory_order_relaxed);
  return table == nullptr ? *best : *table;
}

void UseKernels(const KernelTable* table) { forced.store(table); }

}  // namespace dpnmf::curator
