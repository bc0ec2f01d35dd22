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
// tile again. Keys, values and rows of distances are packed once for a head, and all tiles use
// parts of these panels. Blocks are counted from the last query, so that the parts begin with a
// panel.

#include <algorithm>
#include <array>
#include <vector>

#include "core/machine/tile_product.h"
#include "ops/attention.h"
#include "ops/zero_weights.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Throws when the shapes do not fit together.
void check_attention(const RelativeAttention& attention);

/// Whether queries, with their position_bias, meet rows by position: position_rows or clipped_keys.
inline bool meets_positions(const RelativeAttention& a) {
  return a.position_rows.defined() || a.clipped_keys.defined();
}

/// One call, whose sizes alone decide how the work is cut, so that results do not depend on the
/// number of threads.
struct AttentionProblem {
  explicit AttentionProblem(const RelativeAttention& attention) : a(attention) {}

  const RelativeAttention& a;
  int64_t B = a.query.size(0), H = a.query.size(1), T = a.query.size(2), D = a.query.size(3);
  int64_t K = a.key.size(2);
  /// The keys that each query sees as the causal rule, the window and chunks have it.
  CachedVector<Visibility::Range> seen = ranges();

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
  /// makes them again. They are kept while one tile has all keys, so that memory stays linear in T.
  bool keeps_exponentials() const;
  /// Whether keys, values and distances are packed, which pays for more than a few queries.
  bool packs() const { return packing_pays(T); }
  /// Whether a task has all blocks of a head: where there are heads enough for the threads, its keys
  /// and values are packed when it begins, and stay in the second cache.
  bool tasks_are_heads() const { return B * H >= 16; }

 private:
  CachedVector<Visibility::Range> ranges() const;
};

/// One block: queries first … first + rows - 1 of head h of batch member b, and the keys from the
/// first to the last that one of them sees.
struct AttentionBlock {
  const AttentionProblem& problem;
  int64_t b, h, number;
  int64_t first, rows;
  int64_t key_begin, key_end;

  AttentionBlock(const AttentionProblem& its_problem, int64_t head, int64_t its_number);

  /// The number of the first of these queries in a tensor [B, H, T].
  int64_t row_number() const { return (b * problem.H + h) * problem.T + first; }
  /// The rows of these queries in a tensor [B, H, T, D].
  ConstMatrix queries(const Tensor& x) const;
};

/// One tile: a block, keys key_begin … key_begin + keys - 1, and the rows of position_rows and
/// position_scores for the distances between them. `visible` holds all pairs that the causal rule
/// and the window leave, `inside` those of a query and a distance that belong to the tile.
struct AttentionTile : AttentionBlock {
  int64_t keys;
  Scalar kept = 0;  ///< 0 for a block's first tile, where sums over its tiles begin, else 1
  int64_t table_begin, distances;
  Band visible, inside;
  /// The keys that each row sees as the causal rule and the window have it, counted from key_begin.
  std::array<Visibility::Range, AttentionProblem::most_rows> seen;

  AttentionTile(const AttentionBlock& block, int64_t begin);

  /// Whether masks hide all of its pairs.
  bool is_masked() const;
  /// The tile's part of kept exponentials [B, H, T, K].
  Matrix part_of(const Tensor& exponentials) const;
};

/// Where the tiles of each block begin, which all heads share. Tiles of which masks hide all are
/// left out; a mask is read once for this.
class TileList {
 public:
  explicit TileList(const AttentionProblem& problem);

  /// Calls body(tile) for the tiles of a block, in order. Returns whether there was one.
  template <class Body>
  bool for_tiles(const AttentionBlock& block, Body body) const {
    int64_t place = block.b * block.problem.blocks() + block.number;
    const auto& begins = begins_[place % std::ssize(begins_)];
    for (int64_t begin : begins) {
      AttentionTile tile(block, begin);
      tile.kept = begin == begins.front() ? 0 : 1;
      body(tile);
    }
    return !begins.empty();
  }

 private:
  /// For each block; with masks, of each member of the batch.
  std::vector<std::vector<int64_t>> begins_;
};

