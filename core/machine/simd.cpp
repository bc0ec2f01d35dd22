// The loops are written once, for vectors of any width, and compiled once for each instruction set:
// foreach_target.h includes this file again and again. Which one runs is found out at run time.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/machine/simd.cpp"
#include <hwy/foreach_target.h>
// Highway wants this below foreach_target.h.
#include <hwy/cache_control.h>

#include <algorithm>
#include <limits>

#include "core/errors.h"
#include "core/machine/dispatch.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/machine/simd_functions-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE {

void map(Unary f, const Scalar* x, Scalar* y, int64_t n) {
  with_function(f, [&](auto function) HWY_ATTR {
    for_vectors(n, [&](auto access, int64_t i)
                       HWY_ATTR { access.store(function.value(access.load(x + i)), y + i); });
  });
}

/// Returns 0 where a weight of 0 made NaN of what is not finite, `product` elsewhere.
HWY_INLINE Vector left_out(Vector weight, Vector product) {
  return hn::IfThenZeroElse(hn::And(hn::Eq(weight, hn::Zero(Lanes())), hn::IsNaN(product)),
                            product);
}

void map_gradient(Unary f, const Scalar* x, const Scalar* y, const Scalar* dy, Scalar beta,
                  Scalar* dx, int64_t n) {
  with_function(f, [&](auto function) HWY_ATTR {
    for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
      Vector from = access.load(dy + i), value = access.load(y + i);
      Vector slope = left_out(from, function.gradient(access.load(x + i), value, from));
      if (beta != 0) slope = hn::MulAdd(constant(beta), access.load(dx + i), slope);
      access.store(slope, dx + i);
    });
  });
}

/// y = function(a, b)
template <class Function>
HWY_INLINE void zip_with(const Scalar* a, const Scalar* b, Scalar* y, int64_t n,
                         Function function) {
  for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
    access.store(function(access.load(a + i), access.load(b + i)), y + i);
  });
}

void zip(Binary f, const Scalar* a, const Scalar* b, Scalar* y, int64_t n) {
  switch (f) {
    case Binary::add:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return hn::Add(p, q); });
    case Binary::subtract:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return hn::Sub(p, q); });
    case Binary::multiply:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return hn::Mul(p, q); });
    case Binary::divide:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return hn::Div(p, q); });
    case Binary::maximum:
      return zip_with(a, b, y, n, [](Vector p, Vector q) HWY_ATTR { return larger(p, q); });
    case Binary::weigh:
      return zip_with(a, b, y, n,
                      [](Vector p, Vector q) HWY_ATTR { return left_out(p, hn::Mul(p, q)); });
  }
}

/// The first element of a row whose columns lie one behind another. The row may be empty.
template <class Element>
HWY_INLINE Element* row_of(const MatrixView<Element>& x, int64_t row) {
  return x.data + row * x.row_stride;
}

void add_rows(ConstMatrix a, ConstMatrix b, Matrix y) {
  for (int64_t i = 0; i < y.rows; ++i)
    zip_with(row_of(a, i), row_of(b, i), row_of(y, i), y.columns,
             [](Vector p, Vector q) HWY_ATTR { return hn::Add(p, q); });
}

void sum_rows(ConstMatrix x, Scalar* sums) {
  for_vectors(x.columns, [&](auto access, int64_t j) HWY_ATTR {
    Vector total = access.load(sums + j);
    for (int64_t i = 0; i < x.rows; ++i) total = hn::Add(total, access.load(row_of(x, i) + j));
    access.store(total, sums + j);
  });
}

void axpby(Scalar alpha, const Scalar* x, Scalar beta, Scalar* y, int64_t n) {
  if (beta == 0) {
    for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
      access.store(hn::Mul(constant(alpha), access.load(x + i)), y + i);
    });
  } else {
    for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
      Vector old = hn::Mul(constant(beta), access.load(y + i));
      access.store(hn::MulAdd(constant(alpha), access.load(x + i), old), y + i);
    });
  }
}

