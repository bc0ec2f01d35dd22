// The backward pass of AFT over one strip, the transpose of the forward pass.
//
// A kernel includes this below `tiles-inl.h`, once for each instruction set.

#include <algorithm>

#include "ops/aft/bias_gradients-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

/// Computes what the queries pass on, dnum = dy / den and dden = -dnum y, and 0 where dy is 0 even
/// if y is not a number.
void pass_on(const KeyTerms& terms, const AftRecord& record, const Tensor& dy,
             const PairRows& passed) {
  auto [begin, end] = terms.blocks();
  for (int64_t i = begin * lanes; i < end * lanes; ++i) {
    int64_t ahead = terms.place(0, std::min(i + rows_ahead, terms.p.T - 1));
    prefetch(dy.data() + ahead, terms.strip.width);
    prefetch(record.y.data() + ahead, terms.strip.width);
    prefetch(record.total<Number>() + ahead, terms.strip.width);
    for (int64_t x = 0; x < terms.vectors; ++x) {
      Pair& pair = *passed.row(x, i);
      pair = Pair{};
      if (i < terms.begin || i >= terms.end) continue;
      int64_t at = terms.place(x, i), left = terms.left(x);
      Vector gradient = load(dy.data() + at, left), y = load(record.y.data() + at, left);
      Vector num = gradient / load(record.total<Number>() + at, left);
      pair = {chosen(gradient, -num * y), chosen(gradient, num)};
    }
  }
}

/// Puts into `received` what each key gets from the blocks to which it is far, the transpose of
/// sum_far.
void spread_far(const KeyTerms& terms, const PairRows& passed, const PairRows& received) {
  const AftProblem& p = terms.p;
  auto [begin, end] = terms.blocks();
  for (int64_t x = 0; x < terms.vectors; ++x) {
    Pair far{};
    auto add_block = [&](int64_t block) HWY_ATTR {
      for (int64_t r = 0; r < lanes; ++r) far.add(*passed.row(x, block * lanes + r));
    };
    int64_t j = p.end(terms.end - 1);
    for (int64_t block = end - 1; block >= begin; --block) {
      int64_t past = terms.cut.window(block).begin;
      for (; j > past; --j) *received.row(x, j - 1) = far;
      add_block(block);
    }
    std::fill_n(received.row(x, 0), j, far);
    if (p.visibility.sight.causal) continue;
    far = Pair{};
    j = 0;
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t past = terms.cut.window(block).end; j < past; ++j) received.row(x, j)->add(far);
      add_block(block);
    }
    for (; j < p.K; ++j) received.row(x, j)->add(far);
  }
}

/// Adds to `received` what the keys of a tile get from its queries, the transpose of mix.
void spread(const KeyTerms& terms, const Tile& tile, const PairRows& passed,
            const PairRows& received) {
  for (int64_t x = 0; x < terms.vectors; ++x)
    for (int64_t first = 0; first < lanes; first += together) {
      Pair from[together], *to = received.row(x, tile.keys.begin);
      std::copy_n(passed.row(x, tile.first + first), together, from);
      const Number* w = tile.weights + first;
      for (int64_t j = tile.keys.begin; j < tile.shared; ++j, ++to, w += lanes) {
        Pair sum = *to;
        for (int64_t r = 0; r < together; ++r) sum.add(w[r], from[r]);
        *to = sum;
      }
      for (int64_t r = 0; r < together; ++r)
        for (int64_t n = 0; n < own_keys(terms.p, tile, first + r); ++n)
          to[n].add(w[n * lanes + r], from[r]);
    }
}

/// dk_j = t_j dden + t_j v_j dnum and dv_j = t_j dnum, for the keys begin … end-1.
void give(const KeyTerms& terms, const PairRows& received, int64_t begin, int64_t end, bool first,
          const AftGradients& to) {
  auto add = [&](const OpenGradient& open, auto gradient) HWY_ATTR {
    if (!open) return;
    Scalar* target = open.target.mutable_data();
    Number beta = static_cast<Number>(first ? open.beta : 1);
    for (int64_t j = begin; j < end; ++j) {
      Scalar* row = target + terms.offset(open.target, j);
      bool padding = terms.p.is_padding(terms.strip.b, j);
      for (int64_t x = 0; x < terms.vectors; ++x, row += lanes) {
        const Pair& term = *terms.row(x, j);
        Pair from = received.row(x, j)->chosen_by(term.den);
        Vector came = ((from.den == 0) & (from.num == 0)) ? Vector{} : Vector{} + Number{1};
        Vector sum = padding ? Vector{} : chosen(came, gradient(term, from));
        if (beta != 0) sum += beta * load(row, terms.left(x));
        store(sum, row, terms.left(x));
      }
    }
  };
  add(to.key, [](const Pair& term, const Pair& from)
                  HWY_ATTR { return term.den * from.den + term.num * from.num; });
  add(to.value, [](const Pair& term, const Pair& from) HWY_ATTR { return term.den * from.num; });
}

void backward(const AftWeights<Number>& weights, const AftStrip& strip, int64_t begin,
              const AftRecord& record, const Tensor& dy, const AftGradients& gradients) {
  const AftProblem& p = weights.p;
  const AftProducts* products = weights.products.get();
  KeyTerms terms(weights, strip, begin, products);
  PairRows passed(terms.vectors, weights.blocks() * lanes, products);
  PairRows received(terms.vectors, p.K, products);
  // The keys before this one have got a gradient.
  int64_t reached = begin > strip.first ? p.end(begin - 1) : 0;
  while (terms.next()) {
    pass_on(terms, record, dy, passed);
    if (products) {
      products->spread(strip, passed.matrix(), terms.matrix(), received.matrix());
    } else {
      spread_far(terms, passed, received);
      const Number* tiles = weights.of(strip);
      for_tiles(terms, tiles, [&](const Tile& tile) HWY_ATTR {
        spread(terms, tile, passed, received);
        if (gradients.bias)
          add_bias_gradient(terms, tile, passed, gradients.bias + (tile.weights - tiles));
      });
    }
    int64_t seen = p.end(terms.end - 1);
    give(terms, received, 0, reached, false, gradients);
    give(terms, received, reached, seen, true, gradients);
    reached = seen;
    if (!AftRange<Number>::is_endless) break;
  }
  if (terms.end == p.T)
    give(terms, received, reached, p.K, true, gradients);  // where all are padding
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
