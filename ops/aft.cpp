#include "ops/aft.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "ops/aft/kernel.h"
#include "ops/dense_rows.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void check_band(const char* operation, int64_t start, int64_t step) {
  constexpr int64_t farthest = int64_t{1} << 40;
  auto is_near = [](int64_t place) { return -farthest <= place && place <= farthest; };
  require(is_near(start) && is_near(step), operation, ": a band from ", start, " by ", step,
          ", expected at most 2^40 either way");
}

namespace {

/// y[g, i, c] = beta y[g, i, c] + x[g, i, c + start + step · i], row by row.
void add_shifted(const Tensor& x, int64_t start, int64_t step, Scalar beta, const Tensor& y) {
  int64_t T = x.size(1), columns = x.size(2), width = y.size(2);
  parallel_each(x.size(0) * T, 64, [&](int64_t row) {
    int64_t shift = start + step * (row % T);
    int64_t begin = std::max<int64_t>(0, -shift), end = std::min(width, columns - shift);
    Scalar* to = y.mutable_data() + row * width;
    if (beta == 0) std::fill_n(to, width, Scalar{0});
    if (begin < end)
      simd::axpby(1, x.data() + row * columns + begin + shift, 1, to + begin, end - begin);
  });
}

}  // namespace

void check_aft(const Tensor& key, const Tensor& value, const AftBand& band,
               const Visibility& visibility) {
  const Tensor& bias = band.bias;
  require_defined("aft", "key", key, "value", value, "the band", bias);
  require(key.rank() == 3 && key.shape() == value.shape(), "aft: keys ", key.shape(),
          " and values ", value.shape(), ", expected [B, K, C] twice");
  require(bias.rank() == 3 && bias.size(0) >= 1 && key.size(2) % bias.size(0) == 0, "aft: biases ",
          bias.shape(), " for ", key.size(2),
          " channels, expected [G, T, n] with a G that divides them");
  int64_t K = key.size(1), T = bias.size(1);
  visibility.check("aft", key.size(0), T, K);
  const std::optional<Window>& window = visibility.sight.window;
  require(!window, "aft: a window of ", window.value_or(Window()),
          ", expected none; a band says which keys have a bias");
  Sight(visibility.sight).rules([](const auto& rule, const Field& field) {
    if (rule) fail("aft: ", rule_text(field.name, *rule), ", expected none");
  });
  require(!visibility.spans, "aft: spans ", visibility.spans ? visibility.spans->shape : Dims{},
          ", expected none");
  require(T <= K, "aft: ", T, " queries of ", K, " keys, expected at least as many keys");
  require(band.step >= 0, "aft: a band that moves by ", band.step, " a query, expected at least 0");
  check_band("aft", band.start, band.step);
}

Tensor aft_mix(const Tensor& key, const Tensor& value, const AftBand& band,
               const Visibility& visibility) {
  check_aft(key, value, band, visibility);
  if (visibility.hidden) return composed_aft(key, value, band, visibility);
  AftProblem p{with_own_rows(key), with_own_rows(value), band, visibility};
  auto saved = std::make_shared<AftRecord>();
  if (!aft_forward(p, *saved)) return composed_aft(key, value, band, visibility);
  record(saved->y, {&p.key, &p.value, &p.band.bias},
         [p, saved](const Tensor& dy) { aft_backward(p, *saved, dy); });
  return saved->y;
}

Tensor shifted_rows(const Tensor& input, int64_t width, int64_t start, int64_t step) {
  require_defined("shifted_rows", "x", input);
  require(input.rank() == 3, "shifted_rows: ", input.shape(), ", expected [G, T, m]");
  require(width >= 0, "shifted_rows: to ", width, " columns, expected at least 0");
  check_band("shifted_rows", start, step);
  Tensor x = contiguous(input);
  Tensor y = Tensor::empty({x.size(0), x.size(1), width});
  add_shifted(x, start, step, 0, y);
  record(y, {&x}, [x, start, step](const Tensor& dy) {
    write_gradient(x.open_gradient(), [&](const Tensor& dx, Scalar beta) {
      add_shifted(contiguous(dy), -start, -step, beta, dx);
    });
  });
  return y;
}

AftBand widened(const AftBand& band, int64_t K) {
  require_defined("widened", "the band", band.bias);
  check_band("widened", band.start, band.step);
  return {shifted_rows(band.bias, K, -band.start, -band.step), 0, 0};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
