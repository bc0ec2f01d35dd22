#pragma once

// Two ways to cut a text into batches. Both give inputs [B, T] and, shifted by one, as targets the
// token that follows each input.

#include <cstdint>
#include <span>

#include "shiftgrad/core/array.h"
#include "shiftgrad/core/random.h"

namespace shiftgrad {

/// Rows of a text side by side.
struct Batch {
  Tokens inputs;   // [B, T]
  Tokens targets;  // [B, T]
  /// What a model remembers of earlier batches has nothing to do with this one.
  bool starts_over = true;
};

/// The rows begin … end-1 of a batch.
Batch rows(const Batch& batch, int64_t begin, int64_t end);

/// Blocks from anywhere in the text, with replacement: for models without memory (Al-Rfou et al.
/// 2018; nanoGPT's get_batch).
struct RandomBlocks {
  std::span<const int32_t> text;
  int64_t batch_size, block_size;
  /// All the state there is.
  Random random;

  /// Throws when a size is less than 1 or the text has no block_size + 1 tokens.
  RandomBlocks(std::span<const int32_t> text, int64_t batch_size, int64_t block_size,
               const Random& random);
  /// The next ones, without end: [batch_size, block_size].
  Batch next();
};

/// The text cut into `batch_size` streams of equal length, read side by side and in order, so that
/// row b of a batch continues row b of the one before: for models with memory (Dai et al. 2019,
/// section 3.2; LMOrderedIterator in its code). The last batch of a pass may have a shorter T; then
/// the streams start over, and say so.
///
///     "abcdefghijkl", batch_size 2, block_size 3:  abc   de | abc
///                                                  ghi   jk | ghi
struct ParallelStreams {
  std::span<const int32_t> text;
  int64_t batch_size, block_size;
  /// Where the streams are read next, counted from the start of each. All the state there is.
  int64_t position = 0;

  /// Throws when a size is less than 1 or a stream has no block_size + 1 tokens.
  ParallelStreams(std::span<const int32_t> text, int64_t batch_size, int64_t block_size);
  /// The next one, without end: [batch_size, T], T at most block_size.
  Batch next();
};

}  // namespace shiftgrad
