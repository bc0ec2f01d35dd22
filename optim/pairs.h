#pragma once

// Pairs of sequences in batches of similar length, so that a batch needs little padding.

#include <cstdint>
#include <span>
#include <vector>

#include "core/kept.h"
#include "core/random.h"
#include "nn/models/encoder_decoder.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A source and its target, without begin and end.
struct TokenPair {
  /// The tokens of either side.
  std::vector<int32_t> source, target;
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
  PaddedTokens source;
  PaddedTokens inputs;  ///< begin, then the target; padding is last, so no mask is needed
  Tokens next;          ///< the target, then end, then `filled_up`
  int64_t tokens = 0;   ///< number of tokens in `next` that count

  /// Number of pairs.
  int64_t count() const { return next.shape[0]; }
};

/// Returns a batch of the pairs with these indices. Each sequence is padded to the longest on its
/// side.
PairBatch make_batch(std::span<const TokenPair> pairs, std::span<const int64_t> members,
                     const TargetEnds& ends);

/// Returns the rows begin … end-1 of a batch, with the same padding as in the batch.
PairBatch rows(const PairBatch& batch, int64_t begin, int64_t end);

/// Returns the indices of the pairs by length, in batches of `batch_size`, for scoring.
std::vector<std::vector<int64_t>> batches_by_length(std::span<const TokenPair> pairs,
                                                    int64_t batch_size);

/// An endless sequence of batches that has each pair once an epoch. An epoch shuffles the pairs,
/// sorts runs of `batches_sorted_together` batches by length, cuts them into batches, and shuffles
/// these. Its order depends only on the seed and the epoch's number.
class PairBatches {
 public:
  /// The number of batches in such a run.
  static constexpr int64_t batches_sorted_together = 50;

  /// Starts at the first epoch. Throws when there is no pair, or the batch size is less than 1.
  PairBatches(const Kept<TokenPair>& pairs, int64_t batch_size, uint64_t seed);

  /// Returns the indices of the next batch's pairs. The last batch of an epoch may be smaller.
  std::vector<int64_t> next();

  /// The place in the data: the epoch, and the number of its batches already returned.
  int64_t epoch() const { return epoch_; }
  /// The number of the epoch's batches already returned.
  int64_t position() const { return position_; }
  /// Continues from that place. Throws when there is no such place.
  void go_to(int64_t epoch, int64_t position);

 private:
  void begin_epoch(int64_t epoch);

  Kept<TokenPair> pairs_;
  int64_t batch_size_;
  uint64_t seed_;
  int64_t epoch_ = 0, position_ = 0;
  std::vector<std::vector<int64_t>> order_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
