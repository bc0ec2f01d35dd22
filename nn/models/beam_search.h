#pragma once

// An encoder-decoder's targets for sources, chosen token by token from its probabilities. A
// candidate is better the greater its score is:
//
//     score = log P(tokens, end | source) / ((5 + n) / 6)^α,   n the number of tokens and the end
//
// α = 0 compares probabilities, which favours short targets (Wu et al. 2016, section 7).
//
// The sources are encoded once and projected once to keys and values; a target's earlier tokens are
// in the decoder's state. A source whose targets have ended leaves the batch.

#include <cstdint>
#include <vector>

#include "nn/models/encoder_decoder.h"
#include "nn/models/sampling.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Where a target begins and ends, and how long it may be.
struct DecodingOptions {
  /// The target's first token, which is given and not returned.
  int32_t begin = 0;
  /// The token after which a target ends.
  int32_t end = 0;
  /// Most tokens in a target, without its end; 0 to 10^9. A target ends after this many.
  int64_t max_length = 100;
};

/// A complete target.
struct Hypothesis {
  /// The target's tokens, without begin and end.
  std::vector<int32_t> tokens{};
  /// Sum of log P over the tokens and the end, in nats.
  double log_probability = 0;
};

/// Options of a beam search.
struct BeamOptions {
  /// Number of candidates kept for each source, 1 to 10^9. 1 is greedy search.
  int64_t width = 4;
  /// The exponent α, at least 0.
  double length_penalty = 0.6;

  /// Returns the score of a finished candidate.
  double score(const Hypothesis& hypothesis) const;
  /// Returns the greatest score that a target with this beginning can have, if targets have at most
  /// `max_length` tokens: no log P is greater than 0.
  double best_score(const Hypothesis& beginning, int64_t max_length) const;
};

/// Returns at most `width` targets for each source, the greatest score first. At every step, the
/// targets that have ended compete with the `width` likeliest continuations of the others, of which
/// each counts as the best that can become of it: its log P with the length of the longest target.
/// Those in progress among the `width` best go on. So a target that ends too early does not
/// displace a better one in progress. The search for a source is over when none goes on. Among
/// equal scores, the target that ended first is better, then the earlier row, then the smaller
/// token. A width that is at least the number of possible targets is an exhaustive search. Throws
/// when an option is out of range, when the model does not have a token, and when a target could be
/// longer than the model allows.
std::vector<std::vector<Hypothesis>> beam_search(const EncoderDecoder& model,
                                                 const Padded<Tokens>& sources,
                                                 const DecodingOptions& options,
                                                 const BeamOptions& beam);

/// Returns one target for each source, each token drawn as `sampling` says. The repetition penalty
/// sees the target with its begin. Equal seeds give equal targets: source b of the batch draws from
/// stream `first_stream` + b. A temperature of 0 takes the likeliest tokens. Throws as beam_search
/// does.
std::vector<Hypothesis> sample_targets(const EncoderDecoder& model, const Padded<Tokens>& sources,
                                       const DecodingOptions& options, const Sampling& sampling,
                                       uint64_t seed = 0, uint64_t first_stream = 0);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
