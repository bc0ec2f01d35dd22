// An op of your own: its forward pass, its backward pass, and a check that the two agree.

#include <shiftgrad/shiftgrad.h>

#include <iostream>
#include <vector>

using namespace shiftgrad;

/// A sum over time that forgets: y_t = x_t + keep · y_{t-1}, for x [B, T, C] and keep [C].
Tensor leaky_sum(const Tensor& x, const Tensor& keep) {
  require(x.rank() == 3 && keep.shape() == Dims{x.size(2)}, "leaky_sum: x ", x.shape(),
          " and keep ", keep.shape(), ", expected [B, T, C] and [C]");
  int64_t T = x.size(1), C = x.size(2);

  // Forward. The values lie token by token, so the token before is C values back.
  std::vector<Scalar> y = x.values(), a = keep.values();
  for (int64_t n = 0; n < x.count(); ++n)
    if (n / C % T > 0) y[n] += a[n % C] * y[n - C];
  Tensor result = Tensor::from(x.shape(), y);

  // Backward, from the last token to the first. Without a tape, nothing is kept for it.
  record(result, {&x, &keep}, [x, keep, y, a, T, C](const Tensor& gradient) {
    std::vector<Scalar> dx = gradient.values(), da(C);
    for (int64_t n = x.count() - 1; n >= 0; --n)
      if (n / C % T > 0) {
        dx[n - C] += a[n % C] * dx[n];
        da[n % C] += y[n - C] * dx[n];
      }
    accumulate(x.open_gradient(), Tensor::from(x.shape(), dx));
    accumulate(keep.open_gradient(), Tensor::from(keep.shape(), da));
  });
  return result;
}

int main() {
  initialize();
  Tensor pulse = Tensor::from({1, 4, 1}, {8, 0, 0, 0});
  Tensor half = Tensor::full({1}, 0.5);
  std::cout << "A pulse, halved at each step: " << leaky_sum(pulse, half) << '\n';

  // The gradients, beside difference quotients of Σ y · c for a random c. Doubles have the digits
  // for that.
  Random random{.seed = 1};
  Tensor x = randn({2, 5, 3}, random), keep = randn({3}, random);
  double error = gradient_check([&] { return leaky_sum(x, keep); }, {x, keep});
  std::cout << "The gradient of keep: " << keep.gradient() << '\n';
  std::cout << "The largest error of a gradient: " << error << '\n';
}