void multiply_add(const Scalar* a, const Scalar* b, Scalar* y, int64_t n) {
  for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
    Vector weight = access.load(a + i), old = access.load(y + i);
    Vector times = access.load(b + i), none = hn::Zero(Lanes());
    auto is_left_out = hn::And(hn::Eq(weight, none), hn::IsNaN(hn::Mul(weight, times)));
    access.store(hn::MulAdd(weight, hn::IfThenElse(is_left_out, none, times), old), y + i);
  });
}

Scalar sum(const Scalar* x, int64_t n) {
  return add_up(n, [&](auto access, int64_t i, Vector total)
                       HWY_ATTR { return hn::Add(total, access.load(x + i)); });
}

/// Sums the lanes of N vectors, with lanes / N places for each sum. Adding even lanes to odd ones
/// halves a sum's lanes, so that the sums of two vectors fit into one.
template <size_t size, size_t N = size, size_t first = 0>
HWY_INLINE Vector joined(const Vector (&sums)[size]) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (N > 1) {
    const Lanes all;
    const Vector a = joined<size, N / 2, first>(sums);
    const Vector b = joined<size, N / 2, first + N / 2>(sums);
    return hn::Add(hn::ConcatEven(all, b, a), hn::ConcatOdd(all, b, a));
  }
#endif
  return sums[first];
}

/// Asks for a row, or for the memory behind the last one.
HWY_INLINE void fetch(const Scalar* row, int64_t n) {
  constexpr int64_t line = 64 / sizeof(Scalar);
  for (int64_t i = 0; i < n; i += line) hwy::Prefetch(row + i);
}

/// How many rows ahead those are fetched that lie apart, which the CPU does not do by itself.
constexpr int64_t fetched_ahead = 4;

/// The rows of a that are read at once, each in a stream of its own.
constexpr int64_t streams = std::min<int64_t>(4, lanes);

/// Computes the products of M rows of x with a few of a, all sums at once, so that each vector is
/// loaded once for many and no addition waits for the one before. The sums of a row of x are
/// `joined`. No loop is left over within a step, so that they stay in registers until then.
template <int M>
HWY_INLINE void product_tile(const ConstMatrix& x, const Scalar* const (&rows)[streams],
                             Vector (&sums)[M]) {
  Vector totals[M][streams];
  for (auto& row : totals)
    for (Vector& total : row) total = hn::Zero(Lanes());
  for_vectors(x.columns, [&](auto access, int64_t i) HWY_ATTR {
    Vector from_x[M];
    for (int m = 0; m < M; ++m) from_x[m] = access.load(x.data + m * x.row_stride + i);
#pragma GCC unroll 4
    for (int64_t n = 0; n < streams; ++n) {
      const Vector shared = access.load(rows[n] + i);
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) totals[m][n] = hn::MulAdd(shared, from_x[m], totals[m][n]);
    }
  });
  for (int m = 0; m < M; ++m) sums[m] = joined(totals[m]);
}

