// Every layer's output against its formula, at odd sizes, with a memory and under masks.

#include <doctest/doctest.h>

#include "tests/support/layer_rows.h"
#include "tests/support/masks.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

void check_values(const LayerRow& row, const Layer& layer, const Input& input) {
  Values expected = row.oracle(Weights(layer), input);
  CHECK(relative_error(run(layer, input), expected) <= exactness);
}

}  // namespace

TEST_CASE("every layer is its formula") {
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    RandomValues random(1);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    for (const Sizes& sizes : sizes_of(row)) {
      CAPTURE(sizes.T);
      CAPTURE(sizes.M);
      check_values(row, *layer, random_input(row, sizes, random));
    }
  }
}

TEST_CASE("every layer with keys takes padding and masks of every shape") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.takes_masks) continue;
    CAPTURE(row.name);
    RandomValues random(2);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    for (const Sizes& sizes : sizes_of(row)) {
      int64_t B = sizes.B, T = sizes.T, K = sizes.M + T;
      CAPTURE(T);
      CAPTURE(K);
      for (const Dims& shape : {Dims{}, {T, K}, {1, K}, {B, T, K}, {1, T, K}, {B, 1, K}, {1, 1, K}})
        for (bool padded : {false, true}) {
          CAPTURE(shape);
          CAPTURE(padded);
          Input input = random_input(row, sizes, random);
          if (padded) input.padding = random_mask({B, K}, random);
          if (!shape.empty()) input.hidden = random_mask(shape, random);
          check_values(row, *layer, input);
        }
    }
  }
}

TEST_CASE("every layer has as many parameters as its closed form says") {
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    CHECK(parameter_count(*row.make()) == row.parameters);
  }
}