/// The rows of one input for each head, [rows, D], or their transpose, packed as right factors.
class HeadFactors {
 public:
  enum class Side { rows, transposed };

  /// Takes a tensor [B or 1, H or 1, rows, D]. An undefined one has no factors. What batch members
  /// share is packed at once, and so is all where a task is less than a head.
  HeadFactors(const Tensor& x, Side side, const AttentionProblem& problem, bool packs);
  const PackedFactor& of(const AttentionBlock& block) const;

  /// Packs the factor of a head for its task, and gives the panels back.
  void begin(int64_t head) { replace(head, true); }
  void end(int64_t head) { replace(head, false); }

 private:
  ConstMatrix factor(int64_t head) const;
  void replace(int64_t head, bool packs);

  Tensor x_;
  Side side_;
  int64_t batches_ = 0, heads_ = 0;  // 1 where all share one
  bool packed_by_task_ = false;
  std::vector<PackedMatrix> matrices_{};
};

/// What the scores of all tiles share.
struct ScoreFactors {
  HeadFactors keys, position_rows, position_queries;  // kᵀ [D, K], the tables' transposes [D, n]

  ScoreFactors(const AttentionProblem& problem, bool packs);
};

/// Returns a table [n, H or 1, D] by head, [1, H or 1, n, D], or an undefined one as it is.
Tensor table_by_head(const Tensor& table);
/// Returns head `h` of a table [n, H or 1, D], as [n, D].
ConstMatrix table_of_head(const Tensor& table, int64_t h);
/// Returns the number of a table's rows, 0 for an undefined one.
inline int64_t row_count(const Tensor& table) { return table.defined() ? table.size(0) : 0; }

/// Returns the distance in memory between the rows of a tile's scores by key.
int64_t score_step(int64_t rows, int64_t keys);

/// One buffer seen by distance, [rows, distances], and shifted by key, [rows, keys].
struct ShiftedScores {
  Matrix by_distance, by_key;

  ShiftedScores(const Buffer& buffer, const AttentionTile& tile);
  /// Zeroes the elements of by_distance that are not in by_key.
  void clear_rest() const;
};

/// Some keys of a tile, with the distances to its queries. Their products with position_queries are
/// scores by key, which are shifted as those by query are: with the keys for rows, and the queries
/// from the last to the first for columns.
struct KeyPart {
  int64_t begin, keys;  ///< counted from the tile's first key
  int64_t table_begin;  ///< of position_queries
  Matrix by_distance;   ///< [keys, distances]
  Matrix by_query;      ///< the same memory, shifted, [keys, rows]
  static Band inside(const AttentionTile& tile) { return {0, tile.rows - 1}; }
};

/// Calls body(part) for parts of a tile, each of which stands in `buffer`.
template <class Body>
void for_key_parts(const AttentionTile& tile, const Tensor& position_queries, const Buffer& buffer,
                   Body body) {
  for (int64_t begin = 0; begin < tile.keys; begin += AttentionProblem::most_rows) {
    int64_t keys = std::min(AttentionProblem::most_rows, tile.keys - begin);
    int64_t table_begin = tile.table_begin + begin, distances = keys + tile.rows - 1;
    Matrix by_distance = Matrix::row_major(buffer.data(), keys, distances);
    Matrix by_query{buffer.data() + tile.rows - 1, keys, tile.rows, distances + 1, -1};
    by_distance.columns = std::clamp<int64_t>(position_queries.size(0) - table_begin, 0, distances);
    body(KeyPart{begin, keys, table_begin, by_distance, by_query});
  }
}

/// Memory that a thread needs for one block and one tile at a time.
struct AttentionScratch {
  static constexpr int64_t most_rows = AttentionProblem::most_rows;

