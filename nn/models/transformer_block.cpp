#include "nn/models/transformer_block.h"

#include "core/errors.h"
#include "nn/sizes.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TransformerBlock::TransformerBlock(const TransformerBlockConfig& config, Random& random)
    : TransformerBlock(config,
                       std::visit([](const auto& mixer) { return mixer.d_model; }, config.mixer),
                       make_mixer(config.mixer, random), random) {}

TransformerBlock::TransformerBlock(const TransformerBlockConfig& config, int64_t d_model,
                                   std::unique_ptr<Layer> mixer, Random& random) {
  name = config.type;
  norm_first = config.norm_first;
  dropout = config.dropout;
  check_sizes(config);
  require(config.d_inner >= 1, config.type, ": d_inner ", config.d_inner, ", expected at least 1");
  require(config.norm_eps > 0, config.type, ": norm_eps ", config.norm_eps, ", expected above 0");
  auto feed_forward = std::make_unique<FeedForward>(d_model, config.d_inner, config.activation,
                                                    config.dropout, random);
  LayerNorm mixer_norm(d_model, config.norm_eps), feed_forward_norm(d_model, config.norm_eps);
  parts.push_back({"mixer", std::move(mixer), "mixer_norm", mixer_norm});
  parts.push_back(
      {"feed_forward", std::move(feed_forward), "feed_forward_norm", feed_forward_norm});
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
