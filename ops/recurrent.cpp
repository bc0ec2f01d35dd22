#include "ops/recurrent.h"

#include <initializer_list>
#include <vector>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/parallel.h"
#include "core/simd.h"
#include "core/tape.h"
#include "ops/dense_rows.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

using simd::Binary;
using simd::Unary;

/// The rows of a [B, T, X], each without a gap in it; all null for an undefined tensor.
template <class Element>
struct Rows {
  Element* data = nullptr;
  int64_t T = 1, batch_stride = 0, row_stride = 0;

  Rows() = default;
  Rows(Element* first, const Layout& layout)
      : data(first),
        T(layout.shape[1]),
        batch_stride(layout.strides[0]),
        row_stride(layout.strides[1]) {}

  Element* operator[](int64_t row) const {
    return data ? data + row / T * batch_stride + row % T * row_stride : nullptr;
  }
};

Rows<const Scalar> rows_of(const Tensor& x) {
  return x.defined() ? Rows<const Scalar>(x.data(), x.layout()) : Rows<const Scalar>();
}

/// Where the gradient of x goes row by row: into its sink, or first into a temporary where rows lie
/// on top of each other, those of x or those of another input in the same storage.
class RowSink {
 public:
  RowSink(const Tensor& x, std::initializer_list<const Tensor*> others) {
    if (!x.defined() || !(sink_ = x.gradient_sink())) return;
    direct_ = has_own_rows(sink_.target.layout());
    for (const Tensor* other : others) direct_ = direct_ && !other->shares_storage(x);
    target_ = direct_ ? sink_.target : Tensor::empty(sink_.target.shape());
    rows_ = {target_.mutable_data(), target_.layout()};
  }

  /// row[first …] = beta · row[first …] + gradient
  void add(int64_t row, int64_t first, const Scalar* gradient, int64_t n) const {
    Scalar* target = rows_[row];
    if (target) simd::axpby(1, gradient, direct_ ? sink_.beta : 0, target + first, n);
  }

  void finish() const {
    if (sink_ && !direct_) accumulate(sink_, target_);
  }

 private:
  GradientSink sink_;
  Tensor target_;
  bool direct_ = false;
  Rows<Scalar> rows_;
};

/// Each net's state before the step is [B, T, C], or undefined.
bool is_state(const Tensor& before, const Dims& shape, int64_t gates) {
  return shape.size() == 3 && shape[2] % gates == 0 &&
         (!before.defined() || before.shape() == Dims{shape[0], shape[1], shape[2] / gates});
}

Dims shape_of(const Tensor& x) { return x.defined() ? x.shape() : Dims{}; }

/// Calls body(row, scratch of so many elements) for all rows.
template <class Body>
void for_each_row(int64_t rows, int64_t scratch_size, Body body) {
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    std::vector<Scalar> scratch(static_cast<size_t>(scratch_size));
    for (int64_t row = begin; row < end; ++row) body(row, scratch.data());
  });
}

/// r, z, n of a row, 3C.
void gru_gates(const Scalar* p, const Scalar* u, Scalar* gates, int64_t C) {
  Scalar* n = gates + 2 * C;
  simd::zip(Binary::add, p, u, gates, 2 * C);
  simd::map(Unary::sigmoid, gates, gates, 2 * C);
  simd::zip(Binary::multiply, gates, u + 2 * C, n, C);
  simd::zip(Binary::add, p + 2 * C, n, n, C);
  simd::map(Unary::tanh, n, n, C);
}

/// i, f, g, o of a row, 4C.
void lstm_gates(const Scalar* sums, Scalar* gates, int64_t C) {
  simd::map(Unary::sigmoid, sums, gates, 2 * C);
  simd::map(Unary::tanh, sums + 2 * C, gates + 2 * C, C);
  simd::map(Unary::sigmoid, sums + 3 * C, gates + 3 * C, C);
}

}  // namespace

