#pragma once

// The list of all mixers: what `{"type": …}` can name.

#include <variant>

#include "nn/aft.h"
#include "nn/local_rnn.h"
#include "nn/multi_head_attention.h"
#include "nn/relative_global_attention.h"
#include "nn/relative_multi_head_attention.h"
#include "nn/shaw_attention.h"
#include "nn/transformer_xl_attention.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

using MixerConfig = std::variant<MultiHeadAttentionConfig, RelativeMultiHeadAttentionConfig,
                                 RelativeGlobalAttentionConfig, ShawAttentionConfig,
                                 TransformerXLAttentionConfig, AftConfig, LocalRnnConfig>;

/// The mixer that the config describes. Throws when it describes none.
std::unique_ptr<Layer> make_mixer(const MixerConfig& config, Random& random);

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
