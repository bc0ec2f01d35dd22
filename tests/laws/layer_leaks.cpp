// What a token may not see changes no bit of its output or of its gradients, whatever it holds.

#include <doctest/doctest.h>

#include "core/tape.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/mismatch.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// Outputs, and the gradients of Σ output · cotangent.
struct Pass {
  Tensor y, dx;
  std::vector<Tensor> parameter_gradients;

  Pass(const Layer& layer, const Tensor& input, const Tensor& cotangent, Context context = {}) {
    for (const Parameter& parameter : parameters(layer)) parameter.value.zero_gradient();
    Tensor x = input.detach().require_gradient();
    Tape tape;
    y = layer.forward(x, {}, context);
    tape.backward(y, cotangent);
    dx = x.gradient();
    for (const Parameter& parameter : parameters(layer)) {
      Tensor gradient = parameter.value.gradient();
      parameter_gradients.push_back(gradient.defined() ? gradient.detach() : Tensor::zeros({1}));
    }
  }
};

/// x with `change` applied to every number of the tokens for which chosen(b, t).
template <class Chosen, class Change>
Tensor changed(const Tensor& x, Chosen chosen, Change change) {
  Tensor result = Tensor::from(x.shape(), x.values());
  for (int64_t n = 0; n < result.count(); ++n) {
    int64_t t = n / x.size(2) % x.size(1), b = n / x.size(2) / x.size(1);
    Scalar& value = result.mutable_data()[n];
    if (chosen(b, t)) value = static_cast<Scalar>(change(value));
  }
  return result;
}

template <class Chosen>
Tensor zeroed(const Tensor& x, Chosen chosen) {
  return changed(x, chosen, [](Scalar) { return 0; });
}

/// What tokens are multiplied by to give leaks away.
constexpr double no_end = std::numeric_limits<double>::infinity();
const std::vector<double> extremes = {1e4,     -1e4,    1e30, no_end,
                                      -no_end, std::numeric_limits<double>::quiet_NaN()};

/// Whether it is one softmax over keys, and not a block of several parts or a recurrent net.
bool weighs_keys(const LayerRow& row) {
  return row.takes_masks && !row.name.starts_with("block");
}

/// Whether everything that the tokens themselves are made into is finite: the squares of 1e30 are
/// not, in float.
bool stays_finite(double extreme) {
  return std::abs(extreme) < 1e30 || (sizeof(Scalar) == 8 && std::isfinite(extreme));
}

/// Whether other tokens get the gradients that they had. Where a norm, an activation or a gate is
/// not finite, an output with a gradient of 0 may have others inside, as the chain rule has it.
bool keeps_gradients(const LayerRow& row, double extreme) {
  return stays_finite(extreme) || weighs_keys(row);
}

void check_future(const LayerRow& row, int64_t length) {
  CAPTURE(row.name);
  RandomValues random(9);
  std::unique_ptr<Layer> layer = random_layer(row, random);
  int64_t T = length_of(row, length), now = T / 2;
  Tensor x = random.tensor({2, T, row.d_model});
  auto future = [now](int64_t, int64_t t) { return t >= now; };
  Tensor cotangent = zeroed(random.tensor(x.shape()), future);
  Pass before(*layer, x, cotangent);
  CHECK(same_bits(tokens(before.dx, now, T), Tensor::zeros(tokens(x, now, T).shape())));
  for (double extreme : extremes) {
    CAPTURE(extreme);
    Tensor moved = changed(x, future, [&](Scalar value) { return extreme * value; });
    Pass after(*layer, moved, cotangent);
    CHECK(same_bits(tokens(after.y, 0, now), tokens(before.y, 0, now)));
    if (!keeps_gradients(row, extreme)) continue;
    CHECK(same_bits(tokens(after.dx, 0, now), tokens(before.dx, 0, now)));
    if (!stays_finite(extreme)) continue;  // A weight's gradient has each token as a factor.
    for (size_t n = 0; n < before.parameter_gradients.size(); ++n) {
      CAPTURE(parameters(*layer)[n].name);
      CHECK(same_bits(after.parameter_gradients[n], before.parameter_gradients[n]));
    }
  }
}

}  // namespace

TEST_CASE("the future changes no bit of the past, nor of a past loss's gradients") {
  for (const LayerRow& row : layer_rows())
    if (row.causal)
      for (int64_t length : {7, 150}) check_future(row, length);
}

TEST_CASE("padding changes no bit of the other tokens, and gets no gradient from them") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.takes_masks) continue;
    CAPTURE(row.name);
    RandomValues random(10);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    int64_t T = length_of(row, 9);
    Tensor x = random.tensor({3, T, row.d_model});
    auto padded = [](int64_t b, int64_t t) { return b == 2 || t % (b + 2) == 1; };
    Mask mask{{3, T}, {}};
    for (int64_t n = 0; n < 3 * T; ++n) mask.values.push_back(padded(n / T, n % T));
    Context context;
    context.key_padding_mask = std::make_shared<Mask>(mask);
    Tensor cotangent = zeroed(random.tensor(x.shape()), padded);
    Pass before(*layer, x, cotangent, context);
    auto kept = [&](const Tensor& all) { return zeroed(all, padded); };
    CHECK(same_bits(kept(before.dx), before.dx));
    for (double extreme : extremes) {
      CAPTURE(extreme);
      Tensor moved = changed(x, padded, [&](Scalar value) { return extreme * value; });
      Pass after(*layer, moved, cotangent, context);
      CHECK(same_bits(kept(after.y), kept(before.y)));
      if (keeps_gradients(row, extreme)) CHECK(same_bits(kept(after.dx), kept(before.dx)));
    }
  }
}

TEST_CASE("a NaN in one batch member changes no bit of the others") {
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    RandomValues random(11);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Tensor x = random.tensor({3, length_of(row, 8), row.d_model});
    Tensor cotangent = random.tensor(x.shape());
    auto ill = [](int64_t b, int64_t) { return b == 1; };
    Tensor moved = changed(x, ill, [](Scalar) { return not_a_number; });
    Pass before(*layer, x, cotangent), after(*layer, moved, cotangent);
    CHECK(same_bits(zeroed(after.y, ill), zeroed(before.y, ill)));
    CHECK(same_bits(zeroed(after.dx, ill), zeroed(before.dx, ill)));
    if (!row.causal) continue;
    auto streamed = [&](const Tensor& input) {
      std::unique_ptr<Cache> cache = layer->make_cache();
      return zeroed(feed(*layer, *cache, input, cuts({2, 1}, x.size(1))), ill);
    };
    CHECK(same_bits(streamed(moved), streamed(x)));
  }
}

TEST_CASE("a token out of sight changes no bit") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.causal || row.sight == unlimited) continue;
    CAPTURE(row.name);
    RandomValues random(12);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    int64_t T = length_of(row, 9), gone = T - 1 - row.sight;
    if (gone <= 0) continue;
    Tensor x = random.tensor({1, T, row.d_model});
    auto last_output = [&](const Tensor& input) { return tokens(whole(*layer, input), T - 1, T); };
    auto moved = [&](int64_t end, double extreme) {
      return changed(
          x, [end](int64_t, int64_t t) { return t < end; },
          [extreme](Scalar value) { return extreme * value; });
    };
    for (double extreme : extremes) {
      CAPTURE(extreme);
      CHECK(same_bits(last_output(moved(gone, extreme)), last_output(x)));
    }
    CHECK_FALSE(same_bits(last_output(moved(gone + 1, 1e4)), last_output(x)));
  }
}
