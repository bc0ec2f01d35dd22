// The forward pass of AFT over one strip.
//
// A kernel includes this below `tiles-inl.h`, once for each instruction set.

#include <algorithm>

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

/// Puts into `sums` those over the keys before each block's window and after it.
void sum_far(const KeyTerms& terms, const PairRows& sums) {
  const AftProblem& p = terms.p;
  auto [begin, end] = terms.blocks();
  for (int64_t x = 0; x < terms.vectors; ++x) {
    Pair far{};
    int64_t j = 0;
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t past = terms.cut.window(block).begin; j < past; ++j) far.add(*terms.row(x, j));
      std::fill_n(sums.row(x, block * lanes), lanes, far);
    }
    if (p.visibility.sight.causal) continue;
    far = Pair{};
    j = p.K;
    for (int64_t block = end - 1; block >= begin; --block) {
      for (int64_t past = terms.cut.window(block).end; j > past; --j) far.add(*terms.row(x, j - 1));
      for (int64_t r = 0; r < lanes; ++r) sums.row(x, block * lanes + r)->add(far);
    }
  }
}

/// Adds the keys of a tile to the sums of its queries.
void mix(const KeyTerms& terms, const Tile& tile, const PairRows& all) {
  for (int64_t x = 0; x < terms.vectors; ++x)
    for (int64_t first = 0; first < lanes; first += together) {
      Pair sums[together];
      std::copy_n(all.row(x, tile.first + first), together, sums);
      const Pair* term = terms.row(x, tile.keys.begin);
      const Number* w = tile.weights + first;
      for (int64_t j = tile.keys.begin; j < tile.shared; ++j, ++term, w += lanes) {
        Pair shared = *term;
        for (int64_t r = 0; r < together; ++r) sums[r].add(w[r], shared);
      }
      for (int64_t r = 0; r < together; ++r) {
        for (int64_t n = 0; n < own_keys(terms.p, tile, first + r); ++n)
          sums[r].add(w[n * lanes + r], term[n]);
        *all.row(x, tile.first + first + r) = sums[r];
      }
    }
}

/// y = num / den
void divide(const KeyTerms& terms, const PairRows& sums, AftRecord& record) {
  Scalar* y = record.y.mutable_data();
  Number* total = record.total<Number>();
  for (int64_t i = terms.begin; i < terms.end; ++i)
    for (int64_t x = 0; x < terms.vectors; ++x) {
      auto [den, num] = *sums.row(x, i);
      int64_t at = terms.place(x, i), left = terms.left(x);
      store(num / den, y + at, left);
      store(den, total + at, left);
    }
}

int64_t forward(const AftWeights<Number>& weights, const AftStrip& strip, int64_t begin,
                AftRecord& record) {
  const AftProducts* products = weights.products.get();
  KeyTerms terms(weights, strip, begin, products);
  if (begin == strip.first)
    for (int64_t i = 0; i < begin; ++i)
      std::fill_n(record.y.mutable_data() + terms.place(0, i), strip.width, Scalar{0});
  PairRows sums(terms.vectors, weights.blocks() * lanes, products);
  while (terms.next()) {
    if (products) {
      products->mix(strip, {terms.begin, terms.end}, terms.matrix(), sums.matrix());
    } else {
      sum_far(terms, sums);
      for_tiles(terms, weights.of(strip),
                [&](const Tile& tile) HWY_ATTR { mix(terms, tile, sums); });
    }
    divide(terms, sums, record);
    if (!AftRange<Number>::is_endless) break;
  }
  return terms.end;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
