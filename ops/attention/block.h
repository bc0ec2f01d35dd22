#pragma once

// The block that attention's kernel works on: the pairs of some queries with the keys that any of
// them sees. Apart from masks, nothing above the causal diagonal belongs to it, and nothing outside
// the window.
//
//                 key_begin        K - T                   The scores of one block:
//                 |                |                         1  by distance, from one product
//     keys   . . .|. . . . . . . . |. . .                    2  shifted, by a change of layout
//     block 0     |# # # # # # # # |#                        3  plus q·k, added by the next product
//                 |# # # # # # # # |# #                      4  e^… row by row, in the same place
//     block 1     |  # # # # # # # |# # #
//                 |    # # # # # # |# # # #                Then the product with the values.
//
// Steps 1 and 2 are the relative shift (ops/shift.h) of the block's own little matrix. Its products
// by distance stand in columns 1 … n of a buffer [rows, n+1]; the same memory, read in rows of n
// from element `rows` on, holds them by key.
//
// Time O(B H T K D) for each of three products forward and six backward (two and four without
// position_rows), and for the products of the scores once more where the backward pass makes p
// again. Memory O(B H (T + K) D), and two buffers of rows × K numbers for each thread.

#include "core/machine/blas.h"
#include "core/machine/buffer.h"
#include "ops/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Throws when the shapes do not fit together.
void check_attention(const RelativeAttention& attention);

/// The sizes of the problem, which alone decide how the work is cut, so that results do not depend
/// on the number of threads.
struct AttentionSizes {
  int64_t B, H, T, K, D;

  explicit AttentionSizes(const RelativeAttention& attention);

  /// The number of queries in a block.
  int64_t block_rows() const;
  int64_t blocks() const;
  /// The number of tasks that a head is cut into in the backward pass, where heads alone are too
  /// few. One task has every n-th block.
  int64_t strips() const;
  /// The number of tasks, of `blocks_of_a_task` blocks each, that go to a thread together so that
  /// it pays.
  int64_t grain(int64_t blocks_of_a_task) const;
  /// Whether the forward pass keeps the probabilities for the backward pass, which otherwise makes
  /// them again. They are kept up to a number of keys, so that memory stays linear in T.
  bool keeps_probabilities() const;
};

/// One block: queries first … first + rows - 1 of head h of batch member b, the keys that they see
/// among them, and the rows of position_rows and position_scores for the distances between them.
struct AttentionBlock {
  int64_t b, h;
  int64_t first, rows;
  int64_t key_begin, keys;
  int64_t table_begin, distances;

  AttentionBlock(const RelativeAttention& attention, const AttentionSizes& sizes, int64_t head,
                 int64_t number);

  /// The rows of these queries in a tensor [B, H, T, D], and those of these keys in one
  /// [B, H, K, D].
  ConstMatrix queries(const Tensor& x) const;
  ConstMatrix keys_of(const Tensor& x) const;
  /// The rows of position_rows for these distances.
  ConstMatrix distance_rows(const Tensor& table) const;
};

/// Returns head `h` of a table [n, H or 1, D], as [n, D].
ConstMatrix table_of_head(const Tensor& table, int64_t h);

/// One buffer seen by distance, [rows, distances], and shifted by key, [rows, keys].
struct ShiftedScores {
  Matrix by_distance, by_key;

  ShiftedScores(const Buffer& buffer, const AttentionBlock& block);
  /// Zeroes the elements of by_distance that are not in by_key.
  void clear_rest() const;
};

/// Memory that a task needs for one block at a time.
struct AttentionScratch {
  Buffer scores, gradients;              // [rows, distances + 1]
  Buffer dropped;                        // [rows, keys]
  Buffer content_query, position_query;  // [rows, D]
  Buffer content_slope, position_slope;  // [rows, D]
  Buffer clipped;                        // [rows, 2m + 1]

  AttentionScratch(const RelativeAttention& attention, const AttentionSizes& sizes, bool backward);
};

/// q_i + content_bias and q_i + position_bias for the block's queries, [rows, D] each.
struct BlockQueries {
  ConstMatrix content, position;

  BlockQueries(const RelativeAttention& attention, const AttentionBlock& block,
               const AttentionScratch& scratch);
};

/// Computes score_ij for all pairs of the block, [rows, keys] in scratch.scores. It is -inf where a
/// mask hides the key, and may be anything outside the causal rule and the window.
Matrix block_scores(const RelativeAttention& attention, const AttentionSizes& sizes,
                    const AttentionBlock& block, const BlockQueries& queries,
                    const AttentionScratch& scratch);

/// Returns row i's visible keys begin … end-1, counted from key_begin.
Visibility::Range visible_range(const RelativeAttention& attention, const AttentionSizes& sizes,
                                const AttentionBlock& block, int64_t row);

/// scores_ij += by_clipped[i, c] for the clipped distance c of each pair; by_clipped is
/// [rows, 2m + 1].
void add_clipped(const ConstMatrix& by_clipped, const AttentionSizes& sizes,
                 const AttentionBlock& block, const Matrix& scores);

/// Sums by clipped distance: sums[i, c] = Σ x_ij over the keys of clipped distance c, in
/// scratch.clipped. This is the reverse of add_clipped.
Matrix sum_clipped(const ConstMatrix& x, int64_t buckets, const AttentionSizes& sizes,
                   const AttentionBlock& block, const AttentionScratch& scratch);

/// dropped = p ⊙ the dropout's factors. Where `gradients` has data, it is multiplied by them too.
void drop_block(const RelativeAttention& attention, const AttentionSizes& sizes,
                const AttentionBlock& block, const ConstMatrix& p, const Matrix& dropped,
                const Matrix& gradients);

/// What the forward pass leaves to the backward pass.
struct AttentionRecord {
  Tensor rows;           // [B, H, T, 2], each a SoftmaxRow
  Tensor probabilities;  // [B, H, T, K], undefined where they are made again
};

/// Computes y [B, H, T, D]; fills the record's tensors where they are defined.
void attention_forward(const RelativeAttention& attention, const AttentionRecord& record,
                       const Tensor& y);

/// Adds to the gradients of all inputs, given the gradient of y.
void attention_backward(const RelativeAttention& attention, const AttentionRecord& record,
                        const Tensor& dy);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
