#include "shiftgrad/ops/elementwise.h"

#include "shiftgrad/core/accumulate.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/core/tape.h"
#include "shiftgrad/ops/pointwise.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

using simd::Unary;

namespace {

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

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
