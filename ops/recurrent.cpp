#include "shiftgrad/ops/recurrent.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "shiftgrad/core/accumulate.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/core/tape.h"
#include "shiftgrad/ops/dense_rows.h"
#include "shiftgrad/ops/recurrent/cells.h"
#include "shiftgrad/ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

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

/// The place to which the gradient of x goes row by row: its sink, or first a temporary where rows
/// lie on top of each other, be they those of x or of another input in the same storage.
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

/// Whether each net's state before the step is [B, T, C], or undefined.
bool is_state(const Tensor& before, const Dims& shape, int64_t gates) {
  return shape.size() == 3 && shape[2] % gates == 0 &&
         (!before.defined() || before.shape() == Dims{shape[0], shape[1], shape[2] / gates});
}

Dims shape_of(const Tensor& x) { return x.defined() ? x.shape() : Dims{}; }

/// Calls body(row, scratch) for all rows, with a scratch of `scratch_size` elements.
template <class Body>
void for_each_row(int64_t rows, int64_t scratch_size, Body body) {
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    std::vector<Scalar> scratch(static_cast<size_t>(scratch_size));
    for (int64_t row = begin; row < end; ++row) body(row, scratch.data());
  });
}

constexpr CellColumns gru = columns(RecurrentCell::gru), lstm = columns(RecurrentCell::lstm);

/// Computes all that a step of one net leaves, from p and u; a null u is 0.
void run(RecurrentCell cell, const Scalar* p, const Scalar* u, const Scalar* before, Scalar* row,
         int64_t C) {
  int64_t gates = columns(cell).gates * C;
  if (u) {
    std::copy_n(u, gates, row);
  } else {
    std::fill_n(row, gates, Scalar{0});
  }
  cell_forward(cell, p, nullptr, before, row, C);
}

}  // namespace

Tensor gru_step(const Tensor& projected, const Tensor& recurrent, const Tensor& hidden) {
  require_defined("gru_step", "projected", projected);
  require_defined("gru_step", "recurrent", recurrent);
  const Dims& shape = projected.shape();
  require(recurrent.shape() == shape && is_state(hidden, shape, 3), "gru_step: ", shape, " with ",
          recurrent.shape(), " and ", shape_of(hidden),
          ": expected [B, T, 3C] twice and [B, T, C]");
  Tensor p = with_dense_rows(projected), u = with_dense_rows(recurrent);
  Tensor h = with_dense_rows(hidden);
  int64_t rows = p.size(0) * p.size(1), C = p.size(2) / 3;
  Tensor y = Tensor::empty({p.size(0), p.size(1), C});  // [B, T, C]
  Scalar* after = y.mutable_data();
  for_each_row(rows, gru.row * C,
               [&, P = rows_of(p), U = rows_of(u), H = rows_of(h)](int64_t row, Scalar* kept) {
                 run(RecurrentCell::gru, P[row], U[row], H[row], kept, C);
                 std::copy_n(kept + gru.hidden * C, C, after + row * C);
               });
  record(y, {&p, &u, &h}, [p, u, h, rows, C](const Tensor& dy) {
    RowSink dp(p, {&u, &h}), du(u, {&p, &h}), dh(h, {&p, &u});
    Rows P = rows_of(p), U = rows_of(u), H = rows_of(h), G = rows_of(dy);
    for_each_row(rows, (gru.row + gru.gradient + 1) * C, [&](int64_t row, Scalar* kept) {
      Scalar *d = kept + gru.row * C, *passed = d + gru.gradient * C;
      run(RecurrentCell::gru, P[row], U[row], H[row], kept, C);
      std::copy_n(G[row], C, passed);
      cell_backward(RecurrentCell::gru, kept, H[row], passed, nullptr, d, C);
      dp.add(row, 0, d, 2 * C);
      dp.add(row, 2 * C, d + 3 * C, C);
      du.add(row, 0, d, 3 * C);
      dh.add(row, 0, passed, C);
    });
    for (const RowSink* sink : {&dp, &du, &dh}) sink->finish();
  });
  return y;
}

Tensor lstm_step(const Tensor& sums, const Tensor& cell) {
  require_defined("lstm_step", "sums", sums);
  require(is_state(cell, sums.shape(), 4), "lstm_step: ", sums.shape(), " with ", shape_of(cell),
          ": expected [B, T, 4C] and [B, T, C]");
  Tensor s = with_dense_rows(sums), c0 = with_dense_rows(cell);
  int64_t rows = s.size(0) * s.size(1), C = s.size(2) / 4;
  Tensor y = Tensor::empty({2, s.size(0), s.size(1), C});  // [2, B, T, C]
  Scalar *hidden = y.mutable_data(), *cells = hidden + rows * C;
  for_each_row(rows, lstm.row * C, [&, S = rows_of(s), B = rows_of(c0)](int64_t row, Scalar* kept) {
    run(RecurrentCell::lstm, S[row], nullptr, B[row], kept, C);
    std::copy_n(kept + lstm.hidden * C, C, hidden + row * C);
    std::copy_n(kept + lstm.state * C, C, cells + row * C);
  });
  record(y, {&s, &c0}, [s, c0, rows, C](const Tensor& dy) {
    RowSink ds(s, {&c0}), dc(c0, {&s});
    Rows S = rows_of(s), B = rows_of(c0);
    Tensor gradient = contiguous(dy);
    for_each_row(rows, (lstm.row + lstm.gradient + 2) * C, [&](int64_t row, Scalar* kept) {
      Scalar *d = kept + lstm.row * C, *dh = d + lstm.gradient * C, *dcell = dh + C;
      run(RecurrentCell::lstm, S[row], nullptr, B[row], kept, C);
      std::copy_n(gradient.data() + row * C, C, dh);
      std::copy_n(gradient.data() + (rows + row) * C, C, dcell);
      cell_backward(RecurrentCell::lstm, kept, B[row], dh, dcell, d, C);
      ds.add(row, 0, d, 4 * C);
      dc.add(row, 0, dcell, C);
    });
    for (const RowSink* sink : {&ds, &dc}) sink->finish();
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
