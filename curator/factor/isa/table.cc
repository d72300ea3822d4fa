// The kernels of one instruction set: compiled once for each, with DPNMF_ISA as
// the namespace (curator/factor/CMakeLists.txt).
#include "curator/factor/isa/dense.h"
#include "curator/factor/isa/products.h"
#include "curator/factor/isa/quantise.h"
#include "curator/factor/isa/sparse.h"

#define DPNMF_NAME_OF(isa) DPNMF_QUOTED(isa)
#define DPNMF_QUOTED(isa) #isa

namespace dpnmf::curator::DPNMF_ISA {

extern const KernelTable kKernels;
const KernelTable kKernels = {
    .name = DPNMF_NAME_OF(DPNMF_ISA),
    .add_product = AddProduct,
    .without_outliers = WithoutOutliers,
    .sweep = Sweep,
    .load_floats = LoadFloatStrip,
    .load_doubles = LoadDoubleStrip,
    .load_columns = LoadColumns,
    .store_columns = StoreColumns,
    .pack_columns = PackColumns,
    .add_exact_products = AddExactProducts,
    .add_products = AddProducts,
    .quantise_strips = QuantiseStrips,
    .gate_strips = GateStrips,
    .quantise_column = QuantiseColumn,
    .gate_column = GateColumn,
    .sparse_product = SparseProduct,
    .gather_inliers = GatherInliers,
    .add_exact_outer_product = AddExactOuterProduct,
    .add_outer_product = AddOuterProduct,
};

}  // namespace dpnmf::curator::DPNMF_ISA
