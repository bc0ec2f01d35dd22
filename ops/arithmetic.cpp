#include "ops/arithmetic.h"

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

/// Delivers dy · other to the gradient of x; a dy of 0 passes nothing on.
void deliver_product(const Tensor& x, const Tensor& dy, const Tensor& other) {
  deliver(x.gradient_sink(), [&](const Tensor& dx, Scalar beta) {
    apply<2>({&dy, &other}, dx, [beta](auto in, Scalar* out, int64_t n) {
      if (beta == 0) {
        simd::zip(Binary::weigh, in[0], in[1], out, n);
      } else {
        simd::multiply_add(in[0], in[1], out, n);
      }
    });
  });
}

/// Computes y = f(a, b) for operands that broadcast, and records backward(a, b, y, dy) of both in
/// the shape of y.
Tensor binary(const char* operation, Binary f, const Tensor& left, const Tensor& right,
              auto backward) {
  require_defined(operation, "the left operand", left, "the right operand", right);
  Dims shape = broadcast_shape(operation, left.shape(), right.shape());
  Tensor a = left.view(left.layout().expand(shape)), b = right.view(right.layout().expand(shape));
  Tensor y = zipped(f, a, b);
  record(y, {&a, &b}, [=](const Tensor& dy) { backward(a, b, y, dy); });
  return y;
}

}  // namespace

Tensor add(const Tensor& left, const Tensor& right) {
  return binary("add", Binary::add, left, right, [](auto& a, auto& b, auto&, auto& dy) {
    accumulate(a.gradient_sink(), dy);
    accumulate(b.gradient_sink(), dy);
  });
}

Tensor subtract(const Tensor& left, const Tensor& right) {
  return binary("subtract", Binary::subtract, left, right, [](auto& a, auto& b, auto&, auto& dy) {
    accumulate(a.gradient_sink(), dy);
    accumulate(b.gradient_sink(), dy, -1);
  });
}

Tensor multiply(const Tensor& left, const Tensor& right) {
  return binary("multiply", Binary::multiply, left, right, [](auto& a, auto& b, auto&, auto& dy) {
    deliver_product(a, dy, b);
    deliver_product(b, dy, a);
  });
}

Tensor divide(const Tensor& left, const Tensor& right) {
  return binary("divide", Binary::divide, left, right, [](auto& a, auto& b, auto& y, auto& dy) {
    Tensor quotient = zipped(Binary::divide, dy, b);
    accumulate(a.gradient_sink(), quotient);
    if (b.requires_gradient())
      accumulate(b.gradient_sink(), zipped(Binary::multiply, quotient, y), -1);
  });
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
