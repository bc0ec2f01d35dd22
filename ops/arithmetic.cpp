#include "ops/arithmetic.h"

#include "core/accumulate.h"
#include "core/tape.h"
#include "ops/shape.h"
#include "ops/zipped.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

using simd::Binary;

Tensor add(const Tensor& left, const Tensor& right) {
  Dims shape = shape_of_both("add", left, right);
  Tensor a = expand(left, shape), b = expand(right, shape);
  Tensor y = zipped(Binary::add, a, b);
  record(y, {&a, &b}, [a, b](const Tensor& dy) {  // sums where a or b was broadcast
    accumulate(a.open_gradient(), dy);
    accumulate(b.open_gradient(), dy);
  });
  return y;
}

Tensor subtract(const Tensor& left, const Tensor& right) {
  Dims shape = shape_of_both("subtract", left, right);
  Tensor a = expand(left, shape), b = expand(right, shape);
  Tensor y = zipped(Binary::subtract, a, b);
  record(y, {&a, &b}, [a, b](const Tensor& dy) {
    accumulate(a.open_gradient(), dy);
    accumulate(b.open_gradient(), dy, -1);
  });
  return y;
}

Tensor multiply(const Tensor& left, const Tensor& right) {
  Dims shape = shape_of_both("multiply", left, right);
  Tensor a = expand(left, shape), b = expand(right, shape);
  Tensor y = zipped(Binary::multiply, a, b);
  record(y, {&a, &b}, [a, b](const Tensor& dy) {
    write_weighted(a, dy, b);
    write_weighted(b, dy, a);
  });
  return y;
}

Tensor divide(const Tensor& left, const Tensor& right) {
  Dims shape = shape_of_both("divide", left, right);
  Tensor a = expand(left, shape), b = expand(right, shape);
  Tensor y = zipped(Binary::divide, a, b);
  record(y, {&a, &b}, [a, b, y](const Tensor& dy) {
    Tensor quotient = zipped(Binary::divide, dy, b);
    accumulate(a.open_gradient(), quotient);
    if (b.requires_gradient())
      accumulate(b.open_gradient(), zipped(Binary::multiply, quotient, y), -1);
  });
  return y;
}

Tensor scale(const Tensor& x, Scalar factor) {
  require_defined("scale", "x", x);
  Tensor y = Tensor::empty(x.shape());
  elements::apply<1>({&x}, y, [factor](auto in, Scalar* out, int64_t n) {
    simd::axpby(factor, in[0], 0, out, n);
  });
  record(y, {&x}, [x, factor](const Tensor& dy) { accumulate(x.open_gradient(), dy, factor); });
  return y;
}

Tensor add_scalar(const Tensor& x, Scalar number) {
  require_defined("add_scalar", "x", x);
  return add(x, Tensor::full({}, number));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
