// The sums of `aft_mix` query by query, where a mask may hide any key from any query:
//
//     y_i = Σ_j e^(k_j + w_ij - m_i) v_j / Σ_j e^(k_j + w_ij - m_i),   m_i = max_j (k_j + w_ij)
//
//     dv_j = Σ_i p_ij dy_i,   dk_j = Σ_i p_ij dy_i (v_j - y_i),   dw_ij = Σ_c of the latter
//
// each channel by itself. A task has some channels of one batch member. Time O(B T K C), memory
// O(B T (C + K C / 64)).

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/accumulate.h"
#include "core/parallel.h"
#include "core/simd.h"
#include "core/tape.h"
#include "ops/aft_block.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
using Lanes = std::array<Scalar, widest_sum>;

/// Some channels of one batch member.
struct Strip {
  const AftProblem& p;
  int64_t b, group;
  AftPiece piece;

  /// Calls visit(j, w_ij) for the keys that query i may see.
  template <class Visit>
  void for_each_key(int64_t i, Visit visit) const {
    for (int64_t j = 0; j < p.end(i); ++j)
      if (!p.visibility.is_masked(b, i, j)) visit(j, p.bias_at(group, i, j));
  }
  /// This strip's part of row t of a contiguous [B, …, C].
  const Scalar* row(const Tensor& x, int64_t t) const { return x.data() + at(x, t); }
  Scalar* mutable_row(const Tensor& x, int64_t t) const { return x.mutable_data() + at(x, t); }
  /// to = e^(k_j + w - reference)
  void exponentials(int64_t j, Scalar w, const Scalar* reference, Lanes& to) const {
    const Scalar* k = p.key_row(b, j) + piece.channel;
    for (int64_t c = 0; c < piece.width; ++c) to[static_cast<size_t>(c)] = k[c] + w - reference[c];
    simd::map(simd::Unary::exp, to.data(), to.data(), piece.width);
  }

 private:
  int64_t at(const Tensor& x, int64_t t) const { return (b * x.size(1) + t) * p.C + piece.channel; }
};

/// y, and log_total_i = log Σ_j e^(k_j + w_ij), with which p_ij = e^(k_j + w_ij - log_total_i). A
/// query without keys has +infinity there, so that its p are 0.
void mix(const Strip& strip, int64_t i, Scalar* y, Scalar* log_total) {
  int64_t width = strip.piece.width;
  Lanes greatest, term, numerator{}, denominator{};
  greatest.fill(-infinity);
  strip.for_each_key(i, [&](int64_t j, Scalar w) {
    const Scalar* k = strip.p.key_row(strip.b, j) + strip.piece.channel;
    for (size_t c = 0; c < static_cast<size_t>(width); ++c)
      greatest[c] = std::max(greatest[c], k[c] + w);
  });
  strip.for_each_key(i, [&](int64_t j, Scalar w) {
    strip.exponentials(j, w, greatest.data(), term);
    simd::multiply_add(term.data(), strip.p.value_row(strip.b, j) + strip.piece.channel,
                       numerator.data(), width);
    simd::axpby(1, term.data(), 1, denominator.data(), width);
  });
  for (size_t c = 0; c < static_cast<size_t>(width); ++c) {
    bool blind = denominator[c] == 0;
    y[c] = blind ? 0 : numerator[c] / denominator[c];
    log_total[c] = blind ? infinity : greatest[c] + std::log(denominator[c]);
  }
}

struct Gradients {
  Tensor dy, y, log_total;  // [B, T, C]
  Tensor dkey, dvalue;      // [B, K, C], added to
  Tensor dbias;             // [B, strips, T, K]
};

void mix_backward(const Strip& strip, int64_t i, Scalar* dbias, const Gradients& g) {
  const Scalar *dy = strip.row(g.dy, i), *y = strip.row(g.y, i);
  const Scalar* log_total = strip.row(g.log_total, i);
  Lanes probability;
  strip.for_each_key(i, [&](int64_t j, Scalar w) {
    strip.exponentials(j, w, log_total, probability);
    const Scalar* v = strip.p.value_row(strip.b, j) + strip.piece.channel;
    Scalar *dk = strip.mutable_row(g.dkey, j), *dv = strip.mutable_row(g.dvalue, j), total = 0;
    for (int64_t c = 0; c < strip.piece.width; ++c) {
      Scalar through_value = probability[static_cast<size_t>(c)] * dy[c];
      Scalar through_weight = through_value * (v[c] - y[c]);
      dv[c] += through_value;
      dk[c] += through_weight;
      total += through_weight;
    }
    dbias[j] = total;
  });
}

/// Calls body(strip, number) for all strips.
template <class Body>
void for_each_strip(const AftProblem& p, Body body) {
  std::vector<AftPiece> pieces = p.all_pieces(widest_sum);
  int64_t count = static_cast<int64_t>(pieces.size());
  parallel_for(p.B * count, [&](int64_t task) {
    const AftPiece& piece = pieces[static_cast<size_t>(task % count)];
    body(Strip{p, task / count, piece.channel / (p.C / p.G), piece}, task);
  });
}

}  // namespace

Tensor aft_mix_masked(const AftProblem& p) {
  Tensor y = Tensor::empty({p.B, p.T, p.C}), log_total = Tensor::empty({p.B, p.T, p.C});
  for_each_strip(p, [&](const Strip& strip, int64_t) {
    for (int64_t i = 0; i < p.T; ++i)
      mix(strip, i, strip.mutable_row(y, i), strip.mutable_row(log_total, i));
  });
  record(y, {&p.key, &p.value, &p.bias}, [p, y, log_total](const Tensor& dy) {
    int64_t strips = p.G * static_cast<int64_t>(p.pieces(0, widest_sum).size());
    Dims tokens{p.B, p.K, p.C};
    Gradients g{dy,
                y,
                log_total,
                Tensor::zeros(tokens),
                Tensor::zeros(tokens),
                Tensor::zeros({p.B, strips, p.T, p.K})};
    for_each_strip(p, [&](const Strip& strip, int64_t number) {
      for (int64_t i = 0; i < p.T; ++i)
        mix_backward(strip, i, g.dbias.mutable_data() + (number * p.T + i) * p.K, g);
    });
    accumulate(p.key.gradient_sink(), g.dkey);
    accumulate(p.value.gradient_sink(), g.dvalue);
    if (!p.bias.requires_gradient()) return;
    Dims by_strip{p.B, p.G, strips / p.G, p.T, p.K};
    Tensor shared =
        expand(unsqueeze(unsqueeze(p.bias, 1), 0), by_strip);  // [B, G, strips / G, T, K]
    accumulate(shared.gradient_sink(), reshape(g.dbias, by_strip));
  });
  return y;
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
