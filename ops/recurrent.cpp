#include "ops/recurrent.h"

#include <algorithm>
#include <vector>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/concat.h"
#include "ops/dense_rows.h"
#include "ops/recurrent/cells.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The rows of a [B, T, X], each without a gap in it; all null for an undefined tensor.
struct Rows {
  const Scalar* data = nullptr;
  int64_t T = 1, batch_stride = 0, row_stride = 0;

  explicit Rows(const Tensor& x) {
    if (!x.defined()) return;
    data = x.data();
    T = x.size(1);
    batch_stride = x.layout().strides[0];
    row_stride = x.layout().strides[1];
  }
  const Scalar* operator[](int64_t row) const {
    return data ? data + row / T * batch_stride + row % T * row_stride : nullptr;
  }
};

void check_step(RecurrentCell cell, const Tensor& p, const Tensor& u, const Tensor& before) {
  require_defined("recurrent_step", "projected", p);
  int64_t gates = gate_count(cell);
  auto is_or_none = [](const Tensor& x, const Dims& shape) {
    return !x.defined() || x.shape() == shape;
  };
  bool fits = p.rank() == 3 && p.size(2) % gates == 0 && is_or_none(u, p.shape()) &&
              is_or_none(before, {p.size(0), p.size(1), p.size(2) / gates});
  auto shape_of = [](const Tensor& x) { return x.defined() ? x.shape() : Dims{}; };
  require(fits, "recurrent_step: ", p.shape(), " with ", shape_of(u), " and ", shape_of(before),
          ": expected [B, T, ", gates, "C] twice and [B, T, C]");
}

}  // namespace

RecurrentState recurrent_step(RecurrentCell cell, const Tensor& projected, const Tensor& recurrent,
                              const Tensor& before) {
  check_step(cell, projected, recurrent, before);
  bool lstm = cell == RecurrentCell::lstm;
  CellColumns column = columns(cell);
  Tensor p = with_dense_rows(projected), u = with_dense_rows(recurrent);
  Tensor b = with_dense_rows(before);
  int64_t rows = p.size(0) * p.size(1), C = p.size(2) / column.gates;
  Tensor y = Tensor::empty({lstm ? 2 : 1, p.size(0), p.size(1), C});  // h', and LSTM's c'
  Scalar* after = y.mutable_data();
  parallel_ranges(rows, 32, [&, P = Rows(p), U = Rows(u), B = Rows(b)](int64_t begin, int64_t end) {
    std::vector<Scalar> kept(static_cast<size_t>(column.row * C));
    for (int64_t row = begin; row < end; ++row) {
      if (U[row])
        std::copy_n(U[row], column.gates * C, kept.data());
      else
        std::fill_n(kept.data(), column.gates * C, Scalar{0});
      cell_forward(cell, P[row], nullptr, B[row], kept.data(), C);
      std::copy_n(kept.data() + column.hidden * C, C, after + row * C);
      if (lstm) std::copy_n(kept.data() + column.state * C, C, after + (rows + row) * C);
    }
  });
  record(y, {&p, &u, &b}, [cell, lstm, p, u, b](const Tensor& dy) {
    Tape tape;
    auto [h, c] = composed_step(cell, p, u, b);
    tape.backward(lstm ? concat({unsqueeze(h, 0), unsqueeze(c, 0)}, 0) : unsqueeze(h, 0), dy);
  });
  return {select(y, 0, 0), lstm ? select(y, 0, 1) : Tensor()};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
