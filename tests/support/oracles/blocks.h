#pragma once

#include <numbers>

#include "nn/models/encoder_decoder_block.h"
#include "nn/models/r_transformer_block.h"
#include "tests/support/oracles/attention.h"
#include "tests/support/oracles/local_rnn.h"

namespace shiftgrad::test {

inline Values oracle(const MixerConfig& config, Width width, const Weights& weights,
                     const Input& input) {
  auto mix = [&](const auto& mixer) { return oracle(Sized{mixer, width}, weights, input); };
  return std::visit(mix, config);
}

/// w ⊙ (x - mean) / √(variance + ε) + b over the last axis; by deviation, as the R-Transformer has
/// it, w ⊙ (x - mean) / (std + ε) + b with n - 1 below the squares.
inline Values norm_oracle(const Values& x, const Weights& weights, double epsilon,
                          bool by_deviation = false) {
  const Values &w = weights["weight"], &b = weights["bias"];
  Values y = x;
  auto C = static_cast<size_t>(w.size(0));
  for (size_t row = 0; row < x.values.size(); row += C) {
    const double* in = &x.values[row];
    double mean = 0, squares = 0;
    for (size_t c = 0; c < C; ++c) mean += in[c] / static_cast<double>(C);
    for (size_t c = 0; c < C; ++c) squares += (in[c] - mean) * (in[c] - mean);
    double below = by_deviation ? std::sqrt(squares / static_cast<double>(C - 1)) + epsilon
                                : std::sqrt(squares / static_cast<double>(C) + epsilon);
    for (size_t c = 0; c < C; ++c) y.values[row + c] = w(c) * (in[c] - mean) / below + b(c);
  }
  return y;
}

inline double activation_oracle(Activation activation, double x) {
  if (activation == Activation::relu) return std::max(x, 0.0);
  if (activation == Activation::gelu) return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

inline Values feed_forward_oracle(const Values& x, const Weights& weights, Activation activation) {
  Values hidden = linear_oracle(x, weights["up.weight"], weights["up.bias"]);
  for (double& value : hidden.values) value = activation_oracle(activation, value);
  return linear_oracle(hidden, weights["down.weight"], weights["down.bias"]);
}

/// x + f(norm(x)), or norm(x + f(x)).
template <class Norm, class F>
Values residual_oracle(bool norm_first, const Values& x, Norm norm, F f) {
  return norm_first ? x + f(norm(x)) : norm(x + f(x));
}

/// The transformer block, and with `cross` the attention to a context in its middle.
template <class Cross>
Values block_oracle(const TransformerBlockConfig& config, Width width, const Weights& weights,
                    const Input& input, Cross cross) {
  auto norm = [&](const std::string& name) {
    return [&, name](const Values& x) { return norm_oracle(x, weights.of(name), config.norm_eps); };
  };
  Values y = residual_oracle(config.norm_first, input.x, norm("mixer_norm"), [&](const Values& x) {
    Input inner = input;
    inner.context = {};
    inner.x = x;
    if (config.norm_first && inner.M() > 0) inner.memory = norm("mixer_norm")(inner.memory);
    return oracle(config.mixer, width, weights.of("mixer"), inner);
  });
  y = cross(y, norm("cross_attention_norm"));
  return residual_oracle(config.norm_first, y, norm("feed_forward_norm"), [&](const Values& x) {
    return feed_forward_oracle(x, weights.of("feed_forward"), config.activation);
  });
}

inline Values oracle(const Sized<TransformerBlockConfig>& config, const Weights& weights,
                     const Input& input) {
  return block_oracle(config, config, weights, input, [](const Values& y, auto) { return y; });
}

/// `heads` of the cross-attention, whose masks are those of `cross`; the input's are the mixer's.
inline Values oracle(const Sized<EncoderDecoderBlockConfig>& config, int64_t heads,
                     const Weights& weights, const Input& input, const Context& cross) {
  return block_oracle(config, config, weights, input, [&](const Values& y, auto norm) {
    return residual_oracle(config.norm_first, y, norm, [&](const Values& x) {
      Sized attention{MultiHeadAttentionConfig{}, {input.C(), heads}};
      Input outside{x, {}, input.context, cross.key_padding_mask, cross.attention_mask};
      return oracle(attention, weights.of("cross_attention"), outside);
    });
  });
}

inline Values oracle(const Sized<RTransformerBlockConfig>& config, const Weights& weights,
                     const Input& input) {
  auto norm = [&](const std::string& name) {
    return [&, name](const Values& x) { return norm_oracle(x, weights.of(name), 1e-6, true); };
  };
  Values y = input.x;
  for (int64_t n = 1; n <= config.rnn_layers; ++n) {
    std::string number = n == 1 ? "" : "_" + std::to_string(n);
    y = residual_oracle(true, y, norm("local_norm" + number), [&](const Values& x) {
      Sized local{LocalRnnConfig{.window = config.window, .cell = config.cell}, {config.d_model}};
      return oracle(local, weights.of("local_rnn" + number), {x, {}, {}, {}, {}});
    });
  }
  y = residual_oracle(true, y, norm("attention_norm"), [&](const Values& x) {
    Sized attention{MultiHeadAttentionConfig{}, {config.d_model, config.n_head}};
    return oracle(attention, weights.of("attention"), {x, {}, {}, {}, {}});
  });
  return residual_oracle(true, y, norm("feed_forward_norm"), [&](const Values& x) {
    return feed_forward_oracle(x, weights.of("feed_forward"), Activation::relu);
  });
}

}  // namespace shiftgrad::test