/// Computes the products of M rows of x with all rows of a. Each stream has a share of the rows,
/// one behind another: a long run of memory, which the CPU fetches ahead of where it is read. One
/// stream alone would leave the memory idle at times, and four rows that lie side by side are too
/// short to be fetched ahead. The order of a sum is the same in any order of the rows.
///
///     rows of a   | 0 1 2 … | n n+1 … | 2n 2n+1 … | 3n 3n+1 … |   read as   0 n 2n 3n   1 n+1 …
template <int M>
HWY_NOINLINE void thin_product_of(Scalar alpha, ConstMatrix x, ConstMatrix a, Scalar beta,
                                  Matrix y) {
  constexpr int64_t together = lanes / streams;
  const int64_t share = divide_up(a.rows, streams);
  const bool lie_apart = a.row_stride > a.columns;
  const Scalar* rows[streams];  // the last row stands in for those that are missing
  int64_t sizes[streams];
  for (int64_t stream = 0; stream < streams; ++stream) {
    rows[stream] = &a.at(std::clamp<int64_t>(a.rows - 1, 0, stream * share), 0);
    sizes[stream] = std::clamp<int64_t>(a.rows - stream * share, 0, share);
  }
  for (int64_t begin = 0; begin < share; begin += lanes) {
    const int64_t count = std::min(lanes, share - begin);
    HWY_ALIGN Scalar sums[M][lanes][streams] = {};
    for (int64_t first = 0; first < count; first += together) {
      Vector parts[M][together];
      for (auto& row : parts)
        for (Vector& part : row) part = hn::Zero(Lanes());
      for (int64_t n = 0; n < std::min(together, count - first); ++n) {
        for (int64_t stream = 0; lie_apart && stream < streams; ++stream)
          fetch(rows[stream] + fetched_ahead * a.row_stride, a.columns);
        Vector tile[M];
        product_tile(x, rows, tile);
        for (int m = 0; m < M; ++m) parts[m][n] = tile[m];
        for (int64_t stream = 0; stream < streams; ++stream)
          rows[stream] += begin + first + n + 1 < sizes[stream] ? a.row_stride : 0;
      }
      for (int m = 0; m < M; ++m) hn::Store(joined(parts[m]), Lanes(), sums[m][first]);
    }
    for (int64_t stream = 0; stream < streams && begin < sizes[stream]; ++stream)
      for (int m = 0; m < M; ++m) {
        HWY_ALIGN Scalar of_stream[lanes];
        for (int64_t n = 0; n < lanes; ++n) of_stream[n] = sums[m][n][stream];
        const int64_t columns = std::min(count, sizes[stream] - begin);
        const Matrix row = y.block(m, 1, stream * share + begin, columns);
        store_sums(alpha, hn::Load(Lanes(), of_stream), beta, row, row);
      }
  }
}

void thin_product(Scalar alpha, ConstMatrix x, ConstMatrix a, Scalar beta, Matrix y) {
  for (int64_t m = 0; m < x.rows; m += 4) {
    const int64_t count = std::min<int64_t>(4, x.rows - m);
    const ConstMatrix rows = x.rows_from(m, count);
    const Matrix to = y.rows_from(m, count);
    if (count == 4) thin_product_of<4>(alpha, rows, a, beta, to);
    if (count == 3) thin_product_of<3>(alpha, rows, a, beta, to);
    if (count == 2) thin_product_of<2>(alpha, rows, a, beta, to);
    if (count == 1) thin_product_of<1>(alpha, rows, a, beta, to);
  }
}

/// Computes the sums of a row_product for the first `count` vectors of columns.
template <int count>
HWY_INLINE void row_product_of(Scalar alpha, ConstMatrix x, ConstMatrix a, Scalar beta, Matrix y) {
  Vector sums[count];
  for (Vector& sum : sums) sum = hn::Zero(Lanes());
  auto add = [&](auto access) HWY_ATTR {
    for (int64_t n = 0; n < a.rows; ++n) {
      const Vector weight = constant(x.at(0, n));
      fetch(&a.at(n + fetched_ahead, 0), std::min(count * lanes, y.columns));
      for (int v = 0; v < count; ++v)
        sums[v] = hn::MulAdd(weight, access.load(&a.at(n, v * lanes)), sums[v]);
    }
  };
  if (y.columns >= count * lanes)
    add(Whole<Lanes>{});
  else
    add(Part<Lanes>{y.columns});
  for (int v = 0; v < count; ++v) {
    const int64_t column = v * lanes;
    const Matrix part = y.columns_from(column, std::min(lanes, y.columns - column));
    store_sums(alpha, sums[v], beta, part, part);
  }
}

