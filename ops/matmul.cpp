#include "ops/matmul.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/tape.h"
#include "ops/products.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor matmul(const Tensor& left, const Tensor& right) {
  require_defined("matmul", "the left operand", left, "the right operand", right);
  require(left.rank() >= 2 && right.rank() >= 2, "matmul: ", left.shape(), " x ", right.shape(),
          ": expected at least two axes each");
  require(left.size(-1) == right.size(-2), "matmul: ", left.shape(), " x ", right.shape(),
          ": inner sizes ", left.size(-1), " and ", right.size(-2), " differ");
  auto stack_of = [](const Tensor& x) {
    return Dims(std::span(x.shape().begin(), x.shape().end() - 2));
  };
  Dims stack = broadcast_shape("matmul", stack_of(left), stack_of(right));
  auto stacked = [&](const Tensor& x) {
    Dims shape = stack;
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return expand(x, shape);
  };
  Tensor a = stacked(left), b = stacked(right);  // […, M, N], […, N, P]
  Dims shape = a.shape();
  shape[-1] = b.size(-1);
  Tensor c = Tensor::empty(shape);  // […, M, P]
  multiply_matrices("matmul", 1, a, b, 0, c);
  record(c, {&a, &b}, [a, b](const Tensor& dc) {
    write_product("matmul", a.open_gradient(), dc, transpose(b), WeightsIn::left);
    write_product("matmul", b.open_gradient(), transpose(a), dc, WeightsIn::right);
  });
  return c;
}

namespace {

/// Returns what to add to the products of y for a bias of its shape, which may be undefined. One
/// that is no row is put into y.
Addend start_from(const Tensor& bias, const Tensor& y) {
  if (!bias.defined()) return 0;
  const Dims& strides = bias.layout().strides;
  if (std::count(strides.begin(), strides.end() - 1, 0) == y.rank() - 1 && strides[-1] == 1)
    return {1, bias.data()};
  accumulate(0, y, bias);
  return 1;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_defined("linear", "x", x, "weight", weight);
  require(weight.rank() == 2 && x.rank() >= 1 && x.size(-1) == weight.size(1),
          "linear: ", x.shape(), " with a weight of ", weight.shape(),
          ": expected […, N] and [P, N]");
  Dims shape = x.shape();
  shape[-1] = weight.size(0);
  Tensor added;
  if (bias.defined()) {
    require(broadcast_shape("linear", bias.shape(), shape) == shape, "linear: a bias of ",
            bias.shape(), " for a result of ", shape);
    added = expand(bias, shape);
  }
  int64_t count = product(Dims(std::span(shape.begin(), shape.end() - 1)));
  Tensor rows = reshape(x, {count, x.size(-1)});  // [count, N]
  Tensor y = Tensor::empty(shape);                // […, P]
  if (y.count() > 0)
    multiply_by_transposed(matrix_of(rows.data(), rows), weight, start_from(added, y),
                           Matrix::row_major(y.mutable_data(), count, weight.size(0)));
  record(y, {&rows, &weight, &bias}, [rows, weight, added, count](const Tensor& dy) {
    Tensor dy_rows = reshape(dy, {count, weight.size(0)});  // [count, P]
    // The gradient of x comes last, which takes memory that stays and is read next.
    write_product("linear", weight.open_gradient(), transpose(dy_rows), rows);
    accumulate(added.open_gradient(), dy);
    write_product("linear", rows.open_gradient(), dy_rows, weight);
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
