#include "variants.h"

#include <algorithm>

namespace variants {

const std::vector<Variant>& all() {
  static const std::vector<Variant> list = {
      {"fox", "a forget gate in each head", fox},
      {"sink", "rotary, a logit without a value",
       [](auto C, auto H, Random& random) { return sink(C, H, 128, random); }},
      {"soft_cap", "rotary, scores below 50",
       [](auto C, auto H, Random& random) { return soft_cap(C, H, 50, random); }},
      {"grouped", "rotary, half as many heads of keys, or one",
       [](auto C, auto H, Random& random) { return grouped(C, H, H % 2 ? 1 : H / 2, random); }},
      {"fire", "a learned function of distance by place",
       [](auto C, auto H, Random& random) { return fire(C, H, 32, 128, random); }},
      {"cope", "positions that count what the query asks for",
       [](auto C, auto H, Random& random) { return cope(C, H, 64, random); }},
      {"differential", "rotary, half as many heads, each the difference of two maps",
       [](auto C, auto H, Random& random) {
         return differential(C, std::max<int64_t>(H / 2, 1), random);
       }},
      {"streaming", "rotary, the first 4 tokens and the last 64",
       [](auto C, auto H, Random& random) { return streaming(C, H, 4, 64, random); }},
      {"gated_linear", "a matrix in place of keys, with gates",
       [](auto C, auto H, Random& random) { return gated_linear(C, H, 16, random); }},
      {"retention", "a matrix in place of keys, with a fixed decay",
       [](auto C, auto H, Random& random) { return retention(C, H, 16, random); }},
      {"swin", "a table of two dimensions, the text in rows of 16",
       [](auto C, auto H, Random& random) { return swin(C, H, 8, 16, true, random); }},
  };
  return list;
}

}  // namespace variants
