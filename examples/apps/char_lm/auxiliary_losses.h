#pragma once

// Losses of training beside that of the last block's next token (Al-Rfou et al. 2018,
// "Character-level language modeling with deeper self-attention", section "Auxiliary Losses"):
//
//     loss = Σ_l w_l Σ_k a_k E_lk                      l = 1 … L blocks, k = 1 … targets
//     E_lk = the mean of -log softmax(W_lk norm_l(h_l) + b_lk)[token t + k] over all t
//     w_L = 1,   w_l = intermediate_losses while less than l / 2L of the training is done, then 0
//     a_1 = 1,   a_k = extra_targets_weight
//
// h_l is the output of block l for the tokens up to t. norm_L, W_L1 and b_L1 belong to the model.
// All others are trained with it and are not needed afterwards. The paper's third kind of auxiliary
// loss, a loss at each position of a block, is part of every mean.

#include <memory>
#include <string>
#include <vector>

#include "core/field.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "optim/trainer.h"

namespace char_lm {

namespace group = shiftgrad::group;
namespace quantity = shiftgrad::quantity;
using shiftgrad::Context;
using shiftgrad::ModelOutput;
using shiftgrad::ModelTraits;
using shiftgrad::Random;
using shiftgrad::Tensor;
using shiftgrad::Tokens;
using shiftgrad::Visitor;

/// Settings of the auxiliary losses. The paper has intermediate_losses 1 and targets 2; by default
/// there are none.
struct AuxiliaryLossesConfig {
  /// Weight of the losses of each block but the last. With 0, these blocks predict nothing.
  double intermediate_losses = 0;
  /// Number of tokens that each position predicts, including the next one.
  int64_t targets = 1;
  double extra_targets_weight = 0.5;
  /// Number of updates in the whole training. The intermediate losses are gone after half of it.
  int64_t training_iters = 0;

  /// Whether there is any auxiliary loss.
  bool any() const { return intermediate_losses > 0 || targets > 1; }

  template <class Fields>
  void fields(Fields&& field) {
    field(intermediate_losses,
          {"intermediate_losses",
           "weight of an auxiliary loss for each block but the last, each with an output layer of "
           "its own; the loss of block l of L ends after l/2L of lr_decay_iters; 0 for none",
           quantity::weight, group::loss});
    field(targets, {"targets", "tokens that each position predicts, beginning with the next one",
                    quantity::tokens, group::loss});
    field(extra_targets_weight,
          {"extra_targets_weight", "weight of the losses of all targets but the next token",
           quantity::weight, group::loss});
  }
};

class AuxiliaryLosses : public shiftgrad::AuxiliaryLoss {
 public:
  /// Starts weights as the model does. Throws, naming the field, when the config is bad or the
  /// model has no intermediate block to predict from.
  AuxiliaryLosses(const AuxiliaryLossesConfig& config, const ModelTraits& model, Random& random);

  /// Returns the loss without its main part E_L1, for an update that follows `step` earlier ones.
  /// It is undefined if no other loss has a weight. `targets` [B, T] are the tokens that follow
  /// those of the model's output. The last k - 1 positions of a row have no k-th target and do not
  /// count.
  Tensor operator()(const ModelOutput& output, const Tokens& targets, int64_t step,
                    Context& context) const override;

  /// Returns w_l for the update that follows `step` earlier ones. Blocks count from 1.
  double weight(int64_t block, int64_t step) const;

  void visit(Visitor& visitor) const override;

  /// Returns the config as a list of names and values.
  std::string config_text() const override;

 private:
  /// Predicts from one block.
  struct Head : shiftgrad::Module {
    shiftgrad::LayerNorm norm;  // if the model has one above its last block
    std::vector<std::unique_ptr<shiftgrad::Linear>> outputs;
    void visit(Visitor& visitor) const override;
  };

  /// Returns Σ_k a_k E_lk of one block, without E_L1.
  Tensor block_loss(const Head& head, const Tensor& features, const Tokens& targets) const;

  AuxiliaryLossesConfig config_;
  double dropout_;
  std::vector<std::unique_ptr<Head>> heads_;  // one for each block
};

}  // namespace char_lm
