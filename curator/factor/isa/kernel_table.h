// The inner loops, once for every instruction set that the build knows, and the
// choice among them: the best that the processor has, the same for the life of
// the process. All give the same bits where a multiplication and an addition
// round once (all but the plainest).
//
// The kernels see plain pointers alone and share no inline code with the rest
// of the program, so that objects of different -march never meet in a type or a
// template (a test looks through their symbols).
#ifndef DPNMF_CURATOR_FACTOR_ISA_KERNEL_TABLE_H_
#define DPNMF_CURATOR_FACTOR_ISA_KERNEL_TABLE_H_

#include <cstddef>
#include <cstdint>

namespace dpnmf::curator {

// r = S_{lambda,M}(e) = sign(e) min(max(|e| - lambda, 0), M), written as
// clip(e - clip(e, -lambda, lambda), -M, M).
struct OutlierRule {
  double lambda = 0;
  double bound = 0;
};

// Public integers of one kind of vector, bound c and q bits after the point.
struct LatticeBounds {
  double bound = 0;                 // c
  double steps_per_unit = 0;        // 2^q
  std::uint64_t largest_entry = 0;  // m = floor(c 2^q), below 2^32
  std::uint64_t norm_bound = 0;     // floor(c^2 4^q)
};

// A matrix (rows x inner) in the order of PackedRows.
struct PanelView {
  const double* values = nullptr;
  int rows = 0;
  int inner = 0;
};

// A matrix by rows of `stride` values, a multiple of kRowUnit; the last ones
// are zero.
struct RowView {
  const double* values = nullptr;
  int stride = 0;
};
inline constexpr int kRowUnit = 8;

// A matrix with one column per user, as `strips` strips one after another, each
// of `strip_rows` rows of which the first `rows` count.
struct StripMatrix {
  const double* values = nullptr;
  int rows = 0;
  int strip_rows = 0;
};

// Columns of sums of products are padded to a multiple of this.
inline constexpr int kProductColumns = 8;
// Rows that gather_inliers takes at a time; lists are padded to a multiple.
inline constexpr int kGatherRows = 16;

// Pointers to the kernels, each described at the function of the same name:
// kernels.h, exact_products.h, quantise.h and sparse_kernels.h.
struct KernelTable {
  const char* name;
  void (*add_product)(PanelView m, int first, int count, const double* x,
                      double* out);
  void (*without_outliers)(PanelView w, int first_panel, int last_panel,
                           OutlierRule rule, const double* h, const float* v,
                           double* u);
  void (*sweep)(PanelView gram, const double* inverse_diagonal, int strips,
                const double* c, double* h);
  void (*load_floats)(const float* const* columns, int rows, float* strip);
  void (*load_doubles)(const float* const* columns, int rows, double* strip);
  void (*load_columns)(const double* const* columns, int rows, double* strip);
  void (*store_columns)(const double* strip, int rows, double* const* columns);
  // y of some strips in the order in which add_exact_products (if `exact`) or
  // add_products reads it: at most PaddedColumns(y.rows) values a user.
  void (*pack_columns)(StripMatrix y, int first_strip, int strips, bool exact,
                       double* packed);
  // sums += x y' over these strips, y also packed; every sum of integers stays
  // below 2^52.
  void (*add_exact_products)(StripMatrix x, StripMatrix y, int first_strip,
                             int strips, const double* packed, bool upper,
                             std::uint64_t* sums);
  void (*add_products)(StripMatrix x, int first_strip, int strips, int columns,
                       const double* packed, bool upper, double* sums);
  void (*quantise_strips)(const LatticeBounds& bounds, int rows, int strip_rows,
                          int strips, double* values);
  void (*gate_strips)(const LatticeBounds& bounds, int rows, int strip_rows,
                      int strips, double* values);
  void (*quantise_column)(const LatticeBounds& bounds, std::size_t count,
                          double* column);
  void (*gate_column)(const LatticeBounds& bounds, std::size_t count,
                      double* column);
  void (*sparse_product)(RowView w, const std::int32_t* rows,
                         const float* values, std::size_t count, double* c);
  void (*gather_inliers)(RowView w, const std::int32_t* rows, int count,
                         const double* v, OutlierRule rule, const double* h,
                         double* u, double* c);
  void (*add_exact_outer_product)(const std::int32_t* rows, const double* l,
                                  std::size_t count, const std::uint32_t* y,
                                  std::size_t columns, std::uint64_t* sums);
  void (*add_outer_product)(const std::int32_t* rows, const float* values,
                            std::size_t count, const double* y,
                            std::size_t columns, double* sums);
};

// The chosen one.
const KernelTable& Kernels();

// All that this processor can run, the plainest first.
struct KernelTables {
  const KernelTable* tables[3] = {};
  int count = 0;
};
KernelTables RunnableKernels();

// For tests and benchmarks, while no kernel runs. Null: back to the choice.
void UseKernels(const KernelTable* table);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_ISA_KERNEL_TABLE_H_
