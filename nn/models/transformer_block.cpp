#include "nn/models/transformer_block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TransformerBlock::TransformerBlock(const TransformerBlockConfig& config, Initial values)
    : TransformerBlock(config,
                       std::visit([](const auto& mixer) { return mixer.d_model; }, config.mixer),
                       make_mixer(config.mixer, values), values) {}

TransformerBlock::TransformerBlock(const TransformerBlockConfig& config, int64_t d_model,
                                   std::unique_ptr<Layer> mixer, Initial values) {
  name = config.type;
  norm_first = config.norm_first;
  dropout = config.dropout;
  check_fields(config.type, config);
  auto feed_forward = std::make_unique<FeedForward>(d_model, config.d_inner, config.activation,
                                                    config.dropout, values);
  LayerNorm mixer_norm(d_model, config.norm_eps), feed_forward_norm(d_model, config.norm_eps);
  parts.push_back({"mixer", std::move(mixer), "mixer_norm", mixer_norm});
  parts.push_back(
      {"feed_forward", std::move(feed_forward), "feed_forward_norm", feed_forward_norm});
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
