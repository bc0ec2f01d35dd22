// A layer that is given no tokens, or no batch, gives none, and its gradients are 0.

#include <doctest/doctest.h>

#include "core/tape.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/mismatch.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

bool is_nothing(const Tensor& gradient) {
  return !gradient.defined() || same_bits(gradient, Tensor::zeros(gradient.shape()));
}

}  // namespace

TEST_CASE("no tokens and no members: forward, backward, behind a memory and through a state") {
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    RandomValues random(14);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    for (auto [B, T, M] : {std::array{2, 0, 0}, {0, 3, 0}, {0, 0, 0}, {2, 0, 4}, {0, 3, 4}}) {
      if (M > 0 && !row.takes_memory) continue;
      CAPTURE(B);
      CAPTURE(T);
      CAPTURE(M);
      Tensor x = Tensor::zeros({B, T, row.d_model}).require_gradient();
      Tensor memory = M > 0 ? random.tensor({B, M, row.d_model}) : Tensor();
      Context context;
      Tape tape;
      Tensor y = layer->forward(x, memory, context);
      CHECK(y.shape() == x.shape());
      tape.backward(y, Tensor::zeros(y.shape()));
      CHECK(is_nothing(x.gradient()));
      for (const Parameter& parameter : parameters(*layer)) {
        CAPTURE(parameter.name);
        CHECK(is_nothing(parameter.value.gradient()));
        parameter.value.zero_gradient();
      }
    }
    if (!row.causal) continue;
    Tensor x = random.tensor({2, length_of(row, 6), row.d_model});
    int64_t first = row.chunk, rest = x.size(1) - first;
    CHECK(same_bits(feed(*layer, *layer->start(), x, {0, first, 0, rest, 0}),
                    feed(*layer, *layer->start(), x, {first, rest})));
  }
}
