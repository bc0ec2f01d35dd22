// Every layer computes batches of no member, calls of no token and memories of no token, forward
// and backward, and goes on as if nothing had been called.

#include <doctest/doctest.h>

#include "core/tape.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/masks.h"
#include "tests/support/mismatch.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// Whether a gradient is 0 everywhere; one that is undefined is.
bool is_zero(const Tensor& gradient) {
  if (!gradient.defined()) return true;
  std::vector<Scalar> values = gradient.values();
  return std::ranges::all_of(values, [](Scalar value) { return value == 0; });
}

}  // namespace

TEST_CASE("no members, no tokens and no memory: an output of no element, and gradients of 0") {
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    RandomValues random(16);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    for (Sizes sizes : {Sizes{0, 3, 0}, {2, 0, 0}, {0, 0, 0}, {2, 0, 2}, {0, 3, 2}, {0, 0, 2}})
      for (bool masked : {false, true})
        for (bool composed : {false, true}) {
          auto [B, T, M] = sizes;
          if ((M > 0 && !row.takes_memory) || (masked && !row.takes_masks)) continue;
          CAPTURE(B);
          CAPTURE(T);
          CAPTURE(M);
          CAPTURE(masked);
          CAPTURE(composed);
          Context context;
          if (masked) context.key_padding_mask = full_mask({B, M + T}, 0);
          if (masked) context.attention_mask = full_mask({T, M + T}, 0);
          if (composed) context.recorder = [](const Tensor&) {};
          Tensor x = random.tensor({B, T, row.d_model}).require_gradient();
          Tensor memory = random.tensor({B, M, row.d_model});
          for (const Parameter& parameter : parameters(*layer)) parameter.value.zero_gradient();
          Tape tape;
          Tensor y = layer->forward(x, row.takes_memory ? memory : Tensor(), context);
          CHECK(y.shape() == Dims{B, T, row.d_model});
          tape.backward(y, Tensor::zeros(y.shape()));
          for (const Parameter& parameter : parameters(*layer)) {
            CAPTURE(parameter.name);
            CHECK(is_zero(parameter.value.gradient()));
          }
        }
  }
}

TEST_CASE("a memory of no token is none") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.takes_memory) continue;
    CAPTURE(row.name);
    RandomValues random(17);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Tensor x = random.tensor({2, 3, row.d_model});
    Context context;
    CHECK(same_bits(layer->forward(x, Tensor::zeros({2, 0, row.d_model}), context),
                    layer->forward(x, {}, context)));
  }
}

TEST_CASE("a step of no token gives none, and leaves the cache as it was") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.causal) continue;
    CAPTURE(row.name);
    RandomValues random(18);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Tensor x = random.tensor({2, 2 * row.chunk, row.d_model}), nothing = tokens(x, 0, 0);
    std::vector<int64_t> lengths{row.chunk, row.chunk};
    std::unique_ptr<Cache> plain = layer->make_cache(), cache = layer->make_cache();
    Context context;
    Tensor expected = feed(*layer, *plain, x, lengths);
    std::vector<Tensor> pieces;
    for (int64_t t : {0, 1}) {
      CHECK((*layer)(nothing, *cache, context).shape() == nothing.shape());
      pieces.push_back((*layer)(tokens(x, t * row.chunk, (t + 1) * row.chunk), *cache, context));
    }
    CHECK((*layer)(nothing, *cache, context).shape() == nothing.shape());
    CHECK(same_bits(concat(pieces, 1), expected));
  }
}
