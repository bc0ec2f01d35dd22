#pragma once

// What a language model computes on its way from tokens to the loss, part by part, with the
// gradient of each part, and one step of learning from a text.

#include <cstdint>
#include <string>
#include <vector>

#include "nn/models/language_model.h"

namespace book {

using namespace shiftgrad;

/// What stands at one place of the model for each token, [1, T, n]; its name says where.
struct Stage {
  std::string name;
  Tensor value;
};

/// A pass of a model over a text of T + 1 tokens, of which it predicts all but the first.
struct Inside {
  /// embedding; for each part of each block its norm (blocks.0.mixer_norm), its output
  /// (blocks.0.mixer) and x with that output added (blocks.0.mixer_sum); final_norm; logits.
  std::vector<Stage> stages;
  /// The weights of attention [1, H, T, T] of each block whose mixer has any.
  std::vector<Tensor> attention;
  Tensor probabilities;        // [1, T, V], softmax(logits)
  std::vector<double> losses;  // of each of the T targets, in nats
  double loss = 0;             // their mean
  size_t entries = 0;          // of the tape
};

/// Runs the model forward and the loss backward. Every stage then has its gradient, and so have the
/// model's parameters. Throws for a model whose norms stand last or that has none at the end.
Inside inside(const LanguageModel& model, const std::vector<int32_t>& text);

}  // namespace book
