// What the biases get from the tiles of one strip.
//
// A kernel includes this below `tiles-inl.h`, once for each instruction set.

#include "ops/zero_weights.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

/// Computes what a tile's biases get, [keys, lanes]. The weights that may be 0 are the terms of a
/// hidden key, and what a query passes on if nothing came to it. Returns whether all is finite.
template <Zeros zeros>
bool bias_gradients(const KeyTerms& terms, const Tile& tile, const PairRows& passed,
                    Vector* gradients) {
  constexpr bool selects = zeros == Zeros::select;
  const Vector* w = reinterpret_cast<const Vector*>(tile.weights);
  Vector spoilt{};  // 0 times what is not finite is NaN
  for (int64_t j = tile.keys.begin; j < tile.keys.end; ++j, ++w, ++gradients) {
    Vector sums[lanes] = {};
    for (int64_t x = 0; x < terms.vectors; ++x) {
      Pair term = *terms.row(x, j);
      const Pair* from = passed.row(x, tile.first);
      for (int64_t r = 0; r < lanes; ++r) {
        Pair used = selects ? from[r].chosen_by(term.den) : from[r];
        sums[r] += (selects ? chosen(used.den, term.den) : term.den) * used.den;
        sums[r] += (selects ? chosen(used.num, term.num) : term.num) * used.num;
      }
    }
    // A key that a query does not see has the weight 0, and may be anything.
    *gradients = chosen(*w, *w * sums_of_lanes(sums));
    spoilt += *gradients * Number{0};
  }
  for (int64_t r = 0; r < lanes; ++r)
    if (spoilt[r] != 0) return false;
  return true;
}

/// dw_ij += e^w_ij (dden_i · t_j + dnum_i · t_j v_j)
void add_bias_gradient(const KeyTerms& terms, const Tile& tile, const PairRows& passed,
                       Scalar* gradient) {
  Vector gradients[most_keys];
  if (!bias_gradients<Zeros::multiply>(terms, tile, passed, gradients))
    bias_gradients<Zeros::select>(terms, tile, passed, gradients);
  for (int64_t n = 0; n < tile.keys.size(); ++n, gradient += lanes)
    store(load(gradient, lanes) + gradients[n], gradient, lanes);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
