#include "nn/models/encoder_decoder_block.h"

#include "core/errors.h"
#include "nn/sizes.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Settings that the cross-attention takes from the mixer: its heads, and whether it has biases.
MultiHeadAttentionConfig cross_config(const EncoderDecoderBlockConfig& config) {
  return std::visit(
      [&](const auto& mixer) {
        std::optional<int64_t> heads = config.n_head;
        if constexpr (requires { mixer.n_head; })
          if (!heads) heads = mixer.n_head;
        require(heads.has_value(), config.type, ": n_head is missing, and the mixer has none");
        MultiHeadAttentionConfig cross{.d_model = mixer.d_model, .n_head = *heads};
        if constexpr (requires { mixer.bias; }) cross.bias = mixer.bias;
        return cross;
      },
      config.mixer);
}

}  // namespace

EncoderDecoderBlock::EncoderDecoderBlock(const EncoderDecoderBlockConfig& config, Random& random)
    : norm_first(config.norm_first), dropout(config.dropout) {
  check_sizes(config);
  TransformerBlock own(config, random);
  mixer = std::move(own.mixer);
  mixer_norm = own.mixer_norm;
  feed_forward = own.feed_forward;
  feed_forward_norm = own.feed_forward_norm;
  MultiHeadAttentionConfig cross = cross_config(config);
  cross_attention = std::make_unique<MultiHeadAttention>(cross, random);
  cross_attention_norm = LayerNorm(cross.d_model, config.norm_eps);
}

template <class Mix, class Cross>
Tensor EncoderDecoderBlock::run(const Tensor& x, Context& context, Mix mix, Cross cross) const {
  auto residual = [&](const Tensor& input, const LayerNorm& norm, auto f) {
    if (norm_first) return context.add_dropped(input, f(norm(input)), dropout);
    return norm(context.add_dropped(input, f(input), dropout));
  };
  Tensor y = residual(x, mixer_norm, mix);
  y = residual(y, cross_attention_norm, cross);
  return residual(y, feed_forward_norm,
                  [&](const Tensor& input) { return feed_forward(input, context); });
}

Tensor EncoderDecoderBlock::operator()(const Tensor& x, const Tensor& memory, const Tensor& source,
                                       Context& context, Context& cross_context) const {
  check_input(EncoderDecoderBlockConfig::type, x, memory, mixer_norm.weight.size(0));
  Tensor past = memory.defined() && norm_first ? mixer_norm(memory) : memory;
  return run(
      x, context, [&](const Tensor& input) { return (*mixer)(input, past, context); },
      [&](const Tensor& input) { return cross_attention->cross(input, source, cross_context); });
}

Tensor EncoderDecoderBlock::operator()(const Tensor& x, State& state, const KeysAndValues& source,
                                       Context& context, Context& cross_context) const {
  check_input(EncoderDecoderBlockConfig::type, x, {}, mixer_norm.weight.size(0));
  int64_t B = source.key.size(0), rows = x.size(0);
  require(rows % B == 0, "encoder_decoder_block: ", rows, " rows for ", B,
          " sources, expected a multiple");
  // Told before the mixer goes on: the state stays as it was.
  Visibility{false, 0, cross_context.key_padding_mask, cross_context.attention_mask}.check(
      "relative_attention", B, rows / B * x.size(1), source.key.size(2));
  return run(
      x, context, [&](const Tensor& input) { return (*mixer)(input, state, context); },
      [&](const Tensor& input) {
        // To the attention, several rows of one source are just more queries of that source.
        Tensor queries = reshape(input, {B, rows / B * x.size(1), x.size(2)});  // [B, rows/B·T, C]
        return reshape(cross_attention->cross(queries, source, cross_context), x.shape());
      });
}

std::vector<Tensor> EncoderDecoderBlock::residual_projections() const {
  std::vector<Tensor> weights = mixer->residual_projections();
  weights.push_back(cross_attention->output.weight);
  weights.push_back(feed_forward.down.weight);
  return weights;
}

void EncoderDecoderBlock::visit(Visitor& visitor) const {
  visitor("mixer", *mixer);
  visitor("mixer_norm", mixer_norm);
  visitor("cross_attention", *cross_attention);
  visitor("cross_attention_norm", cross_attention_norm);
  visitor("feed_forward", feed_forward);
  visitor("feed_forward_norm", feed_forward_norm);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