void row_product(Scalar alpha, ConstMatrix x, ConstMatrix a, Scalar beta, Matrix y) {
  auto rest = [&](int64_t column) HWY_ATTR { return y.columns_from(column, y.columns - column); };
  auto from = [&](int64_t column) HWY_ATTR { return a.columns_from(column, y.columns - column); };
  int64_t column = 0;
  for (; column + 8 * lanes <= y.columns; column += 8 * lanes)
    row_product_of<8>(alpha, x, from(column), beta, rest(column));
  for (; column + 4 * lanes <= y.columns; column += 4 * lanes)
    row_product_of<4>(alpha, x, from(column), beta, rest(column));
  for (; column < y.columns; column += lanes)
    row_product_of<1>(alpha, x, from(column), beta, rest(column));
}

/// x = 0
HWY_INLINE void clear(Scalar* x, int64_t n) {
  for_vectors(n, [&](auto access, int64_t i) HWY_ATTR { access.store(hn::Zero(Lanes()), x + i); });
}

Scalar exp_minus(const Scalar* x, Scalar shift, Scalar* y, int64_t n) {
  return add_up(n, [&](auto access, int64_t i, Vector total) HWY_ATTR {
    Vector value = exp(hn::Sub(access.load(x + i), constant(shift)));
    access.store(value, y + i);
    return hn::Add(total, value);
  });
}

void soft_cap(Scalar cap, Scalar* x, Scalar* slopes, int64_t n) {
  const Vector most = constant(cap), share = constant(1 / cap), one = constant(1);
  for_vectors(n, [&](auto access, int64_t i) HWY_ATTR {
    const Vector y = tanh(hn::Mul(share, access.load(x + i)));
    if (slopes) access.store(hn::NegMulAdd(y, y, one), slopes + i);
    access.store(hn::Mul(most, y), x + i);
  });
}

void exp_below(Matrix x, const Interval* seen, const Scalar* shifts, Scalar* sums) {
  for (int64_t row = 0; row < x.rows; ++row) {
    Scalar* const from = row_of(x, row) + seen[row].begin;
    const int64_t n = seen[row].size();
    const Vector shift = constant(shifts[row]);
    sums[row] = add_up(n, [&](auto access, int64_t i, Vector total) HWY_ATTR {
      Vector value = exp_below_zero(hn::Sub(access.load(from + i), shift));
      access.store(value, from + i);
      return hn::Add(total, value);
    });
    clear(row_of(x, row), seen[row].begin);
    clear(from + n, x.columns - seen[row].end);
  }
}

/// Returns v, but 0 where p = 0.
HWY_INLINE Vector where_seen(Vector p, Vector v) {
  return hn::IfThenZeroElse(hn::Eq(p, hn::Zero(Lanes())), v);
}

void softmax_means(ConstMatrix p, ConstMatrix dp, Scalar* means) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const Scalar *of_p = row_of(p, row), *of_dp = row_of(dp, row);
    means[row] = add_up(p.columns, [&](auto access, int64_t i, Vector total) HWY_ATTR {
      Vector seen = access.load(of_p + i);
      return hn::Add(total, where_seen(seen, hn::Mul(seen, access.load(of_dp + i))));
    });
  }
}

void softmax_gradients(ConstMatrix p, ConstMatrix dp, const Scalar* means, Scalar factor,
                       Scalar beta, Matrix dx) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const Scalar *of_p = row_of(p, row), *of_dp = row_of(dp, row);
    Scalar* const to = row_of(dx, row);
    const Vector mean = constant(means[row]);
    for_vectors(p.columns, [&](auto access, int64_t i) HWY_ATTR {
      Vector seen = access.load(of_p + i);
      Vector scaled = hn::Mul(constant(factor), seen);
      Vector slope = where_seen(seen, hn::Mul(scaled, hn::Sub(access.load(of_dp + i), mean)));
      if (beta != 0) slope = hn::MulAdd(constant(beta), access.load(to + i), slope);
      access.store(slope, to + i);
    });
  }
}

