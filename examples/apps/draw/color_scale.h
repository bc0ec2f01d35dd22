#pragma once

// The colours of heat maps: steps of equal value look equally far apart, also to the colour-blind.

#include <string>

namespace apps {

enum class ColorScale {
  weights,  // 0 to 1: viridis, from dark violet to yellow
  signed_   // -1 to 1: ColorBrewer's oranges, nearly white at 0, ColorBrewer's blues
};

/// Returns the colour of a share of the scale's end, such as "#440154".
std::string color_of(ColorScale scale, double share);

}  // namespace apps
