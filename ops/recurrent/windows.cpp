// Runs a cell over every window of s tokens. Window r, of T in each of B batch members, begins at
// token first(r); step n of all windows is a product,
//
//     u = h_{n-1} W_hhᵀ,     h_n = cell(p_{first(r) + n}, u, h_{n-1})          [windows, gC]
//
// and the way back, with d_n the gradient of a step's sums, is
//
//     dh_{n-1} = d_n W_hh,     dp_{first(r) + n} += d_n,     dW_hh += Σ_n d_nᵀ h_{n-1}
//
// Windows are cut into groups, one to a task, and groups into blocks: all steps of a block follow
// one another while it lies in the caches. dW_hh has a sum for each group. The last windows of a
// group reach into tokens of the next; what those tokens get waits until all groups are done.
//
// Time O(B T s C²). Memory O(B T s C) for the rows of `cells.h`, when recording, and O((s + C) C)
// for each group.

#include <algorithm>
#include <array>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/interval.h"
#include "core/machine/packed_product.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "ops/recurrent.h"
#include "ops/recurrent/cells.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The sums of what the windows pass back; undefined where nobody wants it.
struct WindowGradients {
  Tensor projected;     // [B, s - 1 + T, gC]
  Tensor beyond;        // [groups, s - 1, gC], for the tokens behind a group's own
  Tensor weight, bias;  // [groups, gC, C], [groups, gC]
};

/// A cell and all of its windows.
struct Windows {
  RecurrentCell cell;
  Tensor projected, weight, bias;  // [B, s - 1 + T, gC], [gC, C], [gC] or undefined
  int64_t s;
  int64_t T = projected.size(1) - s + 1, C = weight.size(1), gates = weight.size(0);
  int64_t count = projected.size(0) * T;
  CellColumns column = columns(cell);
  Tensor rows = {};  // [windows, s, row], of a block step by step; undefined when not recording

  void forward(const Tensor& y) const {
    Packed weights(ConstMatrix::row_major(weight.data(), gates, C).transposed(),  // [C, gC]
                   packing_pays(count));
    parallel_for(groups(), [&](int64_t group) {
      for_each_block(group, [&](auto block) { forward(block, weights, y.mutable_data()); });
    });
  }

  void backward(const Tensor& dy) const {
    Tensor dh = contiguous(dy);
    int64_t parts = std::max<int64_t>(groups(), 1);
    WindowGradients sums;
    sums.projected = zeroed_target(projected.open_gradient());
    if (sums.projected.defined()) sums.beyond = Tensor::zeros({groups(), s - 1, gates});
    if (weight.requires_gradient()) sums.weight = Tensor::zeros({parts, gates, C});
    if (bias.defined() && bias.requires_gradient()) sums.bias = Tensor::zeros({parts, gates});
    Packed weights(ConstMatrix::row_major(weight.data(), gates, C), packing_pays(count));
    parallel_for(groups(), [&](int64_t group) {
      for_each_block(group, [&](auto block) { backward(group, block, weights, dh.data(), sums); });
    });
    if (sums.projected.defined()) add_beyond(sums);
    join(sums.weight, weight);
    join(sums.bias, bias);
  }

 private:
  // How the windows are cut depends on their number alone. All rows of a block and of its gradients
  // stay in a core's second cache.
  static constexpr int64_t most_groups = 16, block_length = 32;
  int64_t group_length() const {
    return std::max<int64_t>(divide_up(count, most_groups * block_length), 1) * block_length;
  }
  int64_t groups() const { return divide_up(count, group_length()); }
  int64_t end(int64_t group) const { return std::min(count, (group + 1) * group_length()); }

  template <class Body>
  void for_each_block(int64_t group, Body body) const {
    for (int64_t begin = group * group_length(); begin < end(group); begin += block_length)
      body(Interval{begin, std::min(end(group), begin + block_length)});
  }

  int64_t first(int64_t window) const { return window / T * projected.size(1) + window % T; }
  static Scalar* at(const Matrix& m, int64_t r) { return m.data + r * m.row_stride; }

  void forward(const Interval& block, const Packed& transposed_weights, Scalar* y) const {
    // Unless all rows are kept, a step needs those of the one before only.
    int64_t kept = rows.defined() ? s : 2, width = column.row * C, size = block.size() * width;
    Tensor own = rows.defined() ? Tensor() : Tensor::empty({kept, size});
    Scalar* data =
        rows.defined() ? rows.mutable_data() + block.begin * s * width : own.mutable_data();
    Matrix before{}, now{};
    for (int64_t n = 0; n < s; ++n, before = now) {
      now = Matrix::row_major(data + n % kept * size, block.size(), width);
      if (n > 0)
        tile_product(1, before.columns_from(column.hidden * C, C), transposed_weights.in_one(), 0,
                     now.columns_from(0, gates));
      for (int64_t r = 0; r < now.rows; ++r) {
        if (n == 0) std::fill_n(at(now, r), gates, Scalar{0});
        cell_forward(cell, projected.data() + (first(block.begin + r) + n) * gates,
                     bias.defined() ? bias.data() : nullptr,
                     n > 0 ? at(before, r) + column.state * C : nullptr, at(now, r), C);
      }
    }
    for (int64_t r = 0; r < now.rows; ++r)
      std::copy_n(at(now, r) + column.hidden * C, C, y + (block.begin + r) * C);
  }

