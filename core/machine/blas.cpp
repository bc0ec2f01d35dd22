#include "core/machine/blas.h"

#include <cblas.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <type_traits>

#include "core/errors.h"
#include "core/machine/no_fork.h"
#include "core/machine/openblas.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The names of the routines, which are all that differs between the precisions.
#ifdef SHIFTGRAD_DOUBLE
constexpr auto blas_gemm = cblas_dgemm;
constexpr auto blas_gemv = cblas_dgemv;
constexpr auto blas_copy = cblas_domatcopy;
#else
constexpr auto blas_gemm = cblas_sgemm;
constexpr auto blas_gemv = cblas_sgemv;
constexpr auto blas_copy = cblas_somatcopy;
#endif

/// Calls a routine of BLAS. OpenBLAS takes its buffers under a lock, which a fork must not copy.
template <class... Arguments>
void call(void (*routine)(Arguments...), std::type_identity_t<Arguments>... arguments) {
  NoFork hold;
  routine(arguments...);
}

blasint blas_size(int64_t size) {
  require(size <= std::numeric_limits<blasint>::max(), "gemm: a size or stride of ", size,
          ": BLAS takes at most ", std::numeric_limits<blasint>::max());
  return static_cast<blasint>(size);
}

/// A matrix as BLAS takes it: rows at a distance of `leading`, or the transpose of such a matrix.
struct BlasForm {
  CBLAS_TRANSPOSE transpose;
  int64_t leading;
};

/// The distance between rows, if the elements within a row follow one another.
template <class Element>
std::optional<int64_t> leading_of_rows(const MatrixView<Element>& m) {
  int64_t width = std::max<int64_t>(m.columns, 1);
  if (m.columns > 1 && m.column_stride != 1) return std::nullopt;
  if (m.rows <= 1) return width;
  if (m.row_stride < width) return std::nullopt;
  return m.row_stride;
}

template <class Element>
std::optional<BlasForm> blas_form(const MatrixView<Element>& m) {
  if (auto leading = leading_of_rows(m)) return BlasForm{CblasNoTrans, *leading};
  if (auto leading = leading_of_rows(m.transposed())) return BlasForm{CblasTrans, *leading};
  return std::nullopt;
}

/// c = added + beta c
void add_scaled(const ConstMatrix& added, Scalar beta, const Matrix& c) {
  for (int64_t row = 0; row < c.rows; ++row)
    add_run(1, &added.at(row, 0), added.column_stride, beta, &c.at(row, 0), c.column_stride,
            c.columns);
}

/// c = alpha a b + beta c for a c of one column.
void multiply_column(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Scalar beta,
                     const Matrix& c) {
  auto step = [](const auto& column) { return column.rows > 1 ? column.row_stride : 1; };
  BlasForm form = *blas_form(a);
  bool transposed = form.transpose == CblasTrans;
  blasint rows = blas_size(transposed ? a.columns : a.rows);
  blasint columns = blas_size(transposed ? a.rows : a.columns);
  blasint leading = blas_size(form.leading), b_step = blas_size(step(b)),
          c_step = blas_size(step(c));
  call(blas_gemv, CblasRowMajor, form.transpose, rows, columns, alpha, a.data, leading, b.data,
       b_step, beta, c.data, c_step);
}

/// Calls body(begin, length) for pieces of 0 … size-1.
template <class Body>
void for_pieces(int64_t size, int64_t length, Body body) {
  for (int64_t begin = 0; begin < size; begin += length)
    body(begin, std::min(length, size - begin));
}

/// c = alpha a b + beta c for a c whose rows lie at a distance of `leading`. The product is made in
/// pieces of just below a million multiplications where the CPU is faster at these.
void multiply_rows(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Scalar beta,
                   const Matrix& c, int64_t leading) {
  BlasForm a_form = *blas_form(a), b_form = *blas_form(b);
  blasint m = blas_size(c.rows), n = blas_size(c.columns), k = blas_size(a.columns);
  blasint a_leading = blas_size(a_form.leading), b_leading = blas_size(b_form.leading);
  constexpr int64_t rows = 60, columns = 64, depth = 256;
  if (ProductShape(a, c).multiplications() <= rows * columns * depth ||
      b_form.transpose == CblasTrans || !openblas_is_faster_in_pieces())
    return call(blas_gemm, CblasRowMajor, a_form.transpose, b_form.transpose, m, n, k, alpha,
                a.data, a_leading, b.data, b_leading, beta, c.data, blas_size(leading));
  for_pieces(n, columns, [&](int64_t column, int64_t width) {
    for_pieces(k, depth, [&](int64_t inner, int64_t length) {
      ConstMatrix part = b.block(inner, length, column, width);
      for_pieces(m, rows, [&](int64_t row, int64_t height) {
        multiply_rows(alpha, a.block(row, height, inner, length), part, inner == 0 ? beta : 1,
                      c.block(row, height, column, width), leading);
      });
    });
  });
}

/// c = alpha a b + added for a and b that have a BLAS form. One row or column of c goes to gemv:
/// gemm is as fast only on CPUs for which OpenBLAS has kernels for small matrices, and is 4 to 10
/// times slower on others, or if the matrix is large.
void multiply(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Addend added,
              const Matrix& c) {
  if (multiply_thin(alpha, a, b, added, c)) return;
  const Scalar beta = added.put_into(c);
  if (!blas_form(c)) {
    MatrixCopy product(c.rows, c.columns);
    multiply(alpha, a, b, 0, product.matrix);
    add_scaled(product.matrix, beta, c);
  } else if (c.columns == 1) {
    multiply_column(alpha, a, b, beta, c);
  } else if (c.rows == 1) {
    multiply_column(alpha, b.transposed(), a.transposed(), beta, c.transposed());
  } else if (auto leading = leading_of_rows(c)) {
    multiply_rows(alpha, a, b, beta, c, *leading);
  } else {
    multiply(alpha, b.transposed(), a.transposed(), beta, c.transposed());
  }
}

