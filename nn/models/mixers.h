#pragma once

// The list of all mixers that `{"type": …}` can name.

#include <variant>

#include "nn/aft.h"
#include "nn/local_rnn.h"
#include "nn/multi_head_attention.h"
#include "nn/relative_global_attention.h"
#include "nn/relative_multi_head_attention.h"
#include "nn/shaw_attention.h"
#include "nn/transformer_xl_attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

using MixerConfig = std::variant<MultiHeadAttentionConfig, RelativeMultiHeadAttentionConfig,
                                 RelativeGlobalAttentionConfig, ShawAttentionConfig,
                                 TransformerXLAttentionConfig, AftConfig, LocalRnnConfig>;

/// Marks a field of a config that its JSON has to name.
struct Required {};
constexpr Required required{};

/// Sizes that a model's mixers take from its config.
struct MixerSizes {
  int64_t d_model = 0;
  int64_t n_head = 0;
  double dropout = 0;
  double attention_dropout = 0;
};

/// Returns the config with these sizes, as far as it has fields for them.
MixerConfig with_sizes(MixerConfig config, const MixerSizes& sizes);

/// Returns the config of the causal form of the mixer, or of its two-way form. Throws, in the name
/// of `model`, if the mixer has no such form.
MixerConfig directed(MixerConfig config, bool causal, const char* model);

/// Returns the mixer that the config describes. Throws when the config is invalid.
std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Random& random);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
