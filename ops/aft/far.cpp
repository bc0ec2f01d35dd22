// The sums over far keys, which many queries share:
//
//     m = max k,     Σ e^(k - m) v,     Σ e^(k - m)
//
// taken over all keys before each border of the key blocks, or after it. A block's own sums join
// those of the blocks before, rescaled to the greater maximum, so every sum is relative to its own
// keys alone. Time O(B K C), memory O(B K C / R).

#include <algorithm>
#include <array>
#include <limits>

#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/ops/aft/block.h"
#include "shiftgrad/ops/aft/rows.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using Lanes = std::array<Scalar, widest_sum>;

/// The three rows of one border, each C long.
struct Border {
  Scalar* maximum;
  int64_t C;
  Scalar* numerator() const { return maximum + C; }
  Scalar* denominator() const { return maximum + 2 * C; }
};

struct Builder {
  const AftProblem& p;
  int64_t b;
  AftPiece piece;

  /// Joins the sums of `from` with the keys and puts the result into `to`.
  void join(const Border& from, Span keys, const Border& to) const {
    std::copy_n(from.maximum, piece.width, to.maximum);
    std::fill_n(to.numerator(), piece.width, Scalar{0});
    std::fill_n(to.denominator(), piece.width, Scalar{0});
    for (int64_t j = keys.begin; j < keys.end; ++j)
      if (!p.is_padding(b, j))
        simd::zip(simd::Binary::maximum, to.maximum, p.key_row(b, j) + piece.channel, to.maximum,
                  piece.width);
    for (int64_t j = keys.begin; j < keys.end; ++j)
      if (!p.is_padding(b, j)) add(j, to);
    Lanes factor;
    for (int64_t c = 0; c < piece.width; ++c) {
      bool same = from.maximum[c] == to.maximum[c];
      factor[static_cast<size_t>(c)] = same ? 0 : from.maximum[c] - to.maximum[c];
    }
    simd::map(simd::Unary::exp, factor.data(), factor.data(), piece.width);
    simd::multiply_add(factor.data(), from.numerator(), to.numerator(), piece.width);
    simd::multiply_add(factor.data(), from.denominator(), to.denominator(), piece.width);
  }

 private:
  void add(int64_t j, const Border& to) const {
    aft_rows::add_term(p.key_row(b, j) + piece.channel, p.value_row(b, j) + piece.channel,
                       to.maximum, to.numerator(), to.denominator(), piece.width);
  }
};

AftFarSums sums(const AftProblem& p, bool after) {
  int64_t blocks = p.key_blocks();
  AftFarSums result{Tensor::empty({p.B, blocks + 1, 3, p.C})};
  Scalar* data = result.sums.mutable_data();
  std::vector<AftPiece> pieces = p.all_pieces(widest_sum);
  int64_t count = static_cast<int64_t>(pieces.size());
  parallel_for(p.B * count, [&](int64_t task) {
    Builder builder{p, task / count, pieces[static_cast<size_t>(task % count)]};
    auto border = [&](int64_t n) {
      return Border{data + (builder.b * (blocks + 1) + n) * 3 * p.C + builder.piece.channel, p.C};
    };
    Border none = border(after ? blocks : 0);
    std::fill_n(none.maximum, builder.piece.width, -std::numeric_limits<Scalar>::infinity());
    std::fill_n(none.numerator(), builder.piece.width, Scalar{0});
    std::fill_n(none.denominator(), builder.piece.width, Scalar{0});
    for (int64_t n = 0; n < blocks; ++n) {
      int64_t block = after ? blocks - 1 - n : n;
      builder.join(border(after ? block + 1 : block), p.keys(block),
                   border(after ? block : block + 1));
    }
  });
  return result;
}

}  // namespace

AftFarSums aft_sums_before(const AftProblem& p) { return sums(p, false); }
AftFarSums aft_sums_after(const AftProblem& p) { return sums(p, true); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
