#include "ops/elementwise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "ops/pointwise.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

using simd::Unary;

namespace {

Tensor unary(const char* operation, Unary f, const Tensor& x) {
  require_defined(operation, "x", x);
  Tensor y = Tensor::empty(x.shape());
  elements::apply<1>({&x}, y,
                     [f](auto in, Scalar* out, int64_t n) { simd::map(f, in[0], out, n); });
  record(y, {&x}, [f, x, y](const Tensor& dy) {
    write_gradient(x.open_gradient(), [&](const Tensor& dx, Scalar beta) {
      elements::apply<3>({&x, &y, &dy}, dx, [f, beta](auto in, Scalar* out, int64_t n) {
        simd::map_gradient(f, in[0], in[1], in[2], beta, out, n);
      });
    });
  });
  return y;
}

}  // namespace

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

Tensor silu(const Tensor& x) {
  require_defined("silu", "x", x);
  return x * sigmoid(x);
}

namespace {

/// log(1 + e^x) and its slope, σ(x).
auto softplus_at(Scalar x) {
  Scalar decay = std::exp(-std::abs(x));  // at most 1
  Scalar y = (x > 0 ? x : 0) + std::log1p(decay);
  return with_gradients(y, (x > 0 ? 1 : decay) / (1 + decay));
}

}  // namespace

Tensor softplus(const Tensor& x) { return pointwise("softplus", softplus_at, x); }

Tensor log_sigmoid(const Tensor& x) {
  auto f = [](Scalar x) {
    auto [y, slope] = softplus_at(-x);
    return with_gradients(-y, slope);
  };
  return pointwise("log_sigmoid", f, x);
}

Tensor abs(const Tensor& x) {
  auto f = [](Scalar x) { return with_gradients(std::abs(x), (x > 0) - (x < 0)); };
  return pointwise("abs", f, x);
}

Tensor sin(const Tensor& x) {
  auto f = [](Scalar x) { return with_gradients(std::sin(x), std::cos(x)); };
  return pointwise("sin", f, x);
}

Tensor cos(const Tensor& x) {
  auto f = [](Scalar x) { return with_gradients(std::cos(x), -std::sin(x)); };
  return pointwise("cos", f, x);
}

Tensor pow(const Tensor& x, Scalar exponent) {
  auto f = [exponent](Scalar x) {
    Scalar slope = exponent == 0 ? 0 : exponent * std::pow(x, exponent - 1);
    return with_gradients(std::pow(x, exponent), slope);
  };
  return pointwise("pow", f, x);
}

Tensor clamp(const Tensor& x, Scalar least, Scalar greatest) {
  require(!std::isnan(least) && !std::isnan(greatest), "clamp: to ", least, " … ", greatest,
          ", expected numbers");
  auto f = [=](Scalar x) {
    Scalar y = std::clamp(x, std::min(least, greatest), greatest);
    return with_gradients(y, least <= x && x <= greatest);
  };
  return pointwise("clamp", f, x);
}

Tensor where(const Mask& condition, const Tensor& a, const Tensor& b) {
  require_defined("where", "a", a, "b", b);
  require_complete("where", "condition", condition);
  Dims shape = broadcast_shape("where", a.shape(), b.shape());
  shape = broadcast_shape("where", condition.shape, shape);
  std::vector<Scalar> values(condition.values.begin(), condition.values.end());
  Tensor choice = expand(Tensor::from(condition.shape, values), shape);
  auto f = [](Scalar a, Scalar b, Scalar c) {
    return with_gradients(c ? a : b, c != 0, c == 0, 0);
  };
  return pointwise("where", f, expand(a, shape), expand(b, shape), choice);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
