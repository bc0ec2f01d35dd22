#include "nn/models/r_transformer_block.h"

#include "core/checked.h"
#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

RTransformerBlock::RTransformerBlock(const RTransformerBlockConfig& config, Width width,
                                     Init init) {
  name = config.type;
  dropout = config.dropout;
  AtLeast{config.type}(2, "d_model", width.d_model);  // the norms divide by d_model - 1
  check_fields(config.type, Sized{config, width});
  auto add = [&](const std::string& part, std::unique_ptr<Layer> function,
                 const std::string& norm) {
    parts.push_back({part, std::move(function), norm, LayerNorm(width.d_model, 1e-6, true)});
  };
  LocalRnnConfig local{config.window, config.cell};
  for (int64_t n = 1; n <= config.rnn_layers; ++n) {
    std::string suffix = n == 1 ? "" : text("_", n);
    add("local_rnn" + suffix, std::make_unique<LocalRnn>(local, width, init),
        "local_norm" + suffix);
  }
  MultiHeadAttentionConfig attention{.attention_dropout = config.attention_dropout};
  add("attention", std::make_unique<MultiHeadAttention>(attention, width, init), "attention_norm");
  add("feed_forward",
      std::make_unique<FeedForward>(width.d_model, config.d_inner, Activation::relu, config.dropout,
                                    init),
      "feed_forward_norm");
}

Tensor RTransformerBlock::forward(const Tensor& x, const Past& past, Context& context) const {
  require(!past.memory().defined(), "r_transformer_block: takes no memory, only a cache");
  context.refuse_masks("r_transformer_block");
  return Block::forward(x, past, context);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
