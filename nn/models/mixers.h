#pragma once

// The list of all mixers: what `{"type": …}` can name.

#include <variant>

#include "shiftgrad/nn/aft.h"
#include "shiftgrad/nn/local_rnn.h"
#include "shiftgrad/nn/multi_head_attention.h"
#include "shiftgrad/nn/relative_global_attention.h"
#include "shiftgrad/nn/relative_multi_head_attention.h"
#include "shiftgrad/nn/shaw_attention.h"
#include "shiftgrad/nn/transformer_xl_attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

using MixerConfig = std::variant<MultiHeadAttentionConfig, RelativeMultiHeadAttentionConfig,
                                 RelativeGlobalAttentionConfig, ShawAttentionConfig,
                                 TransformerXLAttentionConfig, AftConfig, LocalRnnConfig>;

/// What a model's mixers take from its config.
struct MixerSizes {
  int64_t d_model = 0;
  int64_t n_head = 0;
  double dropout = 0;
  double attention_dropout = 0;
};

/// The config with these, where it has a place for them.
MixerConfig sized(MixerConfig config, const MixerSizes& sizes);

/// The config of the mixer that sees the past alone, or the future too. Throws, in the name of
/// `model`, where there is no such form of it.
MixerConfig directed(MixerConfig config, bool causal, const char* model);

/// The mixer that the config describes. Throws when it describes none.
std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Random& random);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
