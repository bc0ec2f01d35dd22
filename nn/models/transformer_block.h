#pragma once

// The Transformer's block: a mixer and a feed-forward net, each added to its input.
//
//     norm first (Xiong et al. 2020):   x + f(norm(x))
//     norm last (Vaswani et al. 2017):  norm(x + f(x))

#include "nn/feed_forward.h"
#include "nn/layer.h"
#include "nn/layer_norm.h"
#include "nn/models/mixers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct TransformerBlock;

struct TransformerBlockConfig {
  using Layer = TransformerBlock;
  static constexpr const char* type = "transformer_block";
  MixerConfig mixer{};
  int64_t d_inner = 0;
  bool norm_first = true;
  /// Activation of the feed-forward net.
  Activation activation = Activation::relu;
  double norm_eps = 1e-5;
  /// Dropout rate of the outputs of the mixer and of the feed-forward net, and after its
  /// activation.
  double dropout = 0;

  template <class Fields>
  void fields(Fields& field) {
    field("mixer", mixer, required);
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

  /// Builds the block. Throws when the config describes no valid block.
  TransformerBlock(const TransformerBlockConfig& config, Random& random);
  /// Builds the block around any mixer of that width, in place of the one that the config names.
  TransformerBlock(const TransformerBlockConfig& config, int64_t d_model,
                   std::unique_ptr<Layer> mixer, Random& random);

  /// Returns the output [B, T, C]. `memory` is earlier input of this block. With norm_first it is
  /// normed like x. The norm's parameters get a gradient through it, the memory itself none.
  Tensor forward(const Tensor& x, const Tensor& memory, Context& context) const override;
  std::unique_ptr<State> start(int64_t limit = unlimited) const override;
  Tensor forward(const Tensor& x, State& state, Context& context) const override;
  int64_t longest() const override { return mixer->longest(); }
  int64_t most_keys() const override { return mixer->most_keys(); }
  std::vector<Tensor*> position_biases() override;
  std::vector<Tensor> residual_projections() const override;
  void visit(Visitor& visitor) const override;

 private:
  /// Returns x + f(norm(x)) or norm(x + f(x)).
  template <class F>
  Tensor residual(const Tensor& x, const LayerNorm& norm, Context& context, F f) const;
  Tensor feed(const Tensor& x, Context& context) const;
};

/// Divides the initial weights of projections into a residual stream by √additions, where a model
/// adds to its stream that many times (Radford et al. 2019, section 2.3). Does nothing while
/// parameters have no values.
void shrink(const std::vector<Tensor>& residual_projections, int64_t additions);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
