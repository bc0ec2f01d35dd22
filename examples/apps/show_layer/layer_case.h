#pragma once

// The small case that a layer is worked through on: its config, its weights and its input.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nn/models/config.h"

namespace show_layer {

/// Returns the config that "TYPE:KEY=VALUE,…" describes. Keys that are not given get small values
/// that suit T new tokens after M remembered ones.
shiftgrad::SizedMixerConfig config_of(const std::string& layer, int64_t T, int64_t M);

/// Fills the parameters with the whole numbers that worked_example.h describes.
void fill_parameters(shiftgrad::Module& layer, int64_t channels);

/// Returns `count` tokens [1, count, C] that begin at a position. Their values are -1, 0 and 1, and
/// each four channels are like the first four, so all heads and layers read the same.
shiftgrad::Tensor tokens(int64_t first, int64_t count, int64_t C);

}  // namespace show_layer
