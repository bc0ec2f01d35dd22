#include "nn/models/r_transformer_block.h"

#include "core/errors.h"
#include "nn/sizes.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

MultiHeadAttentionConfig attention_config(const RTransformerBlockConfig& config) {
  MultiHeadAttentionConfig attention{.d_model = config.d_model, .n_head = config.n_head};
  attention.attention_dropout = config.attention_dropout;
  return attention;
}

/// The states of the local layers, from the lowest, and then of the attention.
struct RTransformerState : State {
  std::vector<StateValue> parts;

  std::unique_ptr<State> clone() const override {
    return std::make_unique<RTransformerState>(*this);
  }
  void forget_newest(int64_t count) override {
    for (auto& part : parts) part->forget_newest(count);
  }
  void reorder(const std::vector<int64_t>& members) override {
    for (auto& part : parts) part->reorder(members);
  }
};

std::vector<RTransformerBlock::LocalLayer> local_layers_of(const RTransformerBlockConfig& config,
                                                           Random& random) {
  check_sizes(config);
  require(config.rnn_layers >= 1, config.type, ": rnn_layers ", config.rnn_layers,
          ", expected at least 1");
  std::vector<RTransformerBlock::LocalLayer> layers;
  for (int64_t n = 0; n < config.rnn_layers; ++n)
    layers.push_back({LocalRnn({config.d_model, config.window, config.cell}, random),
                      LayerNorm::of_deviation(config.d_model)});
  return layers;
}

}  // namespace

RTransformerBlock::RTransformerBlock(const RTransformerBlockConfig& config, Random& random)
    : local_layers(local_layers_of(config, random)),
      attention(attention_config(config), random),
      attention_norm(LayerNorm::of_deviation(config.d_model)),
      feed_forward_norm(LayerNorm::of_deviation(config.d_model)),
      dropout(config.dropout) {
  name = config.type;
  require(config.d_model >= 2, config.type, ": d_model ", config.d_model,
          ", expected at least 2 for its norm");
  require(config.d_inner >= 1, config.type, ": d_inner ", config.d_inner, ", expected at least 1");
  feed_forward =
      FeedForward(config.d_model, config.d_inner, Activation::relu, config.dropout, random);
}

Tensor RTransformerBlock::run(
    const Tensor& input, Context& context,
    const std::function<Tensor(const Layer&, const Tensor&)>& apply) const {
  check_input(name, input, {}, attention.qkv.weight.size(1));
  context.refuse_masks("r_transformer_block");
  Tensor x = input;
  for (const LocalLayer& local : local_layers)
    x = context.add_dropped(x, apply(local.rnn, local.norm(x)), dropout);
  x = context.add_dropped(x, apply(attention, attention_norm(x)), dropout);
  Tensor fed = feed_forward(feed_forward_norm(x), context);
  return context.add_dropped(x, fed, dropout);
}

Tensor RTransformerBlock::forward(const Tensor& x, const Tensor& memory, Context& context) const {
  require(!memory.defined(), "r_transformer_block: takes no memory, only a state");
  return run(x, context,
             [&](const Layer& layer, const Tensor& y) { return layer(y, Tensor(), context); });
}

std::unique_ptr<State> RTransformerBlock::start(int64_t limit) const {
  auto state = new_state<RTransformerState>();
  for (const LocalLayer& local : local_layers) state->parts.push_back(local.rnn.start(limit));
  state->parts.push_back(attention.start(limit));
  return state;
}

Tensor RTransformerBlock::forward(const Tensor& x, State& state, Context& context) const {
  return advance<RTransformerState>(state, x, [&](RTransformerState& past) {
    auto part = past.parts.begin();
    return run(x, context,
               [&](const Layer& layer, const Tensor& y) { return layer(y, **part++, context); });
  });
}

void RTransformerBlock::visit(Visitor& visitor) const {
  for (size_t n = 0; n < local_layers.size(); ++n) {
    std::string suffix = n == 0 ? "" : text("_", n + 1);
    visitor("local_rnn" + suffix, local_layers[n].rnn);
    visitor("local_norm" + suffix, local_layers[n].norm);
  }
  visitor("attention", attention);
  visitor("attention_norm", attention_norm);
  visitor("feed_forward", feed_forward);
  visitor("feed_forward_norm", feed_forward_norm);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
