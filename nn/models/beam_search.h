#pragma once

// Targets for sources, chosen token by token from an encoder-decoder's probabilities. Of several
// candidates those are better whose
//
//     score = log P(tokens, end | source) / ((5 + n) / 6)^α,   n the number of tokens and the end
//
// is greater: α = 0 compares probabilities, which favours the short (Wu et al. 2016, section 7).
//
// The sources are encoded once and projected once to keys and values; a target's earlier tokens are
// in the decoder's state. A source whose targets have ended leaves the batch.

#include <cstdint>
#include <vector>

#include "shiftgrad/nn/models/encoder_decoder.h"
#include "shiftgrad/nn/models/sampling.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct DecodingOptions {
  /// The target's first token, which is given and not part of what is returned, and the one that
  /// ends it.
  int32_t begin = 0;
  int32_t end = 0;
  /// Tokens of a target without its end, at least 0; behind so many it ends.
  int64_t max_length = 100;
};

/// A whole target.
struct Hypothesis {
  /// Without begin and end.
  std::vector<int32_t> tokens;
  /// log P of the tokens and the end, in nats.
  double log_probability = 0;
};

struct BeamOptions {
  /// Candidates kept for each source, at least 1; 1 is greedy.
  int64_t width = 4;
  /// α, at least 0.
  double length_penalty = 0.6;

  double score(const Hypothesis& hypothesis) const;
  /// Of so many tokens, the end among them where there is one.
  double score(double log_probability, int64_t length) const;
};

/// At most `width` targets for each source, the one with the greatest score first. At every step
/// the `width` best stay of those that have ended and of all continuations of the others, so that
/// one that ends too early does not take the place of a better one under way; the search for a
/// source is over when all of them have ended. Of equals the one that ended first, then the earlier
/// row, then the smaller token is the better. A width of at least the number of all targets is an
/// exhaustive search. Throws when an option is out of its range, at a token that the model does not
/// have, and when a target could be longer than the model's.
std::vector<std::vector<Hypothesis>> beam_search(const EncoderDecoder& model,
                                                 const PaddedTokens& sources,
                                                 const DecodingOptions& options,
                                                 const BeamOptions& beam);

/// One target for each source, each token drawn as `sampling` says; the repetition penalty sees the
/// target with its begin. Equal seeds give equal targets: source b of the batch draws from stream
/// `first_stream` + b. Throws as beam_search does.
std::vector<Hypothesis> sample_targets(const EncoderDecoder& model, const PaddedTokens& sources,
                                       const DecodingOptions& options, const Sampling& sampling,
                                       uint64_t seed = 0, uint64_t first_stream = 0);

/// One target for each source, each token the likeliest: temperature 0.
std::vector<Hypothesis> greedy_targets(const EncoderDecoder& model, const PaddedTokens& sources,
                                       const DecodingOptions& options);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
