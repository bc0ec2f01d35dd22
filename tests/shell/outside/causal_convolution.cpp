#include "causal_convolution.h"

#include <shiftgrad/shiftgrad.h>

#include <algorithm>

namespace outside {

using namespace shiftgrad;

namespace {

/// Calls f(b, k, i, o) for each term y[o] += w[k] · x[i] of batch member b, in the same order for
/// each output; batch members in parallel.
template <class F>
void for_each_term(const Dims& shape, int64_t s, F f) {
  int64_t T = shape[1], C = shape[2];
  parallel_for(shape[0], [&](int64_t b) {
    for (int64_t t = 0; t < T; ++t)
      for (int64_t n = 0; n < std::min(s, t + 1); ++n)
        for (int64_t c = 0; c < C; ++c)
          f(b, n * C + c, (b * T + t - n) * C + c, (b * T + t) * C + c);
  });
}

}  // namespace

Tensor causal_convolution(const Tensor& input, const Tensor& taps) {
  require(input.rank() == 3 && taps.rank() == 2 && taps.size(1) == input.size(2),
          "causal_convolution: ", input.shape(), " with ", taps.shape(),
          ", expected [B, T, C] and [s, C]");
  Tensor x = contiguous(input), kernel = contiguous(taps);
  Tensor y = Tensor::zeros(x.shape());
  int64_t s = kernel.size(0);
  for_each_term(x.shape(), s, [out = y.mutable_data(), &x, &kernel](auto, auto k, auto i, auto o) {
    out[o] += kernel.data()[k] * x.data()[i];
  });
  record(y, {&x, &kernel}, [x, kernel, s](const Tensor& dy) {
    Tensor dx = Tensor::zeros(x.shape());
    Tensor all = expand(kernel, {x.size(0), s, x.size(2)});  // [B, s, C]
    Tensor dw = Tensor::zeros(all.shape());
    for_each_term(
        x.shape(), s,
        [&, to_x = dx.mutable_data(), to_w = dw.mutable_data()](auto b, auto k, auto i, auto o) {
          to_x[i] += kernel.data()[k] * dy.data()[o];
          to_w[b * kernel.count() + k] += x.data()[i] * dy.data()[o];
        });
    accumulate(x.open_gradient(), dx);
    accumulate(all.open_gradient(), dw);  // summed over the batch
  });
  return y;
}

}  // namespace outside
