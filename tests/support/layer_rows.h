#pragma once

// The list of configured layers over which the tests run that are common to all of them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nn/layer.h"
#include "tests/support/oracles/input.h"
#include "tests/support/random_values.h"

namespace shiftgrad::test {

struct LayerRow {
  std::string name;
  /// What errors call it.
  std::string type;
  /// Its config, empty for a layer that the library does not know.
  std::string json;
  int64_t d_model;
  /// The layer, its parameters as they start.
  std::function<std::unique_ptr<Layer>()> make;
  /// The formula as loops over indices.
  std::function<Values(const Weights&, const Input&)> oracle;
  /// The closed form of its number of parameters.
  int64_t parameters;
  bool causal = true;
  bool takes_masks = true;
  bool takes_memory = true;
  /// A state can forget its newest tokens: it is a cache, not sums.
  bool forgets = true;
  /// The most keys for which the layer is defined.
  int64_t max_keys = unlimited;
  /// The most tokens that a state holds; `unlimited` where it grows.
  int64_t held = unlimited;
  /// A token of the past beyond this distance cannot be seen; `unlimited` where all can.
  int64_t sight = unlimited;
  /// Tokens are seen in chunks of this size, counted from the first one given.
  int64_t chunk = 1;
};

/// Every mixer in every form, and blocks around them.
const std::vector<LayerRow>& layer_rows();

/// Whether two rows of the same size are asked for: batch, new tokens, remembered tokens.
struct Sizes {
  int64_t B, T, M;
};

/// Gives every parameter a random value from -1 … 1, so that no term of a formula is left at 0.
inline void randomize(const Module& module, RandomValues& random) {
  for (const Parameter& parameter : parameters(module))
    std::copy_n(random.vector(parameter.value.count()).data(), parameter.value.count(),
                parameter.value.mutable_data());
}

/// The layer that a config describes, with random parameters.
template <class Config>
typename Config::Layer random_layer(const Config& config, RandomValues& random) {
  Random start;
  typename Config::Layer layer = make_layer(config, start);
  randomize(layer, random);
  return layer;
}

/// A layer of the row with random parameters.
inline std::unique_ptr<Layer> random_layer(const LayerRow& row, RandomValues& random) {
  std::unique_ptr<Layer> layer = row.make();
  randomize(*layer, random);
  return layer;
}

/// Random tokens of C channels, as the Scalars that a layer gets.
inline Input random_input(const Sizes& sizes, int64_t C, RandomValues& random) {
  Input input;
  input.x = Values(random.tensor({sizes.B, sizes.T, C}));
  input.memory = Values(random.tensor({sizes.B, sizes.M, C}));
  return input;
}
inline Input random_input(const LayerRow& row, const Sizes& sizes, RandomValues& random) {
  return random_input(sizes, row.d_model, random);
}

inline Context masks_of(const Input& input) {
  Context context;
  context.key_padding_mask = input.padding;
  context.attention_mask = input.hidden;
  return context;
}

/// The memory as a layer takes it: undefined when it is empty, for layers that take none.
inline Tensor memory_of(const Input& input) {
  return input.M() > 0 ? input.memory.tensor() : Tensor();
}

inline Tensor run(const Layer& layer, const Input& input) {
  Context context = masks_of(input);
  return layer.forward(input.x.tensor(), memory_of(input), context);
}

/// The sizes that the row is defined for, from those that matter: odd ones, a single token, and a
/// memory far longer than the segment.
inline std::vector<Sizes> sizes_of(const LayerRow& row) {
  std::vector<Sizes> result;
  for (Sizes sizes :
       {Sizes{2, 5, 3}, {1, 1, 0}, {3, 1, 7}, {1, 7, 0}, {2, 3, 11}, {2, 4, 2}, {1, 2, 1}}) {
    if (!row.takes_memory && sizes.M > 0) continue;
    if (sizes.M + sizes.T <= row.max_keys) result.push_back(sizes);
  }
  return result;
}

}  // namespace shiftgrad::test