  const AttentionProblem& problem;
  bool packs = problem.packs();
  int64_t D = problem.D, rows = problem.block_rows();
  int64_t keys = std::min(problem.tile_keys(), problem.K);
  /// [rows, rows + keys]
  Buffer scores{rows * (score_step(rows, keys) + 1) + 1}, gradients{scores.count()};
  /// [rows, keys]
  Buffer dropped{problem.a.dropout.rate > 0 ? rows * keys : 0};
  /// [keys of a part, distances]
  Buffer by_key{problem.a.position_queries.defined() ? most_rows * (rows + most_rows) : 0};
  /// The panels of any left factor that a tile makes.
  Buffer panels{packs
                    ? std::max({left_panel_count(rows, rows + keys), left_panel_count(most_rows, D),
                                left_panel_count(most_rows, rows + most_rows)})
                    : 0};
  /// [rows, D], and these as left factors.
  Buffer content_query{rows * D}, position_query{rows * D};
  Buffer content_panels{packs ? left_panel_count(rows, D) : 0};
  Buffer position_panels{content_panels.count()};
  /// [rows, 2m + 1]
  Buffer clipped_scores{rows * row_count(problem.a.clipped_keys)};
  Buffer clipped_sums{rows * row_count(problem.a.clipped_values)};

  /// Packs a left factor where tiles are packed.
  LeftFactor left(const ConstMatrix& a, const Buffer& memory) const;
  /// Packs some rows of a, as part of a or of its transpose as a left factor; returns the whole.
  LeftFactor left_part(const ConstMatrix& a, bool transposed, int64_t first, int64_t count,
                       const Buffer& memory) const;
};

/// q_i + content_bias and q_i + position_bias for the block's queries, [rows, D]
/// each, and factor times the second one's products with clipped_keys, [rows, 2m + 1].
struct BlockQueries {
  LeftFactor content, position;
  ConstMatrix clipped_scores;

  BlockQueries(const AttentionBlock& block, const AttentionScratch& scratch);
};

/// Computes c = a b + beta c for weights a, as `tile_product` does.
void weighted_product(Zeros zeros, const LeftFactor& a, const PackedFactor& b, Scalar beta,
                      const Matrix& c, const Band& of_a = {});

/// The scores of a tile, [rows, keys] in scratch.scores.
struct TileScores {
  const AttentionTile& tile;
  const BlockQueries& queries;
  PackedFactor keys;  // [D, keys]
  Matrix by_key;
  Scalar begun = 0;  ///< 1 where there are terms besides q·k

  /// Computes all terms but q·k.
  TileScores(const AttentionTile& its_tile, const ScoreFactors& factors,
             const BlockQueries& its_queries, const AttentionScratch& scratch);

  /// Finishes rows first … first + count - 1. A score is -inf where a mask hides the key, and may
  /// be anything outside the causal rule and the window.
  void finish(int64_t first, int64_t count) const;
};

/// Calls body(first, count) for all rows of a tile, as many at a time as stay in the first cache.
template <class Body>
void for_near_rows(const AttentionTile& tile, Body body) {
  for (int64_t first = 0; first < tile.rows; first += AttentionProblem::near_rows)
    body(first, std::min(AttentionProblem::near_rows, tile.rows - first));
}

/// scores_ij += by_clipped[i, c] for the clipped distance c of each pair; by_clipped is
/// [rows, 2m + 1].
void add_clipped(const ConstMatrix& by_clipped, const AttentionTile& tile, const Matrix& scores);

/// Sums by clipped distance: sums[i, c] += Σ x_ij over the keys of clipped distance c. This is the
/// reverse of add_clipped.
void sum_clipped(const ConstMatrix& x, const AttentionTile& tile, const Matrix& sums);

/// dropped = p ⊙ the dropout's factors, for some rows. Where `gradients` has data, it is multiplied
/// by them too.
void drop_rows(const AttentionTile& tile, int64_t first, int64_t count, const ConstMatrix& p,
               const Matrix& dropped, const Matrix& gradients);

/// What the forward pass leaves to the backward pass.
struct AttentionRecord {
  Tensor y;             // [B, H, T, D]
  Tensor rows;          // [B, H, T, 2], each a SoftmaxRow; undefined without a backward pass
  Tensor exponentials;  // [B, H, T, K], e^(score - greatest); undefined where they are made again
};

/// Computes record.y, and the others where they are defined.
void attention_forward(const RelativeAttention& attention, const AttentionRecord& record);

/// Adds to the gradients of all inputs, given the gradient of y, which lies in memory as y does.
void attention_backward(const RelativeAttention& attention, const AttentionRecord& record,
                        const Tensor& dy);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
