// An op of your own: its forward pass, its backward pass, and a check that the two agree.

#include <shiftgrad/shiftgrad.h>

#include <algorithm>
#include <cmath>
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
    accumulate(x.gradient_sink(), Tensor::from(x.shape(), dx));
    accumulate(keep.gradient_sink(), Tensor::from(keep.shape(), da));
  });
  return result;
}

/// The largest difference between the gradient of x, element by element, and the quotient
/// (f(x + h) - f(x - h)) / 2h. It takes doubles: floats have too few digits for such a small h.
template <class F>
double gradient_error(const Tensor& x, F f) {
  constexpr Scalar h = 1e-5;
  double largest = 0;
  for (int64_t n = 0; n < x.count(); ++n) {
    Scalar& element = x.mutable_data()[n];
    const Scalar value = element;
    auto moved = [&](Scalar by) {
      element = value + by;
      return f().item();
    };
    double quotient = (moved(h) - moved(-h)) / (2 * h);
    element = value;
    largest = std::max(largest, std::abs(quotient - x.gradient().data()[n]));
  }
  return largest;
}

int main() {
  initialize();
  Tensor pulse = Tensor::from({1, 4, 1}, std::vector<Scalar>{8, 0, 0, 0});
  Tensor half = Tensor::full({1}, 0.5);
  std::cout << "A pulse, halved at each step: " << leaky_sum(pulse, half) << '\n';

  Random random{.seed = 1};
  Tensor x = normal_parameter({2, 5, 3}, random, 1).require_gradient();
  Tensor keep = uniform_parameter({3}, random, 1).require_gradient();
  auto loss = [&] { return sum(square(leaky_sum(x, keep))); };
  {
    Tape tape;
    tape.backward(loss());
  }
  std::cout << "The gradient of keep: " << keep.gradient() << '\n';
  std::cout << "The largest error in the gradient of x: " << gradient_error(x, loss) << '\n';
  std::cout << "The largest error in the gradient of keep: " << gradient_error(keep, loss) << '\n';
}
