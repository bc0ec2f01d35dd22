#include "ops/matmul.h"

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/tape.h"
#include "ops/products.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The axes before the last two, to which those of both operands broadcast.
Dims stack_of_both(const Tensor& left, const Tensor& right) {
  require_defined("matmul", "the left operand", left, "the right operand", right);
  require(left.rank() >= 2 && right.rank() >= 2, "matmul: ", left.shape(), " x ", right.shape(),
          ": expected at least two axes each");
  require(left.size(-1) == right.size(-2), "matmul: ", left.shape(), " x ", right.shape(),
          ": inner sizes ", left.size(-1), " and ", right.size(-2), " differ");
  auto stack_of = [](const Tensor& x) {
    return Dims(std::span(x.shape().begin(), x.shape().end() - 2));
  };
  return broadcast_shape("matmul", stack_of(left), stack_of(right));
}

/// The shape of a stack of matrices.
Dims matrices(Dims stack, int64_t rows, int64_t columns) {
  stack.push_back(rows);
  stack.push_back(columns);
  return stack;
}

}  // namespace

Tensor matmul(const Tensor& left, const Tensor& right) {
  Dims stack = stack_of_both(left, right);
  Tensor a = expand(left, matrices(stack, left.size(-2), left.size(-1)));     // […, M, N]
  Tensor b = expand(right, matrices(stack, right.size(-2), right.size(-1)));  // […, N, P]
  Tensor c = Tensor::empty(matrices(stack, a.size(-2), b.size(-1)));          // […, M, P]
  multiply_matrices("matmul", 1, a, b, 0, c);
  record(c, {&a, &b}, [a, b](const Tensor& dc) {
    // da = dc bᵀ and db = aᵀ dc. The weights are in dc: a 0 there passes nothing on.
    write_product("matmul", a.open_gradient(), dc, transpose(b), WeightsIn::left);
    write_product("matmul", b.open_gradient(), transpose(a), dc, WeightsIn::right);
  });
  return c;
}

namespace {

/// The shape of linear's result, […, P].
Dims shape_of_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_defined("linear", "x", x, "weight", weight);
  require(weight.rank() == 2 && x.rank() >= 1 && x.size(-1) == weight.size(1),
          "linear: ", x.shape(), " with a weight of ", weight.shape(),
          ": expected […, N] and [P, N]");
  Dims shape = x.shape();
  shape[-1] = weight.size(0);
  require(!bias.defined() || broadcast_shape("linear", bias.shape(), shape) == shape,
          "linear: a bias of ", bias.shape(), " for a result of ", shape);
  return shape;
}

/// Returns x […, N] as a matrix [count, N].
Tensor as_rows(const Tensor& x) {
  int64_t count = product(Dims(std::span(x.shape().begin(), x.shape().end() - 1)));
  return reshape(x, {count, x.size(-1)});
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor y = Tensor::empty(shape_of_linear(x, weight, bias));          // […, P]
  Tensor rows = as_rows(x);                                            // [count, N]
  Tensor added = bias.defined() ? expand(bias, y.shape()) : Tensor();  // […, P]
  multiply_by_transposed(rows, weight, added, y);
  record(y, {&rows, &weight, &bias}, [rows, weight, added](const Tensor& dy) {
    Tensor dy_rows = as_rows(dy);  // [count, P]
    write_product("linear", weight.open_gradient(), transpose(dy_rows), rows);
    accumulate(added.open_gradient(), dy);
    // x's gradient last: the next op back reads it, so it is still in the cache.
    write_product("linear", rows.open_gradient(), dy_rows, weight);
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
