// Every layer's gradients against difference quotients of its formula.

#include "tests/support/layer_gradients.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("every layer's gradients are those of its formula") {
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    RandomValues random(3);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    for (Sizes sizes : {Sizes{1, 1, 0}, {2, 4, 3}}) {
      if (!row.takes_memory) sizes.M = 0;
      CAPTURE(sizes.T);
      check_gradients(row, *layer, random_input(row, sizes, random), random);
    }
  }
}

TEST_CASE("gradients under masks, with one batch member all padding") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.takes_masks) continue;
    CAPTURE(row.name);
    RandomValues random(4);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Input input = random_input(row, {2, 3, 2}, random);
    input.padding = std::make_shared<Mask>(Mask{{2, 5}, {0, 1, 0, 0, 0, 1, 1, 1, 1, 1}});
    check_gradients(row, *layer, input, random);
    input.hidden =
        std::make_shared<Mask>(Mask{{3, 5}, {0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0}});
    input.padding = nullptr;
    check_gradients(row, *layer, input, random);
  }
}
