#include "nn/models/transformer_block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TransformerBlock::TransformerBlock(const TransformerBlockConfig& config, Width width, Init init,
                                   std::unique_ptr<Layer> own_mixer) {
  name = config.type;
  norm_first = config.norm_first;
  dropout = config.dropout;
  auto mixer = own_mixer ? std::move(own_mixer) : make_mixer(config.mixer, width, init);
  check_fields(config.type, config);
  auto add = [&](const std::string& part, std::unique_ptr<Layer> function) {
    parts.push_back(
        {part, std::move(function), part + "_norm", LayerNorm(width.d_model, config.norm_eps)});
  };
  add("mixer", std::move(mixer));
  add("feed_forward", std::make_unique<FeedForward>(width.d_model, config.d_inner,
                                                    config.activation, config.dropout, init));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
