// With t_j = e^(k_j - m), and what `pass_on.cpp` gives, a near key gets
//
//     [dden' | dnum'] = Wᵀ [dden | dnum],   dv_j = t_j dnum',   dk_j = t_j dden' + t_j v_j dnum',
//
// and a bias gets, over the group's channels,
//
//     dw_ij = W_ij (dden_i · t_j + dnum_i · t_j v_j).
//
// Keys far from some queries get theirs in the same way, from one sum over these queries: a running
// sum over query blocks.
//
//     keys of block J    | far behind them | near | … not seen (two-way: far ahead of them)
//     queries              later blocks    a few    earlier blocks
//
// A task has one block of keys, and adds up in order what all blocks of queries give it, so no two
// tasks write to the same place. Time O(B C (K + T (n + R))), memory O(B T C), and O(R (R + C)) for
// each task.

#include <algorithm>

#include "shiftgrad/core/accumulate.h"
#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/ops/aft/block.h"
#include "shiftgrad/ops/aft/rows.h"
#include "shiftgrad/ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The gradient of the keys or of the values, written in place; without data there is none.
struct TokenGradient {
  Scalar* data = nullptr;
  int64_t member_stride = 0, token_stride = 0;
  Scalar beta = 0;

  explicit TokenGradient(const GradientSink& sink) {
    if (!sink) return;
    data = sink.target.mutable_data();
    member_stride = sink.target.layout().strides[0];
    token_stride = sink.target.layout().strides[1];
    beta = sink.beta;
  }
  /// Returns the place to which a token's row is added; the first addition scales what was there
  /// before.
  aft_rows::RowSink row(int64_t b, int64_t j, int64_t channel, bool first = false) const {
    if (!data) return {nullptr, 0};
    return {data + b * member_stride + j * token_stride + channel, first ? beta : 1};
  }
  /// Clears a row when nothing is to be added to it, in place of the first addition.
  void clear(int64_t b, int64_t j, int64_t channel, int64_t width) const {
    if (data && beta == 0) std::fill_n(row(b, j, channel).target, width, Scalar{0});
  }
};

struct Gradients {
  TokenGradient key, value;
  Tensor bias;  // [chunks, G, T, n]; undefined when nobody wants it
};

/// One block of keys of one group, and some batch members.
class BackwardBlock {
 public:
  BackwardBlock(const AftProblem& problem, const AftRecord& saved, const AftPassed& from_queries,
                const Gradients& to, const AftTask& of)
      : p(problem), record(saved), passed(from_queries), gradients(to), task(of) {
    int64_t width = std::min(widest_product, p.C / p.G), rows = p.rows(), count = keys_.size();
    terms_ = Tensor::empty({count, 2 * width});
    received_ = Tensor::empty({count, 2 * width});
    weights_ = Tensor::empty({rows, count});
    weight_gradients_ = Tensor::empty({rows, count});
  }

  void run() const {
    Span queries = p.queries_near(task.block);
    if (queries.size() == 0) clear();
    for (int64_t block = queries.begin; block < queries.end; ++block)
      near(block, block == queries.begin);
    for (int64_t b = task.members.begin; b < task.members.end; ++b)
      for (const AftPiece& piece : pieces_) {
        if (queries.end < p.query_blocks())
          far(b, piece, record.before.maximum(b, p.near(queries.end).begin),
              AftPassed::row(passed.behind, b, queries.end));
        if (!p.visibility.causal && queries.begin > 0)
          far(b, piece, record.after.maximum(b, p.near(queries.begin - 1).end),
              AftPassed::row(passed.ahead, b, queries.begin - 1));
      }
  }

 private:
  void clear() const {
    for (int64_t b = task.members.begin; b < task.members.end; ++b)
      for (int64_t j = keys_.begin; j < keys_.end; ++j)
        for (const TokenGradient* gradient : {&gradients.key, &gradients.value})
          gradient->clear(b, j, task.group * (p.C / p.G), p.C / p.G);
  }

  /// Gives key j its gradient for its term, from [dden | dnum].
  void add_term_gradient(int64_t b, const AftPiece& piece, int64_t j, const Scalar* term,
                         const Scalar* received, bool first) const {
    if (!p.is_padding(b, j))
      return aft_rows::term_gradient(term, term + piece.width, received, received + piece.width,
                                     gradients.key.row(b, j, piece.channel, first),
                                     gradients.value.row(b, j, piece.channel, first), piece.width);
    for (const TokenGradient* gradient : {&gradients.key, &gradients.value})
      if (first) gradient->clear(b, j, piece.channel, piece.width);
  }

  Matrix terms(int64_t b, const AftPiece& piece, int64_t seen, const Scalar* reference) const {
    Matrix result = Matrix::row_major(terms_.mutable_data(), keys_.size(), 2 * piece.width);
    aft_terms(p, b, piece, keys_, seen, reference + piece.channel, result, nullptr);
    return result;
  }

  void far(int64_t b, const AftPiece& piece, const Scalar* maximum, const Scalar* received) const {
    Matrix t = terms(b, piece, p.K, maximum);
    for (int64_t j = keys_.begin; j < keys_.end; ++j)
      add_term_gradient(b, piece, j, t.data + (j - keys_.begin) * t.row_stride,
                        received + 2 * piece.channel, false);
  }

