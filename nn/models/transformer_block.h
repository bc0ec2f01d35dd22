#pragma once

// The Transformer's block: a mixer and a feed-forward net, each added to what it was given.
//
//     norm first (Xiong et al. 2020):   x + f(norm(x))
//     norm last (Vaswani et al. 2017):  norm(x + f(x))

#include "shiftgrad/nn/feed_forward.h"
#include "shiftgrad/nn/layer.h"
#include "shiftgrad/nn/layer_norm.h"
#include "shiftgrad/nn/models/mixers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct TransformerBlock;

struct TransformerBlockConfig {
  using Layer = TransformerBlock;
  static constexpr const char* type = "transformer_block";
  MixerConfig mixer{};
  int64_t d_inner = 0;
  bool norm_first = true;
  /// `relu`, `gelu` or `gelu_tanh`.
  std::string activation = "relu";
  double norm_eps = 1e-5;
  /// On the outputs of the mixer and of the feed-forward net, and after its activation.
  double dropout = 0;

  template <class Fields>
  void fields(Fields& field) {
    field("mixer", mixer);
    field("d_inner", d_inner);
    field("norm_first", norm_first);
    field("activation", activation);
    field("norm_eps", norm_eps);
  }
};

struct TransformerBlock : Layer {
  std::unique_ptr<Layer> mixer;
  LayerNorm mixer_norm;
  FeedForward feed_forward;
  LayerNorm feed_forward_norm;
  bool norm_first = true;
  double dropout = 0;

  /// Throws when the config names no block.
  TransformerBlock(const TransformerBlockConfig& config, Random& random);
  /// The same around any mixer of that width, in place of the one that the config names.
  TransformerBlock(const TransformerBlockConfig& config, int64_t d_model,
                   std::unique_ptr<Layer> mixer, Random& random);

  /// `memory` is earlier input of this block. With norm_first it is normed like x, which gives the
  /// norm's parameters a gradient through it, and the memory none.
  Tensor forward(const Tensor& x, const Tensor& memory, Context& context) const override;
  std::unique_ptr<State> start(int64_t limit = unlimited) const override;
  Tensor forward(const Tensor& x, State& state, Context& context) const override;
  int64_t longest() const override { return mixer->longest(); }
  int64_t most_keys() const override { return mixer->most_keys(); }
  void visit(Visitor& visitor) const override;

 private:
  /// x + f(norm(x)) or norm(x + f(x)).
  template <class F>
  Tensor residual(const Tensor& x, const LayerNorm& norm, Context& context, F f) const;
  Tensor feed(const Tensor& x, Context& context) const;
};

/// GPT-2's start for a model whose residual stream is added to so many times: what projects into
/// the stream is divided by the root of that (Radford et al. 2019, section 2.3). Does nothing while
/// parameters have no values.
void shrink_residual_projections(const Module& block, int64_t additions);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
