// Computes what each query passes on to its two sums in the backward pass,
//
//     dnum_i = dy_i / den_i,     dden_i = -dnum_i y_i,
//
// and the sums of this that far keys get, Σ_i e^(far_max - log total_i) [-dy_i y_i | dy_i] over the
// queries of all blocks to which a key is far. They are running sums over the blocks, joined as
// their maxima grow. Time and memory O(B T C).

#include <algorithm>
#include <cmath>

#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/ops/aft/block.h"
#include "shiftgrad/ops/aft/rows.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// What one block of queries passes on.
struct PassOn {
  const AftProblem& p;
  const AftRecord& record;
  const AftPassed& passed;
  int64_t b, block, group;
  AftPiece piece;

  void run() const {
    Span queries = p.queries(block), near = p.near(block);
    for (int64_t i = queries.begin; i < queries.end; ++i) pass(i);
    for (const AftSingle& single : record.singles_of(b, block, group))
      if (is_here(single)) *number(single) = *(number(single) + piece.width) = 0;
    if (near.begin > 0) sum_up(passed.behind, record.before.maximum(b, near.begin));
    if (!p.visibility.causal && near.end < p.key_blocks())
      sum_up(passed.ahead, record.after.maximum(b, near.end));
  }

 private:
  bool is_here(const AftSingle& single) const {
    return piece.channel <= single.channel && single.channel < piece.channel + piece.width;
  }
  Scalar* number(const AftSingle& single) const {
    return passed.of_query(b, single.query, piece) + single.channel - piece.channel;
  }
  Scalar top(int64_t i) const { return record.top.data()[group * p.T + i]; }

  void pass(int64_t i) const {
    int64_t at = (b * p.T + i) * p.C + piece.channel;
    Scalar* below = passed.of_query(b, i, piece);
    aft_rows::quotient_gradient(passed.dy.data() + at, record.y.data() + at,
                                record.inverse.data() + at, below, below + piece.width,
                                piece.width);
  }

  /// Σ_i e^(far_max - log total_i) [-dy y | dy]
  void sum_up(const Tensor& sums, const Scalar* far_maximum) const {
    Scalar *below = AftPassed::row(sums, b, block) + 2 * piece.channel,
           *above = below + piece.width;
    const Scalar* m = record.reference_row(b, block);
    Span queries = p.queries(block);
    std::fill_n(below, 2 * piece.width, Scalar{0});
    for (int64_t i = queries.begin; i < queries.end; ++i)
      simd::axpby(std::exp(-top(i)), passed.of_query(b, i, piece), 1, below, 2 * piece.width);
    for (int64_t c = 0; c < piece.width; ++c) {
      Scalar factor = std::exp(far_maximum[piece.channel + c] - m[piece.channel + c]);
      below[c] *= factor;
      above[c] *= factor;
    }
    for (const AftSingle& single : record.singles_of(b, block, group)) {
      int64_t c = single.channel, at = (b * p.T + single.query) * p.C + c;
      Scalar gradient = passed.dy.data()[at];
      if (!is_here(single) || gradient == 0) continue;
      Scalar share = gradient * std::exp(far_maximum[c] - m[c] - single.log_total);
      below[c - piece.channel] -= share * record.y.data()[at];
      above[c - piece.channel] += share;
    }
  }
};

/// Adds to a block's sums those of the next block, which is farther from the far keys. That block
/// has more far keys, so their maximum is no less.
void join(const Tensor& sums, int64_t b, const AftPiece& piece, int64_t block, int64_t next,
          const Scalar* maximum, const Scalar* next_maximum) {
  Scalar* here = AftPassed::row(sums, b, block) + 2 * piece.channel;
  const Scalar* there = AftPassed::row(sums, b, next) + 2 * piece.channel;
  for (int64_t c = 0; c < piece.width; ++c) {
    Scalar own = maximum[piece.channel + c], greater = next_maximum[piece.channel + c];
    Scalar factor = own == greater ? 1 : std::exp(own - greater);
    for (int64_t at : {c, piece.width + c})
      if (there[at] != 0) here[at] += factor * there[at];
  }
}

/// Turns the sums of single blocks into running sums.
void join_all(const AftProblem& p, const AftRecord& record, const AftPassed& passed, int64_t b,
              const AftPiece& piece) {
  int64_t blocks = p.query_blocks();
  for (int64_t n = blocks - 2; n >= 0 && p.near(n).begin > 0; --n)
    join(passed.behind, b, piece, n, n + 1, record.before.maximum(b, p.near(n).begin),
         record.before.maximum(b, p.near(n + 1).begin));
  if (p.visibility.causal) return;
  for (int64_t n = 1; n < blocks && p.near(n).end < p.key_blocks(); ++n)
    join(passed.ahead, b, piece, n, n - 1, record.after.maximum(b, p.near(n).end),
         record.after.maximum(b, p.near(n - 1).end));
}

}  // namespace

AftPassed aft_pass_on(const AftProblem& p, const AftRecord& record, const Tensor& dy) {
  int64_t blocks = p.query_blocks();
  Dims by_block{p.B, blocks, 2 * p.C};
  AftPassed passed{Tensor::empty({p.B, p.T, 2 * p.C}), Tensor::empty(by_block),
                   p.visibility.causal ? Tensor() : Tensor::empty(by_block), dy};
  std::vector<AftPiece> pieces = p.all_pieces(widest_product);
  parallel_for(p.B * blocks, [&](int64_t task) {
    for (const AftPiece& piece : pieces)
      PassOn{p, record, passed, task / blocks, task % blocks, piece.channel / (p.C / p.G), piece}
          .run();
  });
  parallel_for(p.B, [&](int64_t b) {
    for (const AftPiece& piece : pieces) join_all(p, record, passed, b, piece);
  });
  return passed;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
