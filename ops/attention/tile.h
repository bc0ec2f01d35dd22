#pragma once

// The tile that attention's kernel works on: the pairs of some queries, a block, with some of the
// keys. A block goes over its tiles from the first key that one of its queries sees to the last; so
// nothing that a thread keeps grows with the number of keys.
//
//                 keys             K - T                   The scores of one tile:
//                 |       |        |                         1  by distance, from one product
//             . . . . . . . . . . .|. . .                    2  shifted, by a change of layout
//     block 0     |# # # #|# # # # |#                        3  plus q·k, added by the next product
//                 |# # # #|# # # # |# #                      4  e^… row by row, in the same place
//     block 1     |  # # #|# # # # |# # #
//                 |    # #|# # # # |# # # #                Then the product with the values.
//
// Steps 3 and 4, and the steps from dp to ds in the backward pass, take 12 rows at a time, which
// stay in the first cache; what a later product reads in bfloat16 is rounded there too.
//
// Steps 1 and 2 are the relative shift (ops/shift.h) of the tile's own little matrix, which has
// rows + keys - 1 distances. Its products by distance stand in a buffer from element 1 on, in rows
// of `step` + 1; the same memory, read in rows of `step` from element `rows` on, holds them by key.
//
// The softmax runs along (Milakov and Gimelshein 2018; Dao et al. 2022): a row keeps the greatest
// score so far, and the sums of e^(score - greatest) and of their products with the values, which
// shrink where a later tile has a greater score. The backward pass makes e^(score - greatest) of a
// tile again, unless the forward pass kept it.

#include <algorithm>
#include <array>
#include <vector>

#include "core/machine/packed_product.h"
#include "ops/attention/kernel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// One call, whose sizes alone decide how the work is cut, so that results do not depend on the
/// number of threads.
struct AttentionProblem {
  explicit AttentionProblem(const RelativeAttention& attention, const Tensor& parameters = {})
      : a(attention), score_parameters(parameters) {}

  const RelativeAttention& a;
  Tensor score_parameters;  // of the score function, in dense rows
  int64_t B = a.query.size(0), H = a.query.size(1), T = a.query.size(2), D = a.query.size(3);
  int64_t K = a.key.size(2), E = a.value.size(3);
  /// The keys from the first to the last that the rules and spans leave to each query, [T] or, with
  /// spans, [B, T].
  CachedVector<Interval> ranges = all_ranges();

  /// The range of query i of batch member b.
  const Interval& range(int64_t b, int64_t i) const {
    return ranges[a.visibility.spans ? b * T + i : i];
  }
  /// Whether a whole tile may be hidden: by masks, by spans, or in a gap of the rules.
  bool may_leave_out_tiles() const {
    return a.visibility.has_masks() || a.visibility.spans || a.visibility.sight.always;
  }

  /// The most queries in a block, and the most keys in a tile.
  static constexpr int64_t most_rows = 96;
  /// The rows of a tile whose scores and gradients stay in the first cache.
  static constexpr int64_t near_rows = 12;
  int64_t block_rows() const;
  int64_t tile_keys() const;
  int64_t blocks() const;
  /// The number of tasks that a head is cut into in the backward pass, where heads alone are too
  /// few. One task has every n-th block.
  int64_t strips() const;
  /// The number of tasks, of `blocks_of_a_task` blocks each, that go to a thread together so that
  /// it pays.
  int64_t grain(int64_t blocks_of_a_task) const;
  /// Whether the forward pass keeps e^(score - greatest) for the backward pass, which otherwise
  /// makes them again. They are kept for at most 512 keys, so that memory stays linear in T, and
  /// while one tile has all keys: first keys beside a window make a tile of their own. The slopes
  /// of a score function have to be made again anyway.
  bool keeps_exponentials() const;
  /// Whether keys, values and distances are packed, which pays for more than a few queries.
  bool packs() const { return packing_pays(T); }
  /// Whether a task has all blocks of a head: where there are at least 16 heads. Its keys and
  /// values are packed when it begins, and stay in the second cache.
  bool tasks_are_heads() const { return B * H >= 16; }
  /// The one of `groups` groups that head h is in.
  int64_t group(int64_t h, int64_t groups) const { return h / (H / groups); }

 private:
  CachedVector<Interval> all_ranges() const;
};

