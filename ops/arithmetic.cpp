#include "ops/arithmetic.h"

#include <utility>

#include "core/accumulate.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "ops/pointwise.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

using simd::Binary;

namespace {

/// Returns f(a, b), element by element, for operands of one shape. Nothing is recorded.
Tensor zipped(Binary f, const Tensor& a, const Tensor& b) {
  Tensor y = Tensor::empty(a.shape());
  apply<2>({&a, &b}, y,
           [f](auto in, Scalar* out, int64_t n) { simd::zip(f, in[0], in[1], out, n); });
  return y;
}

/// Delivers dy · other to the gradient of x.
void deliver_product(const Tensor& x, const Tensor& dy, const Tensor& other) {
  deliver(x.gradient_sink(), [&](const Tensor& dx, Scalar beta) {
    apply<2>({&dy, &other}, dx, [beta](auto in, Scalar* out, int64_t n) {
      if (beta == 0) {
        simd::zip(Binary::multiply, in[0], in[1], out, n);
      } else {
        simd::multiply_add(in[0], in[1], out, n);
      }
    });
  });
}

/// Returns both operands, expanded to the shape to which they broadcast.
std::pair<Tensor, Tensor> expanded(const char* operation, const Tensor& left, const Tensor& right) {
  require_defined(operation, "the left operand", left, "the right operand", right);
  Dims shape = broadcast_shape(operation, left.shape(), right.shape());
  return {left.view(left.layout().expand(shape)), right.view(right.layout().expand(shape))};
}

}  // namespace

Tensor add(const Tensor& left, const Tensor& right) {
  auto [a, b] = expanded("add", left, right);
  Tensor y = zipped(Binary::add, a, b);
  record(y, {&a, &b}, [a = a, b = b](const Tensor& dy) {
    accumulate(a.gradient_sink(), dy);
    accumulate(b.gradient_sink(), dy);
  });
  return y;
}

Tensor subtract(const Tensor& left, const Tensor& right) {
  auto [a, b] = expanded("subtract", left, right);
  Tensor y = zipped(Binary::subtract, a, b);
  record(y, {&a, &b}, [a = a, b = b](const Tensor& dy) {
    accumulate(a.gradient_sink(), dy);
    accumulate(b.gradient_sink(), dy, -1);
  });
  return y;
}

Tensor multiply(const Tensor& left, const Tensor& right) {
  auto [a, b] = expanded("multiply", left, right);
  Tensor y = zipped(Binary::multiply, a, b);
  record(y, {&a, &b}, [a = a, b = b](const Tensor& dy) {
    deliver_product(a, dy, b);
    deliver_product(b, dy, a);
  });
  return y;
}

Tensor divide(const Tensor& left, const Tensor& right) {
  auto [a, b] = expanded("divide", left, right);
  Tensor y = zipped(Binary::divide, a, b);
  record(y, {&a, &b}, [a = a, b = b, y](const Tensor& dy) {
    Tensor quotient = zipped(Binary::divide, dy, b);
    accumulate(a.gradient_sink(), quotient);
    if (b.requires_gradient())
      accumulate(b.gradient_sink(), zipped(Binary::multiply, quotient, y), -1);
  });
  return y;
}

Tensor scale(const Tensor& x, Scalar factor) {
  require_defined("scale", "x", x);
  Tensor y = Tensor::empty(x.shape());
  apply<1>({&x}, y,
           [factor](auto in, Scalar* out, int64_t n) { simd::axpby(factor, in[0], 0, out, n); });
  record(y, {&x}, [x, factor](const Tensor& dy) { accumulate(x.gradient_sink(), dy, factor); });
  return y;
}

Tensor offset(const Tensor& x, Scalar offset) {
  require_defined("offset", "x", x);
  return add(x, Tensor::full({}, offset));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