  bool wants_bias(Span queries) const {
    return gradients.bias.defined() && p.first(queries.begin) < keys_.end &&
           p.first(queries.end - 1) + p.n > keys_.begin;
  }

  /// Adds all that one block of queries gives.
  void near(int64_t block, bool first) const {
    Span queries = p.queries(block);
    Matrix weights = Matrix::row_major(weights_.mutable_data(), queries.size(), keys_.size());
    Matrix dweights =
        Matrix::row_major(weight_gradients_.mutable_data(), queries.size(), keys_.size());
    aft_weights(p, record.top, task.group, queries, keys_, weights);
    bool biased = wants_bias(queries);
    Scalar begun = 0;
    for (int64_t b = task.members.begin; b < task.members.end; ++b)
      for (const AftPiece& piece : pieces_) {
        near_keys(b, piece, block, first, weights, biased ? &dweights : nullptr, begun);
        begun = 1;
      }
    if (biased) put_bias(queries, weights, dweights);
    for (int64_t b = task.members.begin; b < task.members.end; ++b)
      for (const AftSingle& single : record.singles_of(b, block, task.group)) add_single(b, single);
  }

  void near_keys(int64_t b, const AftPiece& piece, int64_t block, bool first, const Matrix& weights,
                 const Matrix* dweights, Scalar begun) const {
    Span queries = p.queries(block);
    Matrix t = terms(b, piece, p.end(queries.begin), record.reference_row(b, block));
    ConstMatrix from{passed.of_query(b, queries.begin, piece), queries.size(), 2 * piece.width,
                     2 * p.C, 1};
    Matrix received = Matrix::row_major(received_.mutable_data(), keys_.size(), 2 * piece.width);
    ConstMatrix w = weights;
    gemm(1, w.transposed(), from, 0, received);
    for (int64_t j = keys_.begin; j < keys_.end; ++j)
      add_term_gradient(b, piece, j, t.data + (j - keys_.begin) * t.row_stride,
                        received.data + (j - keys_.begin) * received.row_stride, first);
    if (dweights) gemm(1, from, t.transposed(), begun, *dweights);
  }

  Scalar* bias_row(int64_t i) const {
    return gradients.bias.mutable_data() + ((task.chunk * p.G + task.group) * p.T + i) * p.n;
  }

  /// dw = dW W
  void put_bias(Span queries, const Matrix& weights, const Matrix& dweights) const {
    for (int64_t i = queries.begin; i < queries.end; ++i) {
      Span band = p.band(i);
      int64_t row = (i - queries.begin) * weights.row_stride, end = std::min(band.end, keys_.end);
      for (int64_t j = std::max(band.begin, keys_.begin); j < end; ++j) {
        int64_t at = row + j - keys_.begin;
        bias_row(i)[j - p.first(i)] = weights.data[at] * dweights.data[at];
      }
    }
  }

  void add_single(int64_t b, const AftSingle& single) const {
    int64_t i = single.query, c = single.channel;
    Scalar dy = passed.dy.data()[(b * p.T + i) * p.C + c];
    if (dy == 0) return;
    Span band = p.band(i);
    for (int64_t j = keys_.begin; j < std::min(p.end(i), keys_.end); ++j) {
      if (p.is_padding(b, j)) continue;
      AftSingleGradient gradient = aft_single_gradient(p, record, dy, b, task.group, single, j);
      if (gradients.key.data) *gradients.key.row(b, j, c).target += gradient.dkey;
      if (gradients.value.data) *gradients.value.row(b, j, c).target += gradient.dvalue;
      if (gradients.bias.defined() && band.begin <= j && j < band.end)
        bias_row(i)[j - p.first(i)] += gradient.dkey;
    }
  }

  const AftProblem& p;
  const AftRecord& record;
  const AftPassed& passed;
  const Gradients& gradients;
  const AftTask& task;
  Span keys_ = p.keys(task.block);
  std::vector<AftPiece> pieces_ = p.pieces(task.group, widest_product);
  Tensor terms_, received_, weights_, weight_gradients_;
};

}  // namespace

void aft_backward(const AftProblem& p, const AftRecord& record, const Tensor& dy) {
  AftPassed passed = aft_pass_on(p, record, dy);
  int64_t chunks = p.chunks();
  bool biased = p.bias.requires_gradient() && p.n > 0;
  Gradients gradients{TokenGradient(p.key.gradient_sink()), TokenGradient(p.value.gradient_sink()),
                      biased ? Tensor::zeros({chunks, p.G, p.T, p.n}) : Tensor()};
  parallel_for(p.tasks(p.key_blocks()), [&](int64_t number) {
    AftTask task = p.task(number);
    BackwardBlock(p, record, passed, gradients, task).run();
  });
  if (!biased) return;
  Tensor shared = expand(unsqueeze(p.bias, 0), {chunks, p.G, p.T, p.n});  // [chunks, G, T, n]
  accumulate(shared.gradient_sink(), gradients.bias);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
