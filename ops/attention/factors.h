#pragma once

// The factors of the products in a head's tiles: keys, values and rows of distances. They are
// packed once for a head, and all tiles use parts of these panels. Blocks are counted from the last
// query, so that the parts begin with a panel.

#include <initializer_list>
#include <vector>

#include "core/machine/packed_product.h"
#include "ops/attention/tile.h"
#include "ops/zero_weights.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns a table [n, H or 1, D] by head, [1, H or 1, n, D], or an undefined one as it is.
Tensor table_by_head(const Tensor& table);
/// Returns the number of a table's rows, 0 for an undefined one.
inline int64_t row_count(const Tensor& table) { return table.defined() ? table.size(0) : 0; }

/// The rows of one input for each head, [rows, D], or their transpose, packed as right factors.
class HeadFactors {
 public:
  enum class Side { rows, transposed };

  /// Takes a tensor [B or 1, G, rows, columns] of G groups of heads. An undefined one has no
  /// factors. What batch members or heads share is packed at once, and so is all where a task is
  /// less than a head.
  HeadFactors(const Tensor& x, Side side, const AttentionProblem& problem, bool packs);

  Factor of(const AttentionBlock& block) const;
  /// Packs the factor of a head for its task, or gives the panels back.
  void set_packed(int64_t head, bool packs);

 private:
  ConstMatrix factor(int64_t n) const;

  Tensor x_;
  Side side_;
  int64_t batches_ = 0, groups_ = 0;  // 1 where all share one
  bool packed_by_task_ = false;
  std::vector<Packed> matrices_{};
};

/// Runs body() while these factors of a head are packed.
template <class Body>
void with_panels(std::initializer_list<HeadFactors*> factors, int64_t head, Body body) {
  for (HeadFactors* own : factors) own->set_packed(head, true);
  body();
  for (HeadFactors* own : factors) own->set_packed(head, false);
}

/// What the scores of all tiles share: kᵀ [D, K], and the tables' transposes [D, n].
struct ScoreFactors {
  const AttentionProblem& problem;
  bool packs;
  static constexpr auto side = HeadFactors::Side::transposed;
  HeadFactors keys{problem.a.key, side, problem, packs};
  HeadFactors position_rows{table_by_head(problem.a.position_rows), side, problem, packs};
  HeadFactors position_queries{table_by_head(problem.a.position_queries), side, problem, packs};
  HeadFactors clipped_keys{table_by_head(problem.a.clipped_keys), side, problem, packs};
};

/// Computes c = a b + beta c for weights a, as `tile_product` does.
void weighted_product(Zeros zeros, const Factor& a, const Factor& b, Scalar beta, const Matrix& c,
                      const Band& of_a = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