/// Whether b's columns lie dense, and copying it in rows costs little compared with what
/// `multiply_rows` gains by that: b is read once for the many times that a's rows are multiplied
/// with it.
bool is_worth_transposing(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
  constexpr int64_t many_rows = 128;
  return a.rows >= many_rows && leading_of_rows(c) && !leading_of_rows(b) &&
         leading_of_rows(b.transposed()) && openblas_is_faster_in_pieces();
}

/// Copies b, whose columns lie dense, to `rows` on all threads.
void copy_to_rows(const ConstMatrix& b, const Matrix& rows) {
  blasint leading = blas_size(*leading_of_rows(b.transposed()));
  parallel_ranges(b.columns, 128, [&](int64_t begin, int64_t end) {
    call(blas_copy, CblasRowMajor, CblasTrans, blas_size(end - begin), blas_size(b.rows), 1,
         b.data + begin * leading, leading, rows.data + begin, blas_size(rows.row_stride));
  });
}

/// The length of the strips into which an axis of c is cut for the threads. The number of strips is
/// a power of two, so that they divide evenly on most machines. Where BLAS packs its operands,
/// shorter strips of 64 or 96 cost up to a tenth of the speed, since each packs the whole other
/// operand for itself.
int64_t strip_length(int64_t size) {
  auto strips_of = [&](int64_t longest) {
    return std::bit_ceil(static_cast<uint64_t>(divide_up(size, longest)));
  };
  uint64_t strips = std::clamp<uint64_t>(strips_of(192), 2, 8);
  strips = std::max(strips, strips_of(256));
  constexpr int64_t multiple = 16;  // a multiple of every CPU's vectors
  int64_t length = divide_up(size, static_cast<int64_t>(strips));
  return divide_up(length, multiple) * multiple;
}

/// The number of parts into which sums are cut that are far longer than c is wide, such as those of
/// a weight's gradient over many tokens: strips of c would each pack all of one operand.
constexpr int64_t inner_parts = 4;

/// Makes a product of each part and adds them up in order.
void multiply_in_parts(Scalar alpha, const ConstMatrix& a, const ConstMatrix& b, Addend added,
                       const Matrix& c) {
  MatrixCopy products(inner_parts * c.rows, c.columns);
  int64_t length = divide_up(a.columns, inner_parts);
  auto part = [&](int64_t n) { return products.matrix.rows_from(n * c.rows, c.rows); };
  parallel_for(inner_parts, [&](int64_t n) {
    int64_t begin = n * length, count = std::min(length, a.columns - begin);
    multiply(alpha, a.columns_from(begin, count), b.rows_from(begin, count), 0, part(n));
  });
  parallel_ranges(c.rows, 32, [&](int64_t begin, int64_t end) {
    const Matrix rows = c.rows_from(begin, end - begin);
    const Scalar beta = added.put_into(rows);
    for (int64_t n = 0; n < inner_parts; ++n)
      add_scaled(part(n).rows_from(begin, end - begin), n == 0 ? beta : 1, rows);
  });
}

}  // namespace

// OpenBLAS has kernels of its own for products that are small, and takes thin ones where they lie.
bool blas_is_faster(const ProductShape& shape) {
  constexpr int64_t thin = 16;
  return sizeof(Scalar) != sizeof(float) || !panels_beat_openblas() ||
         std::min(shape.rows, shape.columns) <= thin ||
         shape.multiplications() < worthwhile_products;
}

void blas_product(Scalar alpha, ConstMatrix a, ConstMatrix b, Addend added, Matrix c,
                  Threads threads) {
  const bool in_parts = a.columns >= 2 * inner_parts * std::max(c.rows, c.columns);
  if (c.rows <= thin_rows && !in_parts && multiply_thin(alpha, a, b, added, c, threads)) return;
  if (ProductShape(a, c).multiplications() < worthwhile_products) threads = Threads::one;
  std::optional<MatrixCopy> copy_of_a, copy_of_b;
  if (threads == Threads::all && is_worth_transposing(a, b, c)) {
    copy_to_rows(b, copy_of_b.emplace(b.rows, b.columns).matrix);
    b = copy_of_b->matrix;
  }
  // BLAS takes no others.
  if (!blas_form(a)) a = copy_of_a.emplace(a).matrix;
  if (!blas_form(b)) b = copy_of_b.emplace(b).matrix;
  if (threads == Threads::one) {
    multiply(alpha, a, b, added, c);
  } else if (in_parts) {
    multiply_in_parts(alpha, a, b, added, c);
  } else if (c.rows >= c.columns) {
    parallel_ranges(c.rows, strip_length(c.rows), [&](int64_t begin, int64_t end) {
      multiply(alpha, a.rows_from(begin, end - begin), b, added, c.rows_from(begin, end - begin));
    });
  } else {
    parallel_ranges(c.columns, strip_length(c.columns), [&](int64_t begin, int64_t end) {
      multiply(alpha, a, b.columns_from(begin, end - begin), added.columns_from(begin),
               c.columns_from(begin, end - begin));
    });
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
