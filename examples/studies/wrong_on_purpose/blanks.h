#pragma once

// The task of a model that sees both ways. To predict the next token it would only copy it, so some
// tokens are left blank, and the model guesses them from the text on both sides.

#include "optim/shiftgrad.h"

namespace wrong_on_purpose {

using namespace shiftgrad;

/// A target that no loss is about.
inline constexpr int32_t ignored = -1;

/// Leaves tokens blank: one in seven, drawn at random.
struct Blanks {
  int32_t blank;  // the token that stands for one
  Random random;

  /// Replaces tokens of the inputs. The targets are these tokens, and `ignored` elsewhere.
  void leave(Batch& batch);
};

/// Returns the mean loss of the targets that are not ignored.
Tensor loss_of(const Tensor& logits, const Tokens& targets);

/// Returns the loss, in nats, of guessing tokens of the batch that are left blank, the same ones in
/// each call.
double score_blanks(const LanguageModel& model, Batch batch, int32_t blank);

}  // namespace wrong_on_purpose
