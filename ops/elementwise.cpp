#include "shiftgrad/ops/elementwise.h"

#include <array>

#include "shiftgrad/core/accumulate.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/core/tape.h"
#include "shiftgrad/core/walk.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

using simd::Binary;
using simd::Unary;

namespace {

/// The number of elements that runs are worked on at a time, so that gathered operands stay in
/// cache.
constexpr int64_t piece = 1024;
using Scratch = std::array<Scalar, piece>;

/// Returns `length` elements side by side: where they are, or gathered into `scratch`.
const Scalar* dense(const Scalar* x, int64_t step, int64_t length, Scratch& scratch) {
  if (step == 1) return x;
  for (int64_t n = 0; n < length; ++n) scratch[n] = x[n * step];
  return scratch.data();
}

/// y = f(inputs…) for operands of y's shape at any layout; y is contiguous.
template <size_t N, class F>
void apply(const std::array<const Tensor*, N>& inputs, const Tensor& y, F f) {
  std::array<const Layout*, N + 1> layouts;
  std::array<const Scalar*, N> data;
  for (size_t o = 0; o < N; ++o) {
    layouts[o] = &inputs[o]->layout();
    data[o] = inputs[o]->data() - layouts[o]->offset;
  }
  layouts[N] = &y.layout();
  Scalar* result = y.mutable_data() - y.layout().offset;
  Walk<N + 1>(layouts).parallel([&](const auto& run) {
    std::array<Scratch, N> scratch;
    for (int64_t done = 0; done < run.length; done += piece) {
      int64_t length = std::min(piece, run.length - done);
      std::array<const Scalar*, N> operands;
      for (size_t o = 0; o < N; ++o)
        operands[o] =
            dense(data[o] + run.at[o] + done * run.step[o], run.step[o], length, scratch[o]);
      f(operands, result + run.at[N] + done, length);
    }
  });
}

Tensor unary(const char* operation, Unary f, const Tensor& x) {
  require_defined(operation, "x", x);
  Tensor y = Tensor::empty(x.shape());
  apply<1>({&x}, y, [f](auto in, Scalar* out, int64_t n) { simd::map(f, in[0], out, n); });
  record(y, {&x}, [f, x, y](const Tensor& dy) {
    deliver(x.gradient_sink(), [&](const Tensor& dx, Scalar beta) {
      apply<3>({&x, &y, &dy}, dx, [f, beta](auto in, Scalar* out, int64_t n) {
        simd::map_gradient(f, in[0], in[1], in[2], beta, out, n);
      });
    });
  });
  return y;
}

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

struct Operands {
  Tensor a, b;

  Operands(const char* operation, const Tensor& left, const Tensor& right) {
    require_defined(operation, "the left operand", left);
    require_defined(operation, "the right operand", right);
    Dims shape = broadcast_shape(operation, left.shape(), right.shape());
    a = left.view(left.layout().expand(shape));
    b = right.view(right.layout().expand(shape));
  }
};

}  // namespace

Tensor add(const Tensor& left, const Tensor& right) {
  auto [a, b] = Operands("add", left, right);
  Tensor y = zipped(Binary::add, a, b);
  record(y, {&a, &b}, [a = a, b = b](const Tensor& dy) {
    accumulate(a.gradient_sink(), dy);
    accumulate(b.gradient_sink(), dy);
  });
  return y;
}

Tensor subtract(const Tensor& left, const Tensor& right) {
  auto [a, b] = Operands("subtract", left, right);
  Tensor y = zipped(Binary::subtract, a, b);
  record(y, {&a, &b}, [a = a, b = b](const Tensor& dy) {
    accumulate(a.gradient_sink(), dy);
    accumulate(b.gradient_sink(), dy, -1);
  });
  return y;
}

Tensor multiply(const Tensor& left, const Tensor& right) {
  auto [a, b] = Operands("multiply", left, right);
  Tensor y = zipped(Binary::multiply, a, b);
  record(y, {&a, &b}, [a = a, b = b](const Tensor& dy) {
    deliver_product(a, dy, b);
    deliver_product(b, dy, a);
  });
  return y;
}

Tensor divide(const Tensor& left, const Tensor& right) {
  auto [a, b] = Operands("divide", left, right);
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

Tensor operator+(const Tensor& x, Scalar number) { return offset(x, number); }
Tensor operator+(Scalar number, const Tensor& x) { return offset(x, number); }
Tensor operator-(const Tensor& x, Scalar number) { return offset(x, -number); }
Tensor operator-(Scalar number, const Tensor& x) { return subtract(Tensor::full({}, number), x); }
Tensor operator*(const Tensor& x, Scalar number) { return scale(x, number); }
Tensor operator*(Scalar number, const Tensor& x) { return scale(x, number); }
Tensor operator/(const Tensor& x, Scalar number) { return divide(x, Tensor::full({}, number)); }
Tensor operator/(Scalar number, const Tensor& x) { return divide(Tensor::full({}, number), x); }
Tensor operator-(const Tensor& x) { return negate(x); }

Tensor negate(const Tensor& x) { return unary("negate", Unary::negate, x); }
Tensor exp(const Tensor& x) { return unary("exp", Unary::exp, x); }
Tensor log(const Tensor& x) { return unary("log", Unary::log, x); }
Tensor sqrt(const Tensor& x) { return unary("sqrt", Unary::sqrt, x); }
Tensor square(const Tensor& x) { return unary("square", Unary::square, x); }
Tensor tanh(const Tensor& x) { return unary("tanh", Unary::tanh, x); }
Tensor sigmoid(const Tensor& x) { return unary("sigmoid", Unary::sigmoid, x); }
Tensor relu(const Tensor& x) { return unary("relu", Unary::relu, x); }
Tensor gelu(const Tensor& x) { return unary("gelu", Unary::gelu, x); }
Tensor gelu_tanh(const Tensor& x) { return unary("gelu_tanh", Unary::gelu_tanh, x); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
