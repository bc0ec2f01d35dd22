#include "ops/recurrent.h"

#include <algorithm>
#include <vector>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
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

/// The operands of a step, with dense rows; u and before may be undefined.
struct Step {
  RecurrentCell cell;
  Tensor p, u, before;
  CellColumns column = columns(cell);
  int64_t rows = p.size(0) * p.size(1), C = p.size(2) / column.gates;
  bool lstm = cell == RecurrentCell::lstm;

  /// Calls body(row, kept) for each row that has run, kept as `cells.h` says.
  void run(auto body) const {
    const Rows P(p), U(u), B(before);
    parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
      std::vector<Scalar> kept(static_cast<size_t>(column.row * C));
      for (int64_t row = begin; row < end; ++row) {
        if (U[row])
          std::copy_n(U[row], column.gates * C, kept.data());
        else
          std::fill_n(kept.data(), column.gates * C, Scalar{0});
        cell_forward(cell, P[row], nullptr, B[row], kept.data(), C);
        body(row, kept.data());
      }
    });
  }

  /// Sets y [1, B, T, C] to h', and that of an LSTM [2, B, T, C] to h' and c'.
  void forward(const Tensor& y) const {
    Scalar* after = y.mutable_data();
    run([&](int64_t row, const Scalar* kept) {
      std::copy_n(kept + column.hidden * C, C, after + row * C);
      if (lstm) std::copy_n(kept + column.state * C, C, after + (rows + row) * C);
    });
  }

  void backward(const Tensor& dy) const {
    auto zeros_for = [](const Tensor& x) {
      return x.requires_gradient() ? Tensor::zeros(x.shape()) : Tensor();
    };
    Tensor dp = zeros_for(p), du = zeros_for(u), dbefore = zeros_for(before);
    const Scalar* dafter = dy.data();
    run([&, B = Rows(before)](int64_t row, const Scalar* kept) {
      std::vector<Scalar> d(static_cast<size_t>(column.gradient * C));
      std::vector<Scalar> dh(dafter + row * C, dafter + (row + 1) * C), dc(dh.size());
      if (lstm) std::copy_n(dafter + (rows + row) * C, C, dc.data());
      cell_backward(cell, kept, B[row], dh.data(), dc.data(), d.data(), C);
      int64_t at = row * column.gates * C;
      if (dp.defined()) add_projected_gradient(cell, d.data(), dp.mutable_data() + at, C);
      if (du.defined()) std::copy_n(d.data(), column.gates * C, du.mutable_data() + at);
      const auto& passed = lstm ? dc : dh;
      if (dbefore.defined()) std::ranges::copy(passed, dbefore.mutable_data() + row * C);
    });
    accumulate(p.open_gradient(), dp);
    accumulate(u.open_gradient(), du);
    accumulate(before.open_gradient(), dbefore);
  }
};

}  // namespace

RecurrentState recurrent_step(RecurrentCell cell, const Tensor& projected, const Tensor& recurrent,
                              const Tensor& before) {
  check_step(cell, projected, recurrent, before);
  Step step{cell, with_dense_rows(projected), with_dense_rows(recurrent), with_dense_rows(before)};
  Tensor y = Tensor::empty({step.lstm ? 2 : 1, step.p.size(0), step.p.size(1), step.C});
  step.forward(y);
  record(y, {&step.p, &step.u, &step.before}, [step](const Tensor& dy) { step.backward(dy); });
  return {select(y, 0, 0), step.lstm ? select(y, 0, 1) : Tensor()};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