Tensor gru_step(const Tensor& projected, const Tensor& recurrent, const Tensor& hidden) {
  const Dims& shape = projected.shape();
  require(recurrent.shape() == shape && is_state(hidden, shape, 3), "gru_step: ", shape, " with ",
          recurrent.shape(), " and ", shape_of(hidden),
          ": expected [B, T, 3C] twice and [B, T, C]");
  Tensor p = with_dense_rows(projected), u = with_dense_rows(recurrent);
  Tensor h = with_dense_rows(hidden);
  int64_t rows = p.size(0) * p.size(1), C = p.size(2) / 3;
  Tensor y = Tensor::empty({p.size(0), p.size(1), C});  // [B, T, C]
  Scalar* out = y.mutable_data();
  for_each_row(rows, 3 * C,
               [&, P = rows_of(p), U = rows_of(u), H = rows_of(h)](int64_t row, Scalar* gates) {
                 gru_gates(P[row], U[row], gates, C);
                 const Scalar *z = gates + C, *n = gates + 2 * C, *before = H[row];
                 Scalar* after = out + row * C;
                 for (int64_t c = 0; c < C; ++c)
                   after[c] = n[c] + z[c] * ((before ? before[c] : 0) - n[c]);
               });
  record(y, {&p, &u, &h}, [p, u, h, rows, C](const Tensor& dy) {
    RowSink dp(p, {&u, &h}), du(u, {&p, &h}), dh(h, {&p, &u});
    Rows P = rows_of(p), U = rows_of(u), H = rows_of(h), G = rows_of(dy);
    for_each_row(rows, 8 * C, [&](int64_t row, Scalar* scratch) {
      gru_gates(P[row], U[row], scratch, C);
      const Scalar *r = scratch, *z = scratch + C, *n = scratch + 2 * C;
      const Scalar *g = G[row], *u_n = U[row] + 2 * C, *before = H[row];
      Scalar* d = scratch + 3 * C;  // of r, z and n before their functions; of u_n; of h
      for (int64_t c = 0; c < C; ++c) {
        Scalar dn = g[c] * (1 - z[c]) * (1 - n[c] * n[c]);
        d[c] = dn * u_n[c] * r[c] * (1 - r[c]);
        d[C + c] = g[c] * ((before ? before[c] : 0) - n[c]) * z[c] * (1 - z[c]);
        d[2 * C + c] = dn;
        d[3 * C + c] = dn * r[c];
        d[4 * C + c] = g[c] * z[c];
      }
      dp.add(row, 0, d, 3 * C);
      du.add(row, 0, d, 2 * C);
      du.add(row, 2 * C, d + 3 * C, C);
      dh.add(row, 0, d + 4 * C, C);
    });
    for (const RowSink* sink : {&dp, &du, &dh}) sink->finish();
  });
  return y;
}

Tensor lstm_step(const Tensor& sums, const Tensor& cell) {
  require(is_state(cell, sums.shape(), 4), "lstm_step: ", sums.shape(), " with ", shape_of(cell),
          ": expected [B, T, 4C] and [B, T, C]");
  Tensor s = with_dense_rows(sums), c0 = with_dense_rows(cell);
  int64_t rows = s.size(0) * s.size(1), C = s.size(2) / 4;
  Tensor y = Tensor::empty({2, s.size(0), s.size(1), C});  // [2, B, T, C]
  Scalar *hidden = y.mutable_data(), *cells = hidden + rows * C;
  for_each_row(rows, 4 * C, [&, S = rows_of(s), B = rows_of(c0)](int64_t row, Scalar* gates) {
    lstm_gates(S[row], gates, C);
    const Scalar *i = gates, *f = gates + C, *g = gates + 2 * C, *o = gates + 3 * C;
    const Scalar* before = B[row];
    Scalar *after = cells + row * C, *h = hidden + row * C;
    for (int64_t c = 0; c < C; ++c) after[c] = f[c] * (before ? before[c] : 0) + i[c] * g[c];
    simd::map(Unary::tanh, after, h, C);
    simd::zip(Binary::multiply, o, h, h, C);
  });
  record(y, {&s, &c0}, [s, c0, cells, y, rows, C](const Tensor& dy) {
    RowSink ds(s, {&c0}), dc(c0, {&s});
    Rows S = rows_of(s), B = rows_of(c0);
    Tensor gradient = contiguous(dy);
    for_each_row(rows, 10 * C, [&](int64_t row, Scalar* scratch) {
      lstm_gates(S[row], scratch, C);
      const Scalar *i = scratch, *f = scratch + C, *g = scratch + 2 * C, *o = scratch + 3 * C;
      const Scalar *dh = gradient.data() + row * C, *dc_after = dh + rows * C, *before = B[row];
      Scalar *d = scratch + 4 * C, *squashed = scratch + 9 * C;  // d: of i, f, g, o; of c
      simd::map(Unary::tanh, cells + row * C, squashed, C);
      for (int64_t c = 0; c < C; ++c) {
        Scalar t = squashed[c], total = dc_after[c] + dh[c] * o[c] * (1 - t * t);
        d[c] = total * g[c] * i[c] * (1 - i[c]);
        d[C + c] = total * (before ? before[c] : 0) * f[c] * (1 - f[c]);
        d[2 * C + c] = total * i[c] * (1 - g[c] * g[c]);
        d[3 * C + c] = dh[c] * t * o[c] * (1 - o[c]);
        d[4 * C + c] = total * f[c];
      }
      ds.add(row, 0, d, 4 * C);
      dc.add(row, 0, d + 4 * C, C);
    });
    for (const RowSink* sink : {&ds, &dc}) sink->finish();
  });
  return y;
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