  void backward(int64_t group, const Interval& block, const Packed& weights, const Scalar* dy,
                const WindowGradients& sums) const {
    int64_t size = block.size(), width = column.row * C;
    Tensor gradients = Tensor::empty({s * size, column.gradient * C});
    Tensor hidden = Tensor::empty({size, C}), state = Tensor::zeros({size, C});
    Matrix kept = Matrix::row_major(rows.mutable_data() + block.begin * s * width, s * size, width);
    Matrix all = Matrix::row_major(gradients.mutable_data(), s * size, column.gradient * C);
    Matrix dh = Matrix::row_major(hidden.mutable_data(), size, C);
    Matrix dc = Matrix::row_major(state.mutable_data(), size, C);
    std::copy_n(dy + block.begin * C, size * C, dh.data);
    for (int64_t n = s - 1; n >= 0; --n) {
      for (int64_t r = 0; r < size; ++r) {
        int64_t row = n * size + r;
        cell_backward(cell, at(kept, row),
                      n > 0 ? at(kept, row - size) + column.state * C : nullptr, at(dh, r),
                      at(dc, r), at(all, row), C);
        pass_on(group, first(block.begin + r) + n, at(all, row), sums);
      }
      if (n > 0) tile_product(1, all.block(n * size, size, 0, gates), weights.in_one(), 1, dh);
    }
    if (!sums.weight.defined()) return;
    int64_t with_product = (s - 1) * size;
    gemm(1, all.block(size, with_product, 0, gates).transposed(),
         kept.block(0, with_product, column.hidden * C, C), 1,
         Matrix::row_major(sums.weight.mutable_data() + group * gates * C, gates, C));
  }

  /// Passes a step's gradient on to its token, and to the bias.
  void pass_on(int64_t group, int64_t token, const Scalar* d, const WindowGradients& sums) const {
    if (sums.bias.defined()) simd::axpby(1, d, 1, sums.bias.mutable_data() + group * gates, gates);
    if (!sums.projected.defined()) return;
    int64_t next = first(end(group));
    Scalar* to = token < next
                     ? sums.projected.mutable_data() + token * gates
                     : sums.beyond.mutable_data() + (group * (s - 1) + token - next) * gates;
    add_projected_gradient(cell, d, to, C);
  }

  void add_beyond(const WindowGradients& sums) const {
    int64_t tokens = projected.size(0) * projected.size(1);
    for (int64_t group = 0; group < groups(); ++group) {
      int64_t next = first(end(group)), length = std::min(s - 1, tokens - next);
      simd::axpby(1, sums.beyond.data() + group * (s - 1) * gates, 1,
                  sums.projected.mutable_data() + next * gates, length * gates);
    }
  }

  /// Adds the groups' sums to their parameter.
  static void join(const Tensor& of_groups, const Tensor& parameter) {
    if (of_groups.defined())
      accumulate(expand(unsqueeze(parameter, 0), of_groups.shape()).open_gradient(), of_groups);
  }
};

}  // namespace

void check_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                   const Tensor& bias, int64_t window) {
  require_defined("recurrent_windows", "projected", projected, "weight", weight);
  int64_t gates = columns(cell).gates;
  require(window >= 1, "recurrent_windows: windows of ", window, ", expected at least 1");
  require(projected.rank() == 3 && weight.rank() == 2 && projected.size(1) >= window - 1 &&
              projected.size(2) == weight.size(0) && weight.size(0) == gates * weight.size(1) &&
              (!bias.defined() || bias.shape() == Dims{weight.size(0)}),
          "recurrent_windows: ", projected.shape(), " with ", weight.shape(), " and ",
          bias.defined() ? bias.shape() : Dims{}, " for windows of ", window, ": expected [B, ",
          window - 1, " + T, ", gates, "C], [", gates, "C, C] and [", gates, "C]");
}

Tensor recurrent_windows(RecurrentCell cell, const Tensor& projected, const Tensor& weight,
                         const Tensor& bias, int64_t window) {
  check_windows(cell, projected, weight, bias, window);
  Windows windows{cell, contiguous(projected), contiguous(weight),
                  bias.defined() ? contiguous(bias) : Tensor(), window};
  std::array<const Tensor*, 3> inputs = {&windows.projected, &windows.weight, &windows.bias};
  if (recording(inputs))
    windows.rows = Tensor::empty({windows.count, window, windows.column.row * windows.C});
  Tensor y = Tensor::empty({projected.size(0), windows.T, windows.C});
  if (y.count() > 0) windows.forward(y);
  record(y, inputs, [windows](const Tensor& dy) { windows.backward(dy); });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
