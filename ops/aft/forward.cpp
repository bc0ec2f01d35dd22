// Computes y_i = num_i / den_i for the queries of a block at once; `block.h` has the sums and draws
// the blocks. A task makes W once for all its batch members:
//
//     [den | num]  =  W [e^(k - m) | e^(k - m) v]  +  e^(-top) [far_den | far_num]
//      R x 2 width    R x near keys, near keys x 2 width
//
// Time O(B C (K + T (n + R))), memory O(R (n + R + C)) for a task.

#include <algorithm>
#include <cmath>

#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/ops/aft/block.h"
#include "shiftgrad/ops/aft/rows.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The most keys of one product.
constexpr int64_t most_keys = 128;

/// One block of queries in one group, with room for its products.
class ForwardBlock {
 public:
  ForwardBlock(const AftProblem& problem, AftRecord& saved, int64_t block, int64_t group)
      : p(problem),
        record(saved),
        block_(block),
        group_(group),
        queries_(p.queries(block)),
        near_(p.near(block)) {
    if (near_.size() > 0) near_keys_ = {p.keys(near_.begin).begin, p.keys(near_.end - 1).end};
    int64_t width = std::min(widest_product, p.C / p.G), rows = queries_.size();
    weights_ = Tensor::empty({rows, near_keys_.size()});
    terms_ = Tensor::empty({std::min(most_keys, near_keys_.size()), 2 * width});
    sums_ = Tensor::empty({rows, 2 * width});
    far_ = Tensor::empty({2, 2 * width});
    first_unfit_.resize(static_cast<size_t>(width));
    aft_weights(p, record.top, group, queries_, near_keys_, weights());
  }

  void run(int64_t b, const AftPiece& piece) {
    choose_reference(b, piece);
    Matrix sums = near_sums(b, piece);
    add_far(b, piece, sums);
    for (int64_t i = queries_.begin; i < queries_.end; ++i)
      finish(b, piece, i, sums.data + (i - queries_.begin) * sums.row_stride);
  }

 private:
  Matrix weights() const {
    return Matrix::row_major(weights_.mutable_data(), queries_.size(), near_keys_.size());
  }
  const Scalar* reference(int64_t b, const AftPiece& piece) const {
    return record.reference_row(b, block_) + piece.channel;
  }

  /// Chooses m from keys that all queries of the block see; if there are none, from the first one
  /// after.
  void choose_reference(int64_t b, const AftPiece& piece) const {
    int64_t first_key = p.first_keys[static_cast<size_t>(b)], past = p.end(queries_.end - 1);
    int64_t seen = p.end(queries_.begin);
    Scalar* m = record.reference.mutable_data() + (reference(b, piece) - record.reference.data());
    if (first_key >= past) {
      std::fill_n(m, piece.width, Scalar{0});
    } else if (first_key >= seen) {
      std::copy_n(p.key_row(b, first_key) + piece.channel, piece.width, m);
    } else if (!p.visibility.causal) {
      std::copy_n(record.before.maximum(b, p.key_blocks()) + piece.channel, piece.width, m);
    } else {
      const Scalar* before = record.before.maximum(b, p.key_block_of(seen - 1)) + piece.channel;
      std::copy_n(before, piece.width, m);
      if (!p.is_padding(b, seen - 1))
        simd::zip(simd::Binary::maximum, m, p.key_row(b, seen - 1) + piece.channel, m, piece.width);
    }
  }

  /// Computes [den | num] over the near keys.
  Matrix near_sums(int64_t b, const AftPiece& piece) {
    Matrix sums = Matrix::row_major(sums_.mutable_data(), queries_.size(), 2 * piece.width);
    std::fill_n(first_unfit_.data(), piece.width, p.K);
    if (near_keys_.size() == 0) std::fill_n(sums.data, sums.rows * sums.columns, Scalar{0});
    for (int64_t j = near_keys_.begin; j < near_keys_.end; j += most_keys) {
      Span keys{j, std::min(j + most_keys, near_keys_.end)};
      Matrix terms = Matrix::row_major(terms_.mutable_data(), keys.size(), 2 * piece.width);
      aft_terms(p, b, piece, keys, p.end(queries_.begin), reference(b, piece), terms,
                first_unfit_.data());
      ConstMatrix some = weights().columns_from(j - near_keys_.begin, keys.size());
      gemm(1, some, terms, j == near_keys_.begin ? 0 : 1, sums);
    }
    earliest_unfit_ = *std::min_element(first_unfit_.begin(), first_unfit_.begin() + piece.width);
    return sums;
  }

