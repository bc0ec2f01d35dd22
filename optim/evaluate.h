#pragma once

// How well a model predicts a text. Every token is predicted once, but for the first; what is seen
// of the text before it depends on the mode.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shiftgrad/nn/models/language_model.h"
#include "shiftgrad/optim/peers/peers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct EvaluationConfig {
  /// memory   Segments of `tgt_len` tokens, each behind a memory of `mem_len` tokens (Dai et al.
  ///          2019, section 3.2). The last `ext_len` tokens before a segment are fed again with it
  ///          and only then become memory, as in that paper's code.
  /// chunks   Blocks of `tgt_len` tokens that know nothing of each other: as vanilla models train.
  /// sliding  Each token from the `tgt_len` tokens before it, which are fed anew for each token
  ///          (Al-Rfou et al. 2018, section 5.2): exact and slow.
  std::string mode = "memory";
  int64_t tgt_len = 64;
  int64_t mem_len = 64;
  int64_t ext_len = 0;
  /// memory: the text is cut into so many streams, each with an empty memory at its start.
  /// chunks, sliding: the blocks fed at once, which changes the speed and not what is computed.
  int64_t batch_size = 1;

  /// Throws, naming the field, when the config is bad, a text of so many tokens too short for it,
  /// or the model has too few positions.
  void check(const LanguageModel& model, int64_t tokens) const;
};

struct Evaluation {
  /// The mean of -log p(token).
  double nats = 0;
  /// The predicted tokens.
  int64_t tokens = 0;
  double seconds = 0;

  /// nats / log 2: per character where a token is one.
  double bits() const;
  /// e^nats
  double perplexity() const;
  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
};

/// Throws as the config's `check` does, and at an ext_len where a layer's state cannot forget.
/// `losses`, if given, receives -log p of each token but the first, in the order of the text.
/// Several peers share the work, and have one result; `losses` are then 0 where another did it.
Evaluation evaluate(const LanguageModel& model, std::span<const int32_t> text,
                    const EvaluationConfig& config, std::vector<double>* losses = nullptr,
                    Peers& peers = alone());

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
