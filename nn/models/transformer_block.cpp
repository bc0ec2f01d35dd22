#include "nn/models/transformer_block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TransformerBlock::TransformerBlock(const TransformerBlockConfig& config, Initial values,
                                   std::unique_ptr<Layer> own_mixer) {
  name = config.type;
  norm_first = config.norm_first;
  dropout = config.dropout;
  auto mixer = own_mixer ? std::move(own_mixer) : make_mixer(config.mixer, values);
  check_fields(config.type, config);
  int64_t d_model = std::visit([](const auto& sized) { return sized.d_model; }, config.mixer);
  auto add = [&](const std::string& part, std::unique_ptr<Layer> function) {
    parts.push_back(
        {part, std::move(function), part + "_norm", LayerNorm(d_model, config.norm_eps)});
  };
  add("mixer", std::move(mixer));
  add("feed_forward", std::make_unique<FeedForward>(d_model, config.d_inner, config.activation,
                                                    config.dropout, values));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
