#pragma once

// Two ways to cut a text into batches. Both give inputs [B, T] and targets [B, T], which are the
// tokens that follow the inputs, or the last loss_tokens of these where that is more than 0.
// Streams may put tokens of the batch before in front of the inputs.

#include <cstdint>
#include <span>
#include <vector>

#include "core/array.h"
#include "core/kept_text.h"
#include "core/random.h"

namespace shiftgrad {

/// Rows of tokens from a text.
struct Batch {
  Tokens inputs{};   // [B, E + T], E tokens of the batch before and the new ones
  Tokens targets{};  // [B, T], or [B, L] for a loss over the last L positions of each row
  /// Whether this batch does not continue the one before, so that a model must forget earlier
  /// batches.
  bool starts_over = true;
};

/// Returns the tokens begin + first … begin + end - 1 of a text as a row for each of the begins.
/// Throws where the text does not have them, and where memory does not have the rows.
Tokens rows_at(const KeptText& text, const std::vector<int64_t>& begins, int64_t first,
               int64_t end);

/// Returns the rows begin … end-1 of a batch.
Batch rows(const Batch& batch, int64_t begin, int64_t end);

/// Blocks drawn from anywhere in the text, with replacement. They are for models without memory
/// (Al-Rfou et al. 2018; nanoGPT's get_batch). A step of N lets a block begin at multiples of N
/// tokens alone, for texts of records of this length, such as bars of music or rows of pixels: an
/// absolute position then says where in a record a token stands.
struct RandomBlocks {
  /// The tokens of the text.
  KeptText text;
  int64_t batch_size, block_size, loss_tokens;
  /// Blocks begin at its multiples.
  int64_t step;
  /// Random numbers of the draws, which are the only state.
  Random random;

  /// Throws when a size or the step is less than 1 or more than 10^9, loss_tokens less than 0, or
  /// the text has no block_size + 1 tokens.
  RandomBlocks(const KeptText& text, int64_t batch_size, int64_t block_size, const Random& random,
               int64_t loss_tokens = 0, int64_t step = 1);
  /// Returns the next batch [batch_size, block_size]; there is always one. Throws as the
  /// constructor does, and when memory does not have such a batch.
  Batch next();
};

/// The text cut into `batch_size` streams of equal length. They are read side by side and in order,
/// so row b of a batch continues row b of the batch before. They are for models with memory (Dai et
/// al. 2019, section 3.2; LMOrderedIterator in its code). The last batch of a pass may have a
/// shorter T. After it the streams start over, and the next batch says so in starts_over. The last
/// ext_len tokens before a batch, as far as there are any, come again before its own.
///
///     "abcdefghijkl", batch_size 2, block_size 3:  abc   de | abc
///                                                  ghi   jk | ghi
struct ParallelStreams {
  /// The tokens of the text.
  KeptText text;
  int64_t batch_size, block_size, ext_len, loss_tokens;
  /// Position at which the streams are read next, counted from the start of each. It is the only
  /// state.
  int64_t position = 0;

  /// Throws when a size is less than 1 or more than 10^9, ext_len or loss_tokens less than 0, or a
  /// stream has no block_size + 1 tokens.
  ParallelStreams(const KeptText& text, int64_t batch_size, int64_t block_size, int64_t ext_len = 0,
                  int64_t loss_tokens = 0);
  /// Returns the next batch [batch_size, T], with T at most block_size; there is always one. Throws
  /// as the constructor does, and for a position below 0.
  Batch next();
};

}  // namespace shiftgrad
