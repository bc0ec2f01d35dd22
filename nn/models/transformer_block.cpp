#include "nn/models/transformer_block.h"

#include <cmath>

#include "core/errors.h"
#include "core/machine/simd.h"
#include "nn/sizes.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TransformerBlock::TransformerBlock(const TransformerBlockConfig& config, Random& random)
    : TransformerBlock(config,
                       std::visit([](const auto& mixer) { return mixer.d_model; }, config.mixer),
                       make_mixer(config.mixer, random), random) {}

TransformerBlock::TransformerBlock(const TransformerBlockConfig& config, int64_t d_model,
                                   std::unique_ptr<Layer> any_mixer, Random& random)
    : mixer(std::move(any_mixer)), norm_first(config.norm_first), dropout(config.dropout) {
  name = config.type;
  check_sizes(config);
  require(config.d_inner >= 1, config.type, ": d_inner ", config.d_inner, ", expected at least 1");
  require(config.norm_eps > 0, config.type, ": norm_eps ", config.norm_eps, ", expected above 0");
  mixer_norm = LayerNorm(d_model, config.norm_eps);
  feed_forward = FeedForward(d_model, config.d_inner, config.activation, config.dropout, random);
  feed_forward_norm = LayerNorm(d_model, config.norm_eps);
}

template <class F>
Tensor TransformerBlock::residual(const Tensor& x, const LayerNorm& norm, Context& context,
                                  F f) const {
  if (norm_first) return context.add_dropped(x, f(norm(x)), dropout);
  return norm(context.add_dropped(x, f(x), dropout));
}

Tensor TransformerBlock::feed(const Tensor& x, Context& context) const {
  return residual(x, feed_forward_norm, context,
                  [&](const Tensor& input) { return feed_forward(input, context); });
}

Tensor TransformerBlock::forward(const Tensor& x, const Tensor& memory, Context& context) const {
  check_input(name, x, memory, mixer_norm.weight.size(0));
  Tensor past = memory.defined() && norm_first ? mixer_norm(memory) : memory;  // [B, M, C]
  Tensor mixed = residual(x, mixer_norm, context,
                          [&](const Tensor& input) { return (*mixer)(input, past, context); });
  return feed(mixed, context);
}

std::unique_ptr<State> TransformerBlock::start(int64_t limit) const { return mixer->start(limit); }

Tensor TransformerBlock::forward(const Tensor& x, State& state, Context& context) const {
  refuse_recording(x);
  check_input(name, x, {}, mixer_norm.weight.size(0));
  Tensor mixed = residual(x, mixer_norm, context,
                          [&](const Tensor& input) { return (*mixer)(input, state, context); });
  return feed(mixed, context);
}

void TransformerBlock::visit(Visitor& visitor) const {
  visitor("mixer", *mixer);
  visitor("mixer_norm", mixer_norm);
  visitor("feed_forward", feed_forward);
  visitor("feed_forward_norm", feed_forward_norm);
}

std::vector<Tensor*> TransformerBlock::position_biases() { return mixer->position_biases(); }

std::vector<Tensor> TransformerBlock::residual_projections() const {
  std::vector<Tensor> weights = mixer->residual_projections();
  weights.push_back(feed_forward.down.weight);
  return weights;
}

void shrink(const std::vector<Tensor>& weights, int64_t additions) {
  if (!parameters_are_filled()) return;
  auto factor = static_cast<Scalar>(1 / std::sqrt(static_cast<double>(additions)));
  for (const Tensor& weight : weights)
    simd::axpby(factor, weight.data(), 0, weight.mutable_data(), weight.count());
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
