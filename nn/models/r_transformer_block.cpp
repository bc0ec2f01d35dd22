#include "shiftgrad/nn/models/r_transformer_block.h"

#include "shiftgrad/core/errors.h"
#include "shiftgrad/nn/sizes.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

MultiHeadAttentionConfig attention_config(const RTransformerBlockConfig& config) {
  MultiHeadAttentionConfig attention{.d_model = config.d_model, .n_head = config.n_head};
  attention.attention_dropout = config.attention_dropout;
  return attention;
}

struct RTransformerState : State {
  std::unique_ptr<State> local, attention;

  std::unique_ptr<State> clone() const override {
    auto copy = std::make_unique<RTransformerState>();
    copy->local = local->clone();
    copy->attention = attention->clone();
    copy->owner = owner;
    return copy;
  }
  void forget_newest(int64_t count) override {
    local->forget_newest(count);
    attention->forget_newest(count);
  }
  void reorder(const std::vector<int64_t>& members) override {
    local->reorder(members);
    attention->reorder(members);
  }
};

}  // namespace

RTransformerBlock::RTransformerBlock(const RTransformerBlockConfig& config, Random& random)
    : local_rnn({config.d_model, config.window, config.cell}, random),
      local_norm(LayerNorm::of_deviation(config.d_model)),
      attention(attention_config(config), random),
      attention_norm(LayerNorm::of_deviation(config.d_model)),
      feed_forward_norm(LayerNorm::of_deviation(config.d_model)),
      dropout(config.dropout) {
  name = config.type;
  check_sizes(config);
  require(config.d_model >= 2, config.type, ": d_model ", config.d_model,
          ", expected at least 2 for its norm");
  require(config.d_inner >= 1, config.type, ": d_inner ", config.d_inner, ", expected at least 1");
  feed_forward = FeedForward(config.d_model, config.d_inner, Activation::relu, config.dropout, random);
}

template <class Local, class Attend>
Tensor RTransformerBlock::run(const Tensor& input, Context& context, Local local,
                              Attend attend) const {
  context.refuse_masks("r_transformer_block");
  Tensor x = context.add_dropped(input, local(local_norm(input)), dropout);
  x = context.add_dropped(x, attend(attention_norm(x)), dropout);
  Tensor fed = feed_forward(feed_forward_norm(x), context);
  return context.add_dropped(x, fed, dropout);
}

Tensor RTransformerBlock::forward(const Tensor& x, const Tensor& memory, Context& context) const {
  check_input(name, x, {}, local_rnn.d_model);
  require(!memory.defined(), "r_transformer_block: takes no memory, only a state");
  return run(
      x, context, [&](const Tensor& y) { return local_rnn(y, {}, context); },
      [&](const Tensor& y) { return attention(y, {}, context); });
}

std::unique_ptr<State> RTransformerBlock::start(int64_t limit) const {
  auto state = new_state<RTransformerState>();
  state->local = local_rnn.start(limit);
  state->attention = attention.start(limit);
  return state;
}

Tensor RTransformerBlock::forward(const Tensor& x, State& state, Context& context) const {
  auto& parts = own_state<RTransformerState>(state, x);
  check_input(name, x, {}, local_rnn.d_model);
  return run(
      x, context, [&](const Tensor& y) { return local_rnn(y, *parts.local, context); },
      [&](const Tensor& y) { return attention(y, *parts.attention, context); });
}

void RTransformerBlock::visit(Visitor& visitor) const {
  visitor("local_rnn", local_rnn);
  visitor("local_norm", local_norm);
  visitor("attention", attention);
  visitor("attention_norm", attention_norm);
  visitor("feed_forward", feed_forward);
  visitor("feed_forward_norm", feed_forward_norm);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