/// One block: queries first … first + rows - 1 of head h of batch member b, and the keys from the
/// first to the last that one of them sees.
struct AttentionBlock {
  const AttentionProblem& problem;
  int64_t b, h, number;
  int64_t first, rows;
  int64_t key_begin, key_end;
  /// Keys that the rules hide from all of these queries, between those that others see: no tile has
  /// them.
  Interval gap;

  AttentionBlock(const AttentionProblem& its_problem, int64_t head, int64_t its_number);

  /// Calls body(number, keys) for the tiles of the block, in order. None has keys of the gap.
  template <class Body>
  void for_tiles(Body body) const {
    int64_t number = 0;
    for (int64_t begin = key_begin; begin < key_end; ++number) {
      const Interval keys = tile_from(begin);
      body(number, keys);
      begin = keys.end;
    }
  }
  /// The number of the first of these queries in a tensor [B, H, T].
  int64_t row_number() const { return (b * problem.H + h) * problem.T + first; }
  /// The sink's logit, where there is a sink.
  Scalar sink() const {
    const Tensor& sinks = problem.a.sink;
    return sinks.data()[h * sinks.layout().strides[0]];
  }
  /// The rows of these queries in a tensor [B, H, T, D] or [B, H, T, E].
  ConstMatrix queries(const Tensor& x) const;
  /// A matrix in a buffer, with a row for each query.
  Matrix rows_in(const Buffer& buffer, int64_t columns) const {
    return Matrix::row_major(buffer.data(), rows, columns);
  }

 private:
  /// The keys of the tile that begins at a key, or where a gap that this is in ends.
  Interval tile_from(int64_t begin) const;
};

/// One tile: a block, keys key_begin … key_begin + keys - 1, and the rows of position_rows and
/// position_scores for the distances between them. `visible` holds all pairs that the causal rule
/// and the window leave, `inside` those of a query and a distance that belong to the tile.
struct AttentionTile : AttentionBlock {
  int64_t keys;
  Scalar kept = 0;  ///< 0 for a block's first tile, where sums over its tiles begin, else 1
  int64_t table_begin, distances;
  Band visible, inside;
  /// The keys from the first to the last that each row sees as the rules and spans have it, counted
  /// from key_begin.
  std::array<Interval, AttentionProblem::most_rows> seen;

  AttentionTile(const AttentionBlock& block, const Interval& its_keys);

  /// Whether all of its pairs are hidden.
  bool is_hidden() const;
  /// The tile's part of kept exponentials [B, H, T, K].
  Matrix part_of(const Tensor& exponentials) const;
};

/// Which tiles the blocks have. Those of which all is hidden are left out; masks are read once for
/// this, for all heads.
class TileList {
 public:
  explicit TileList(const AttentionProblem& problem);

  /// Calls body(tile) for the tiles of a block, in order. Returns whether there was one.
  template <class Body>
  bool for_tiles(const AttentionBlock& block, Body body) const {
    bool found = false;
    block.for_tiles([&](int64_t number, const Interval& keys) {
      if (!hidden_.empty() && hidden_[place(block, number)]) return;
      AttentionTile tile(block, keys);
      tile.kept = found ? 1 : 0;
      found = true;
      body(tile);
    });
    return found;
  }

 private:
  size_t place(const AttentionBlock& block, int64_t tile) const {
    int64_t blocks = block.problem.blocks();
    return static_cast<size_t>((block.b * blocks + block.number) * most_tiles_ + tile);
  }

  /// The most tiles in a block; a gap makes one more.
  int64_t most_tiles_;
  /// Whether all of a tile is hidden, for each block of each member of the batch; empty where none
  /// can be.
  CachedVector<uint8_t> hidden_;
};

/// Calls body(first, count) for all rows of a tile, as many at a time as stay in the first cache.
template <class Body>
void for_near_rows(const AttentionTile& tile, Body body) {
  for (int64_t first = 0; first < tile.rows; first += AttentionProblem::near_rows)
    body(first, std::min(AttentionProblem::near_rows, tile.rows - first));
}

/// Asks for dense rows while something else is computed, so that what needs them next waits less.
void fetch_rows(const ConstMatrix& x);

/// Returns the rows of head h of batch member b of a tensor [B, H, rows, columns].
ConstMatrix rows_of_head(const Tensor& x, int64_t b, int64_t h);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
