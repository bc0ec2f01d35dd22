// One layer by itself: build it, mask it, feed it in pieces, and see what its tokens look at.

#include <shiftgrad/shiftgrad.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

using namespace shiftgrad;

/// The mask [1, keys] of one sequence whose first token is padding: no token may look at it.
std::shared_ptr<const Mask> padding(int64_t keys) {
  Mask mask{{1, keys}, std::vector<uint8_t>(keys)};
  mask.values[0] = true;
  return std::make_shared<const Mask>(mask);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (Scalar value : (a - b).values()) largest = std::max<double>(largest, std::abs(value));
  return largest;
}

int main() {
  initialize();
  Random random{.seed = 1};
  TransformerXLAttention layer({}, {.d_model = 8, .n_head = 2}, random);
  for (const Parameter& parameter : parameters(layer))
    std::cout << parameter.name << ' ' << parameter.value.shape() << '\n';

  // Six tokens at once. They are large, since a new layer's weights are small.
  Tensor x = normal_parameter({1, 6, 8}, random, 20);  // [B, T, C]
  Context context;
  context.key_padding_mask = padding(6);
  Tensor whole = layer(x, context);  // [B, T, C]
  std::cout << "\nThe output: " << whole << '\n';

  // Feed x in three pieces. The cache keeps what later tokens need of earlier ones.
  std::unique_ptr<Cache> cache = layer.make_cache();
  std::vector<Tensor> pieces;
  for (auto [begin, end] : {std::pair{0, 1}, {1, 4}, {4, 6}}) {
    context.key_padding_mask = padding(end);
    pieces.push_back(layer(slice(x, 1, begin, end), *cache, context));
  }
  std::cout << "\nThe largest difference in pieces: "
            << largest_difference(concat(pieces, 1), whole) << '\n';

  // A recorder sees the attention of all heads, [B, H, T, K].
  context.key_padding_mask = padding(6);
  context.recorder = [](const Tensor& attention) {
    Tensor first_head = select(select(attention, 0, 0), 0, 0);  // [T, K]
    std::cout << "\nThe first head's attention: " << first_head << '\n';
  };
  layer(x, context);
}
