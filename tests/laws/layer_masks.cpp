// A query with no key left, and masks that do not fit.

#include <doctest/doctest.h>

#include "tests/support/layer_gradients.h"
#include "tests/support/masks.h"
#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

bool is_mixer(const LayerRow& row) { return !row.name.starts_with("block"); }

}  // namespace

TEST_CASE("a query with no key left gives exactly the output projection of 0, and no gradient") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.takes_masks || !is_mixer(row)) continue;
    CAPTURE(row.name);
    RandomValues random(13);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Weights weights(*layer);
    for (bool by_padding : {true, false}) {
      CAPTURE(by_padding);
      Context context;
      (by_padding ? context.key_padding_mask : context.attention_mask) = full_mask({2, 3}, 1);
      if (!by_padding) context.attention_mask = full_mask({3, 3}, 1);
      Tensor x = random.tensor({2, 3, row.d_model}).require_gradient();
      Tape tape;
      Tensor y = layer->forward(x, {}, context);
      tape.backward(y, random.tensor(y.shape()));
      Values nothing({2, 3, weights["output.weight"].size(1)});
      CHECK(same_bits(
          y, linear_oracle(nothing, weights["output.weight"], weights["output.bias"]).tensor()));
      CHECK(greatest(gradient_of(x)) == 0);
      for (const Parameter& parameter : parameters(*layer)) {
        CAPTURE(parameter.name);
        CHECK((parameter.name == "output.bias") == (greatest(gradient_of(parameter.value)) > 0));
        parameter.value.zero_gradient();
      }
    }
  }
}

TEST_CASE("masks that do not fit are refused, and any mask by layers without keys") {
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    std::unique_ptr<Layer> layer = row.make();
    Tensor x = Tensor::zeros({2, 3, row.d_model});
    auto refused = [&](std::shared_ptr<const Mask> padding, std::shared_ptr<const Mask> hidden) {
      Context context;
      context.key_padding_mask = padding;
      context.attention_mask = hidden;
      return refusal([&] { layer->forward(x, {}, context); });
    };
    if (!row.takes_masks) {
      CHECK(refused(full_mask({2, 3}, 0), nullptr).ends_with(": takes no key_padding_mask"));
      CHECK(refused(nullptr, full_mask({3, 3}, 0)).ends_with(": takes no attention_mask"));
      continue;
    }
    for (const Dims& shape : {Dims{2, 4}, {3, 3}, {1, 3}, {3}, {2, 3, 1}}) {
      CAPTURE(shape);
      CHECK(refused(full_mask(shape, 0), nullptr).find("key_padding_mask [") != std::string::npos);
    }
    for (const Dims& shape : {Dims{3, 4}, {2, 3}, {3}, {3, 3, 3}, {2, 2, 3}, {2, 3, 1}}) {
      CAPTURE(shape);
      CHECK(refused(nullptr, full_mask(shape, 0)).find("attention_mask [") != std::string::npos);
    }
  }
}