// The bits of magnitudes are ordered as these are, those of infinity and NaN last.
bool is_finite(ConstMatrix x) {
  const hn::RebindToUnsigned<Lanes> bits;
  auto greatest = hn::Zero(bits);
  for (int64_t i = 0; i < x.rows; ++i)
    for_vectors(x.columns, [&](auto access, int64_t j) HWY_ATTR {
      greatest = hn::Max(greatest, hn::BitCast(bits, hn::Abs(access.load(row_of(x, i) + j))));
    });
  return hn::AllTrue(Lanes(), hn::IsFinite(hn::BitCast(Lanes(), greatest)));
}

/// The greatest number so far, and the bits of the greatest magnitude: those of a NaN are greater
/// than those of infinity, so one comparison at the end finds it.
struct Greatest {
  Vector number;
  hn::Vec<hn::RebindToUnsigned<Lanes>> magnitude;
};

HWY_INLINE Scalar greatest_of(const Scalar* x, int64_t n) {
  const hn::RebindToUnsigned<Lanes> bits;
  auto join = [](Greatest a, Greatest b) HWY_ATTR {
    return Greatest{hn::Max(a.number, b.number), hn::Max(a.magnitude, b.magnitude)};
  };
  auto body = [&](auto access, int64_t i, Greatest greatest) HWY_ATTR {
    const Vector next = access.keep(access.load(x + i), greatest.number);
    return join(greatest, {next, hn::BitCast(bits, hn::Abs(next))});
  };
  const Greatest found = fold(n, Greatest{constant(x[0]), hn::Zero(bits)}, body, join);
  const Vector magnitude = hn::BitCast(Lanes(), found.magnitude);
  if (!hn::AllFalse(Lanes(), hn::IsNaN(magnitude))) return std::numeric_limits<Scalar>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(Lanes(), found.number));
}

Scalar maximum(const Scalar* x, int64_t n) {
  require(n >= 1, "maximum: of ", n, " numbers: expected at least 1");
  return greatest_of(x, n);
}

void maxima(ConstMatrix x, const Interval* seen, Scalar* results) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const auto [begin, end] = seen[i];
    results[i] = begin < end ? greatest_of(row_of(x, i) + begin, end - begin)
                             : -std::numeric_limits<Scalar>::infinity();
  }
}

void scale_rows(const Scalar* factors, ConstMatrix x, Matrix y) {
  for (int64_t i = 0; i < x.rows; ++i)
    for_vectors(x.columns, [&](auto access, int64_t j) HWY_ATTR {
      access.store(hn::Mul(constant(factors[i]), access.load(&x.at(i, j))), &y.at(i, j));
    });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::simd {

SHIFTGRAD_DISPATCH(map);
SHIFTGRAD_DISPATCH(map_gradient);
SHIFTGRAD_DISPATCH(zip);
SHIFTGRAD_DISPATCH(add_rows);
SHIFTGRAD_DISPATCH(sum_rows);
SHIFTGRAD_DISPATCH(axpby);
SHIFTGRAD_DISPATCH(multiply_add);
SHIFTGRAD_DISPATCH(sum);
SHIFTGRAD_DISPATCH(thin_product);
SHIFTGRAD_DISPATCH(row_product);
SHIFTGRAD_DISPATCH(exp_minus);
SHIFTGRAD_DISPATCH(soft_cap);
SHIFTGRAD_DISPATCH(exp_below);
SHIFTGRAD_DISPATCH(is_finite);
SHIFTGRAD_DISPATCH(maximum);
SHIFTGRAD_DISPATCH(maxima);
SHIFTGRAD_DISPATCH(scale_rows);
SHIFTGRAD_DISPATCH(softmax_means);
SHIFTGRAD_DISPATCH(softmax_gradients);

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (int64_t target : hwy::SupportedAndGeneratedTargets())
    names.push_back(hwy::TargetName(target));
  return names;
}

void use_instruction_set(const std::string& name) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets())
    if (name == hwy::TargetName(target)) return hwy::GetChosenTarget().Update(target);
  fail("use_instruction_set: \"", name, "\" is not one of this CPU's instruction_sets()");
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd

#endif
