// The relative shift alone, forward and backward, three ways: by an index for each entry (gather),
// by padding and copying (rel_shift), and as a view of a buffer that was padded in the first place.
// All end in the same product with a constant, which is timed by itself as well.

#include "ops/shift.h"

#include "core/accumulate.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/bench/measure.h"

namespace shiftgrad::bench {

namespace {

constexpr int64_t heads = 16, T = 512, K = 512;

/// y[h, i, j] = x[h, i, j + T - 1 - i], 0 beyond the end.
Tensor gathered(const Tensor& x) {
  Tensor y = Tensor::zeros(x.shape());
  auto each = [](auto move) {
    parallel_for(heads, [&](int64_t h) {
      for (int64_t i = 0; i < T; ++i)
        for (int64_t j = 0; j + T - 1 - i < K; ++j)
          move((h * T + i) * K + j, (h * T + i) * K + j + T - 1 - i);
    });
  };
  each([&](int64_t to, int64_t from) { y.mutable_data()[to] = x.data()[from]; });
  record(y, {&x}, [x, each](const Tensor& dy) {
    Tensor dx = Tensor::zeros(x.shape());
    each([&](int64_t to, int64_t from) { dx.mutable_data()[from] = dy.data()[to]; });
    accumulate(x.open_gradient(), dx);
  });
  return y;
}

Result run(int64_t columns, const std::function<Tensor(const Tensor&)>& shift, int runs) {
  Tensor x = Tensor::full({heads, T, columns}, 1).require_gradient();
  Tensor factor = Tensor::full({heads, T, K}, 2), cotangent = Tensor::full({heads, T, K}, 3);
  return timed(runs, [&] {
    x.zero_gradient();
    Tape tape;
    tape.backward(shift(x) * factor, cotangent);
  });
}

}  // namespace

std::vector<Case> shift_cases() {
  auto none = [](const Tensor& x) { return x; };
  auto copied = [](const Tensor& x) { return rel_shift(x); };
  auto view = [](const Tensor& x) { return rel_shift_view(x); };
  return {
      {"shift: none, the product alone", [=](int runs) { return run(K, none, runs); }},
      {"shift: gather", [](int runs) { return run(K, gathered, runs); }},
      {"shift: pad and copy", [=](int runs) { return run(K, copied, runs); }},
      {"shift: view", [=](int runs) { return run(K + 1, view, runs); }},
  };
}

}  // namespace shiftgrad::bench
