#pragma once

// Pairs of sequences, and batches of them.

#include <cstdint>
#include <span>
#include <vector>

#include "core/view_or_owned.h"
#include "nn/models/encoder_decoder.h"
#include "optim/epochs.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A source and its target, without begin and end.
struct TokenPair {
  /// The tokens of either side.
  std::vector<int32_t> source{}, target{};
};

/// The tokens with which every target begins and ends.
struct TargetEnds {
  /// The token before a target's first.
  int32_t begin = 0;
  /// The token after a target's last.
  int32_t end = 0;
};

/// A batch of pairs: the decoder's inputs, and the token that it should predict after each of them.
struct PairBatch {
  /// What stands in `next` where a shorter target is filled up.
  static constexpr int32_t filled_up = -1;

  /// The sources, filled up to the longest.
  Padded<Tokens> source{};
  Padded<Tokens> inputs{};  ///< begin, then the target; padding is last, so no mask is needed
  Tokens next{};            ///< the target, then end, then `filled_up`
  int64_t tokens = 0;       ///< number of tokens in `next` that count

  /// Number of pairs.
  int64_t count() const { return next.shape[0]; }
};

/// Returns a batch of the pairs with these indices. Each sequence is padded to the longest on its
/// side. Throws when there is no such pair.
PairBatch make_batch(std::span<const TokenPair> pairs, std::span<const int64_t> members,
                     const TargetEnds& ends);

/// Returns the rows begin … end-1 of a batch, with the same padding as in the batch.
PairBatch rows(const PairBatch& batch, int64_t begin, int64_t end);

/// Compares two of the pairs by the lengths of their targets and, of equal ones, of their sources.
Epochs::Shorter shorter_of(const ViewOrOwned<TokenPair>& pairs);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
