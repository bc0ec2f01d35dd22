#include "color_scale.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

namespace apps {

namespace {

constexpr unsigned weights[] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
                                0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
constexpr unsigned signed_values[] = {0x7f3b08, 0xb35806, 0xe08214, 0xfdb863, 0xfee0b6, 0xf7f7f7,
                                      0xd1e5f0, 0x92c5de, 0x4393c3, 0x2166ac, 0x053061};

unsigned between(unsigned a, unsigned b, double share, int shift) {
  auto part = [&](unsigned colour) { return static_cast<double>((colour >> shift) & 0xFF); };
  return static_cast<unsigned>(std::lround(part(a) + share * (part(b) - part(a))));
}

}  // namespace

std::string color_of(ColorScale scale, double share) {
  std::span<const unsigned> table =
      scale == ColorScale::weights ? std::span(weights) : std::span<const unsigned>(signed_values);
  double place = scale == ColorScale::weights ? share : (share + 1) / 2;
  place = std::clamp(place, 0.0, 1.0) * static_cast<double>(table.size() - 1);
  size_t before = std::min(static_cast<size_t>(place), table.size() - 2);
  double rest = place - static_cast<double>(before);
  char digits[8];
  std::snprintf(digits, sizeof digits, "#%02x%02x%02x",
                between(table[before], table[before + 1], rest, 16),
                between(table[before], table[before + 1], rest, 8),
                between(table[before], table[before + 1], rest, 0));
  return digits;
}

}  // namespace apps
