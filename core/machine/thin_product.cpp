#include "core/machine/blas.h"
#include "core/machine/packed.h"
#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Whether c = a b has few rows and sums over elements that lie side by side in a and in b.
bool is_thin(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
  auto dense = [](int64_t length, int64_t stride) { return length <= 1 || stride == 1; };
  return c.rows <= thin_rows && dense(a.columns, a.column_stride) && dense(b.rows, b.row_stride);
}

/// How the columns of b are shared out. A task has enough of them to read long runs of memory.
Cut thin_tasks(Threads threads, const ConstMatrix& b) {
  constexpr int64_t of_a_task = 80000, multiple = 16;
  const int64_t columns = divide_up(of_a_task, b.rows * multiple) * multiple;
  const bool is_one = threads == Threads::one || b.rows * b.columns < worthwhile_numbers;
  return {b.columns, is_one ? b.columns : columns, 1};
}

}  // namespace

bool multiply_thin(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Addend added,
                   const Matrix& c, Threads threads) {
  if (is_thin(a, b, c)) {
    const Cut columns = thin_tasks(threads, b);
    for_each_task(threads, columns.count, [&](int64_t task) {
      const int64_t first = columns.begin(task), count = columns.extent(task);
      const Matrix part = c.columns_from(first, count);
      simd::thin_product(alpha, a, b.columns_from(first, count).transposed(),
                         added.columns_from(first).put_into(part), part);
    });
  } else if (is_thin(b.transposed(), a.transposed(), c.transposed())) {
    simd::thin_product(alpha, b.transposed(), a, added.put_into(c), c.transposed());
  } else {
    return false;
  }
  return true;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