  /// Adds the far keys of one side, rescaled from their own maximum to m.
  void add_side(int64_t b, const AftPiece& piece, const AftFarSums& side, int64_t border,
                Scalar* far) const {
    Scalar* factor = far + 2 * piece.width;
    simd::zip(simd::Binary::subtract, side.maximum(b, border) + piece.channel, reference(b, piece),
              factor, piece.width);
    simd::map(simd::Unary::exp, factor, factor, piece.width);
    simd::multiply_add(factor, side.denominator(b, border) + piece.channel, far, piece.width);
    simd::multiply_add(factor, side.numerator(b, border) + piece.channel, far + piece.width,
                       piece.width);
  }

  void add_far(int64_t b, const AftPiece& piece, const Matrix& sums) const {
    bool behind = near_.begin > 0, ahead = !p.visibility.causal && near_.end < p.key_blocks();
    if ((!behind && !ahead) || p.first_keys[static_cast<size_t>(b)] == p.K) return;
    Scalar* far = far_.mutable_data();
    std::fill_n(far, 2 * piece.width, Scalar{0});
    if (behind) add_side(b, piece, record.before, near_.begin, far);
    if (ahead) add_side(b, piece, record.after, near_.end, far);
    for (int64_t i = 0; i < sums.rows; ++i) {
      Scalar factor = std::exp(-record.top.data()[group_ * p.T + queries_.begin + i]);
      simd::axpby(factor, far, 1, sums.data + i * sums.row_stride, sums.columns);
    }
  }

  /// Computes y_i and 1 / den_i from [den | num].
  void finish(int64_t b, const AftPiece& piece, int64_t i, const Scalar* sums) {
    int64_t at = (b * p.T + i) * p.C + piece.channel;
    Scalar *y = record.y.mutable_data() + at, *inverse = record.inverse.mutable_data() + at;
    if (p.end(i) <= p.first_keys[static_cast<size_t>(b)]) {
      std::fill_n(y, piece.width, Scalar{0});
      std::fill_n(inverse, piece.width, Scalar{0});
      return;
    }
    bool small =
        aft_rows::quotient(sums + piece.width, sums, 1 / largest_term, y, inverse, piece.width);
    if (!small && earliest_unfit_ >= p.end(i)) return;
    for (int64_t c = 0; c < piece.width; ++c)
      if (is_alone(i, c, sums[c])) {
        AftSingle single{i, piece.channel + c};
        aft_single(p, record, b, group_, single);
        record.singles_of(b, block_, group_).push_back(single);
      }
  }

  /// Whether the product leaves out a key that query i sees in this channel, or has no digits left.
  bool is_alone(int64_t i, int64_t c, Scalar denominator) const {
    return denominator < 1 / largest_term || first_unfit_[static_cast<size_t>(c)] < p.end(i);
  }

  const AftProblem& p;
  AftRecord& record;
  int64_t block_, group_;
  Span queries_, near_, near_keys_{0, 0};
  Tensor weights_, terms_, sums_, far_;
  std::vector<int64_t> first_unfit_;  // by channel, the first key that is not in the product
  int64_t earliest_unfit_ = 0;        // the first of all channels
};

}  // namespace

void aft_forward(const AftProblem& p, AftRecord& record) {
  aft_top(p, record.top);
  record.before = aft_sums_before(p);
  if (!p.visibility.causal) record.after = aft_sums_after(p);
  parallel_for(p.tasks(p.query_blocks()), [&](int64_t number) {
    AftTask task = p.task(number);
    ForwardBlock block(p, record, task.block, task.group);
    std::vector<AftPiece> pieces = p.pieces(task.group, widest_product);
    for (int64_t b = task.members.begin; b < task.members.end; ++b)
      for (const AftPiece& piece : pieces) block.run(b, piece);
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
