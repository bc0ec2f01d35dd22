// What a token does not see changes no bit of its output or of its gradients, even where that is
// NaN or infinite. Which tokens see a token is found out by changing it to other finite numbers.

#include <doctest/doctest.h>

#include "core/tape.h"
#include "ops/shape.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/masks.h"
#include "tests/support/mismatch.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t members = 2;

/// A layer and a call of it.
struct HiddenCall {
  const Layer& layer;
  Tensor x;  // [members, T, C]
  std::shared_ptr<const Mask> padding{}, hidden{};
  bool composed = false;  ///< from plain ops, as with any recorder

  Tensor output(const Tensor& input) const {
    Context context;
    context.key_padding_mask = padding;
    context.attention_mask = hidden;
    if (composed) context.recorder = [](const Tensor&) {};
    return layer.forward(input, {}, context);
  }
  /// The gradient of the input.
  Tensor gradient(const Tensor& values, const Tensor& cotangent) const {
    Tensor input = values.detach().require_gradient();
    Tape tape;
    tape.backward(output(input), cotangent);
    return input.gradient();
  }
  /// x with every number of token t of member 0 changed.
  template <class Change>
  Tensor changed(int64_t t, Change change) const {
    Tensor result = Tensor::from(x.shape(), x.values());
    Scalar* values = result.mutable_data() + t * x.size(2);
    std::transform(values, values + x.size(2), values, change);
    return result;
  }
};

/// Whether each of the tokens [members · T] has the same output after finite changes of token t of
/// member 0. That one itself never counts, since a query of one key sees no finite change of its
/// own.
std::vector<bool> unmoved(const HiddenCall& call, int64_t t) {
  int64_t C = call.x.size(2);
  std::vector<Scalar> y = call.output(call.x).values();
  std::vector<bool> result(static_cast<size_t>(call.x.count() / C), true);
  for (Scalar factor : {Scalar{-1}, Scalar{30}, Scalar{-30}, Scalar{1e4}, Scalar{-1e4}}) {
    std::vector<Scalar> moved =
        call.output(call.changed(t, [=](Scalar value) { return factor * value; })).values();
    for (size_t n = 0; n < y.size(); ++n)
      if (moved[n] != y[n]) result[n / static_cast<size_t>(C)] = false;
  }
  result[static_cast<size_t>(t)] = false;
  return result;
}

/// x with 0 for all tokens but these.
Tensor only(const Tensor& x, const std::vector<bool>& kept) {
  Tensor result = Tensor::from(x.shape(), x.values());
  for (int64_t n = 0; n < x.count(); ++n)
    if (!kept[static_cast<size_t>(n / x.size(2))]) result.mutable_data()[n] = 0;
  return result;
}

bool is_block(const LayerRow& row) { return row.name.find("block") != std::string::npos; }

void check(const LayerRow& row, const HiddenCall& call, int64_t t) {
  std::vector<bool> kept = unmoved(call, t);
  CAPTURE(t);
  CAPTURE(call.composed);
  CHECK(std::ranges::count(kept, true) >= call.x.size(1));  // at least the other member
  Tensor cotangent = only(RandomValues(3).tensor(call.x.shape()), kept);
  Tensor y = only(call.output(call.x), kept), dx = call.gradient(call.x, cotangent);
  for (Scalar poison : {not_a_number, infinity, -infinity}) {
    CAPTURE(poison);
    Tensor poisoned = call.changed(t, [=](Scalar) { return poison; });
    CHECK(same_bits(only(call.output(poisoned), kept), y));
    // What follows the mixer in a block multiplies the token's own slopes by 0.
    if (!is_block(row)) CHECK(same_bits(call.gradient(poisoned, cotangent), dx));
  }
}

/// Hides token t of member 0 as a key.
std::shared_ptr<const Mask> padding_of(int64_t T, int64_t t) {
  std::shared_ptr<Mask> mask = full_mask({members, T}, 0);
  mask->values[static_cast<size_t>(t)] = 1;
  return mask;
}

/// Hides token t from all queries but itself and the one before.
std::shared_ptr<const Mask> hidden_of(int64_t T, int64_t t) {
  std::shared_ptr<Mask> mask = full_mask({T, T}, 0);
  for (int64_t i = 0; i < T; ++i)
    if (i != t && i + 1 != t) mask->values[static_cast<size_t>(i * T + t)] = 1;
  return mask;
}

}  // namespace

TEST_CASE("what is not finite is seen by those alone that would see another number") {
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    RandomValues random(14);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    for (int64_t wanted : {9, 130}) {
      int64_t T = length_of(row, wanted);
      if (wanted > 9 && T <= 9) continue;
      Tensor x = random.tensor({members, T, row.d_model});
      for (int64_t t : wanted == 9 ? std::vector{T / 2, T - 1} : std::vector{T * 4 / 5})
        for (bool composed : {false, true}) {
          check(row, {*layer, x, nullptr, nullptr, composed}, t);
          if (!row.takes_masks) continue;
          check(row, {*layer, x, padding_of(T, t), nullptr, composed}, t);
          check(row, {*layer, x, nullptr, hidden_of(T, t), composed}, t);
        }
    }
  }
}

TEST_CASE("what is not finite is seen through a cache by those alone that come after it") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.causal) continue;
    CAPTURE(row.name);
    RandomValues random(15);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    int64_t T = length_of(row, 24) / row.chunk * row.chunk;
    Tensor x = random.tensor({members, T, row.d_model});
    HiddenCall call{*layer, x};
    for (int64_t t : {T / 3, T - 2}) {
      CAPTURE(t);
      std::vector<bool> kept = unmoved(call, t);
      auto fed = [&](const Tensor& input) {
        std::unique_ptr<Cache> cache = layer->make_cache();
        return only(feed(*layer, *cache, input, cuts({4 * row.chunk, row.chunk}, T)), kept);
      };
      Tensor y = fed(x);
      for (Scalar poison : {not_a_number, infinity, -infinity})
        CHECK(same_bits(fed(call.changed(t, [=](Scalar) { return poison; })), y));
    }
  }
}
