// Runs each file of examples/variants, which see installed headers alone, on two tokens. Prints the
// names of those whose outputs are not finite.

#include "variants.h"

#include <cmath>
#include <iostream>

int main() {
  shiftgrad::initialize();
  shiftgrad::Random random{.seed = 1};
  shiftgrad::Tensor x = shiftgrad::randn({1, 2, 16}, random);
  for (const variants::Variant& variant : variants::all()) {
    std::unique_ptr<shiftgrad::Layer> layer = variant.make(16, 4, random);
    for (shiftgrad::Scalar value : (*layer)(x).values())
      if (!std::isfinite(value)) std::cout << variant.name << '\n';
  }
}
