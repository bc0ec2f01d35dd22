#pragma once

// The Transformer's block: a mixer and a feed-forward net, with the norm first or last.

#include <concepts>

#include "nn/feed_forward.h"
#include "nn/models/block.h"
#include "nn/models/mixers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Config of a TransformerBlock.
struct TransformerBlockConfig {
  using Layer = struct TransformerBlock;
  static constexpr const char* type = "transformer_block";
  MixerConfig mixer{};
  int64_t d_inner = 0;
  bool norm_first = true;
  /// Activation of the feed-forward net.
  Activation activation = Activation::relu;
  double norm_eps = 1e-5;
  /// Dropout rate of the outputs of the mixer and of the feed-forward net, and after its
  /// activation.
  double dropout = 0;

  void fields(auto&& field) {
    field(mixer, {"mixer", "how the tokens see each other"}, required);
    field(d_inner, fields::d_inner());
    field(norm_first, fields::norm_first());
    field(activation, fields::activation());
    field(norm_eps,
          {"norm_eps", "what the norms add to the variance", {"NUMBER", range::positive}});
    field(dropout, fields::dropout());
  }
};

/// Calls nothing: in JSON the mixer names the width.
template <std::derived_from<TransformerBlockConfig> Config>
void width_fields(const Config&, Width&, auto&&) {}

/// A block of two parts, mixer and feed_forward.
struct TransformerBlock : Block {
  /// Builds the block, around a mixer of the program's own if that is given. Throws when the config
  /// describes no valid block.
  TransformerBlock(const TransformerBlockConfig& config, Width width, Init init,
                   std::unique_ptr<Layer> own_mixer = nullptr);
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
