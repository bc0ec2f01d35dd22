#pragma once

// The kernels that multiply panels, and the choice between them and BLAS.
//
// A panel of a has the numbers of a few rows, and a panel of b those of a few columns; for each
// depth, the direction of the sum, they lie side by side. What is missing at the edges is 0. The
// elements of panels are as large as a Scalar, and the kernel alone knows what they are: numbers
// or, where a CPU multiplies two numbers in one go, pairs of them. Some kernels take the rows of a
// one behind another, and what is missing there is anything.

#include <cstdint>
#include <limits>

#include "core/machine/addend.h"
#include "core/machine/matrix.h"
#include "core/machine/precision.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How a product is cut for the caches, and which factors stay where they lie. It follows from the
/// CPU alone, and so do the bits of sums.
struct PanelBlocks {
  /// The most elements that are added up in one go. A panel of 32 columns with 4 bytes for an
  /// element then takes 32 KiB, about a core's first cache, and 8 panels of 12 rows take 96 KiB of
  /// its second one.
  int64_t depth = 256;
  /// The most panels of a and of b whose tiles one thread computes in a row.
  int64_t row_panels = 8, column_panels = 4;
  /// The greatest distance between dense columns of a, and between dense rows of b, that stay where
  /// they lie if the kernel takes numbers as they are. Dense rows of a always do.
  int64_t columns_in_place = std::numeric_limits<int64_t>::max(), rows_in_place = 0;
};

/// How the elements of a packed a lie: depth behind depth in each panel; row behind row; or depth
/// behind depth of all rows that are packed together, if the columns of a are dense, and else row
/// behind row.
enum class LeftPanels { by_depth, in_rows, as_it_lies };

/// The part of a product that is written for one kind of CPU.
struct PanelKernel {
  /// Packs the columns of a matrix [depth, n] into panels, one behind another.
  using Pack = void (*)(const ConstMatrix& m, Scalar* panels);

  /// The rows and columns of c that one tile computes.
  int64_t tile_rows, tile_columns;
  /// The columns that `multiply` can leave out at either side of a tile, in multiples of these.
  int64_t part_columns = tile_columns;
  /// The numbers in an element of a panel, which follow one another in depth.
  int64_t numbers;
  /// The numbers of different columns that an element of a panel of b has.
  int64_t columns_in_element = 1;
  /// The elements whose products are added up in one go: a sum is cut at multiples of them alone.
  int64_t depth_step = 1;
  /// How a is packed: `by_depth` by `pack_left`, otherwise by `convert`.
  LeftPanels left_panels = LeftPanels::by_depth;
  /// Packs aᵀ into panels of `tile_rows`.
  Pack pack_left = nullptr;
  /// Packs b into panels of `tile_columns`.
  Pack pack_right;
  /// c = alpha a b + added for an a [rows, depth] of elements at any strides and one panel of b; c
  /// is a tile, or less at the edges. Where a tile has more rows than c, those of a that c lacks
  /// are read too. `step` is `panel_width()`; where numbers are elements, rows of b may lie farther
  /// apart.
  void (*multiply)(const ConstMatrix& a, const Scalar* b, int64_t step, Scalar alpha, Addend added,
                   const Matrix& c);
  /// Packs an a of one row into a panel of that row alone.
  Pack pack_row;
  /// Multiplies one row with as many panels of b as c is wide.
  void (*multiply_row)(const ConstMatrix& a, const Scalar* b, Scalar alpha, Addend added,
                       const Matrix& c);
  /// Turns an a into elements [rows, depth] in rows `step` apart or, where its columns lie dense
  /// and may stay so, in columns `step` apart. It is null where numbers are elements.
  void (*convert)(const ConstMatrix& a, Scalar* elements, int64_t step) = nullptr;
  PanelBlocks blocks{};

  /// The elements of a panel of b that have the numbers of one depth.
  int64_t panel_width() const { return tile_columns / columns_in_element; }
  /// Whether this kernel takes the rows of b where they lie.
  bool takes_in_place(const ConstMatrix& b) const {
    return !convert && b.column_stride == 1 && b.columns % tile_columns == 0;
  }
};

/// The sizes of a product c = a b.
struct ProductShape {
  /// The rows and columns of c.
  int64_t rows, columns;
  /// The columns of a, which are the rows of b.
  int64_t depth;

  ProductShape(const ConstMatrix& a, const ConstMatrix& c)
      : rows(c.rows), columns(c.columns), depth(a.columns) {}
  double multiplications() const {
    return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  }
};

/// The number of multiplications that are worth a thread. They take about 10 microseconds on one
/// thread, and cutting the work up costs one microsecond.
inline constexpr double worthwhile_products = 4e5;

/// The numbers of a factor that are worth several threads where each is multiplied with few others.
/// Then they are what takes the time: a core reads five of them in a nanosecond out of memory.
inline constexpr int64_t worthwhile_numbers = 100000;

/// Whether products in this precision round floats. Doubles are never rounded.
bool products_round(Precision precision = product_precision());

/// Returns the kernel that makes a product in this precision, or null where BLAS does.
const PanelKernel* kernel_for(const ProductShape& shape, Precision precision = product_precision());

/// Returns the kernel of all panels that are packed in this precision. One that rounds has the same
/// bits for an element of c whatever the sizes, the strides and the number of threads. A kernel for
/// pairs takes numbers below 1e-38 for 0. (PyTorch: torch.set_float32_matmul_precision("medium"))
const PanelKernel& panel_kernel(Precision precision = product_precision());

/// Returns the kernel of right factors that are packed once for many products of few rows, which
/// wait for memory: its panels are as small as they can be, and its bits are those of
/// `panel_kernel`.
const PanelKernel& weights_kernel(Precision precision = product_precision());

/// Whether bfloat16 products are faster than those of floats: they use the CPU's instructions for
/// them, AMX's tiles or the vectors of AVX512_BF16, if these multiply more numbers in a cycle than
/// the ones for floats do. The vectors do on AMD's Zen 4 and 5, and do not on Intel's Emerald
/// Rapids, which has AMX. Linux has to let a process use that; bfloat16 products ask it once.
bool has_fast_bfloat16_products();

/// Makes the whole process multiply rounded numbers as floats from now on, or by such instructions
/// again where the CPU has them. It is for tests.
void allow_fast_bfloat16_products(bool allowed);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
