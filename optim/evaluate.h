#pragma once

// How well a model predicts a text. Every token but the first is predicted once. How much of the
// text before it the model sees depends on the mode.

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <ostream>
#include <vector>

#include "core/field.h"
#include "core/kept_text.h"
#include "core/named.h"
#include "nn/models/sequence_model.h"
#include "optim/peers/process_group.h"
#include "optim/stopwatch.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How a text is fed to the model:
///
///     memory   Segments of `tgt_len` tokens, each after a memory of `mem_len` tokens (Dai et al.
///              2019, section 3.2). The last `ext_len` tokens before a segment are fed again with
///              it and only then become memory, as in that paper's code. Absolute positions start
///              anew in each segment where mem_len is 0, as they do in training, and otherwise
///              count on from the start of the text.
///     chunks   Separate blocks of `tgt_len` tokens, as vanilla models are trained.
///     sliding  Each token from the `tgt_len` tokens before it, which are fed anew for each token
///              (Al-Rfou et al. 2018). This is exact and slow.
enum class EvaluationMode { memory, chunks, sliding };
constexpr auto names(EvaluationMode) { return std::array{"memory", "chunks", "sliding"}; }

/// Called during an evaluation with the tokens scored so far by this process, and the number that
/// all processes will score.
using EvaluationProgress = std::function<void(int64_t done, int64_t total)>;

/// How a text is scored.
struct EvaluationConfig {
  /// What of the text before a token the model sees.
  EvaluationMode mode = EvaluationMode::memory;
  /// The tokens that are predicted at a time.
  int64_t tgt_len = 64;
  int64_t mem_len = 64;
  int64_t ext_len = 0;
  /// Number of rows fed at once. With memory, the text is cut into this many streams, each with an
  /// empty memory at its start. With chunks and sliding, it changes the speed and not the result.
  int64_t batch_size = 1;
  /// Function to call after each batch, with numbers of tokens. It may be empty.
  EvaluationProgress progress{};

  /// Calls field(value, {name, help, quantity}) for each number.
  void fields(auto&& field) {
    field(tgt_len, Field{"tgt_len", "tokens that are predicted at a time", quantity::tokens});
    field(mem_len, Field{"mem_len", "tokens of memory", {"TOKENS", Range{0, HUGE_VAL}}});
    field(ext_len, Field{"ext_len", "tokens that are fed again", quantity::tokens_or_none});
    field(batch_size, Field{"batch_size", "rows fed at once", {"ROWS", range::one_or_more}});
  }

  /// Throws, naming the field, when the config is bad, when a text of `tokens` tokens is too short
  /// for it, or when the model has too few positions or sees ahead.
  void check(const SequenceModel& model, int64_t tokens) const;
};

/// How well a model predicted a text.
struct Evaluation {
  /// The mean of -log p(token), in nats.
  double nats = 0;
  /// Number of predicted tokens.
  int64_t tokens = 0;
  /// How long that took.
  double seconds = 0;

  /// Returns nats / log 2, which is bits per character if a token is a character.
  double bits() const { return nats / std::numbers::ln2; }
  /// Returns e^nats.
  double perplexity() const { return std::exp(nats); }
  /// Returns tokens / seconds.
  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
};

/// Prints it in one line, such as "2.431 bits per token, perplexity 5.39, over 1000 tokens".
std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation);

/// Returns the mean over all peers of losses that this one added up since the watch began. Throws
/// when it is not finite.
Evaluation mean_over(ProcessGroup& peers, double nats, int64_t tokens, const Stopwatch& watch);

/// Scores a model on a text. `losses`, if given, receives -log p of each token but the first, in
/// the order of the text. Several peers share the work and get the same result; `losses` are 0 for
/// tokens that another peer scored. Throws as the config's `check` does, for an ext_len when a
/// layer's state cannot forget, and when the mean is not finite.
Evaluation evaluate(const SequenceModel& model, const KeptText& text,
                    const EvaluationConfig& config = {}, std::vector<double>* losses = nullptr,
                    ProcessGroup& peers = alone());

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
