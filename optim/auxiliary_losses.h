#pragma once

// What training asks of a model beside the next token after the last block (Al-Rfou et al. 2018,
// "Character-level language modeling with deeper self-attention", section "Auxiliary Losses"):
//
//     loss = Σ_l w_l Σ_k a_k E_lk                      l = 1 … L blocks, k = 1 … targets
//     E_lk = the mean of -log softmax(W_lk norm_l(h_l) + b_lk)[token t + k] over all t
//     w_L = 1,   w_l = intermediate_losses while less than l / 2L of the training is done, then 0
//     a_1 = 1,   a_k = extra_targets_weight
//
// h_l is what block l makes of the tokens up to t. norm_L, W_L1 and b_L1 are the model's; all
// others are trained with it and of no use afterwards. The paper's third kind of auxiliary loss,
// that of each position in a block, is in every mean.

#include <memory>
#include <vector>

#include "shiftgrad/nn/models/language_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The paper's are intermediate_losses 1 and targets 2; the defaults are none.
struct AuxiliaryLossesConfig {
  /// Weight of each block's losses but the last one's; 0: these blocks predict nothing.
  double intermediate_losses = 0;
  /// Tokens that each position predicts, the next one among them.
  int64_t targets = 1;
  double extra_targets_weight = 0.5;
  /// Updates of the whole training; the intermediate losses are gone after half of it.
  int64_t training_iters = 0;
};

class AuxiliaryLosses : public Module {
 public:
  /// Weights start as the model's do. Throws, naming the field, when the config is bad or the model
  /// has no intermediate block to predict from.
  AuxiliaryLosses(const AuxiliaryLossesConfig& config, const LanguageModelConfig& model,
                  Random& random);

  /// The loss without its main part E_L1, in an update that follows `step` earlier ones; undefined
  /// where nothing is left. `block_inputs` and `features` are what the model's forward pass gave,
  /// `targets` [B, T] the tokens that follow. The last k - 1 positions of a row have no k-th target
  /// and do not count.
  Tensor operator()(const std::vector<Tensor>& block_inputs, const Tensor& features,
                    const Tokens& targets, int64_t step, Context& context) const;

  /// w_l of the update that follows `step` earlier ones; blocks count from 1.
  double weight(int64_t block, int64_t step) const;

  void visit(Visitor& visitor) const override;

 private:
  /// Predicts from one block.
  struct Head : Module {
    LayerNorm norm;  // where the model has one above its last block
    std::vector<std::unique_ptr<Linear>> outputs;
    void visit(Visitor& visitor) const override;
  };

  /// Σ_k a_k E_lk of one block, without E_L1.
  Tensor block_loss(const Head& head, const Tensor& features, const Tokens& targets) const;

  AuxiliaryLossesConfig config_;
  double dropout_;
  std::vector<std::unique_ptr<Head>> heads_;  // of all blocks
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
