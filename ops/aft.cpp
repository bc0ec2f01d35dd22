#include "ops/aft.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/parallel.h"
#include "core/simd.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
/// Channels are worked on this many at a time, all of one group.
constexpr int64_t lanes = 64;
using Lanes = std::array<Scalar, lanes>;

struct Problem {
  Tensor key, value;  // [B, K, C]
  Tensor bias;        // [G, T, n], contiguous
  int64_t B, T, K, C, G, n, start, step;
  Visibility visibility;

  int64_t first(int64_t i) const { return start + step * i; }
  /// One past the last key that query i may see.
  int64_t end(int64_t i) const { return visibility.range(i, T, K).end; }
  bool is_padding(int64_t b, int64_t j) const {
    return visibility.padding && visibility.padding->values[b * K + j];
  }
  int64_t pieces_per_group() const { return (C / G + lanes - 1) / lanes; }
};

/// A task: some channels of one batch member.
struct Piece {
  const Problem& problem;
  int64_t b, group, index, channel, width;

  Piece(const Problem& p, int64_t task) : problem(p) {
    int64_t pieces = p.pieces_per_group(), group_width = p.C / p.G;
    b = task / (p.G * pieces);
    group = task / pieces % p.G;
    index = task;
    int64_t inside = task % pieces * lanes;
    channel = group * group_width + inside;
    width = std::min(lanes, group_width - inside);
  }
  const Scalar* key(int64_t j) const { return row(problem.key, j); }
  const Scalar* value(int64_t j) const { return row(problem.value, j); }
  /// This piece of row t of a [B, …, C].
  const Scalar* row(const Tensor& x, int64_t t) const { return x.data() + at(x, t); }
  Scalar* mutable_row(const Tensor& x, int64_t t) const { return x.mutable_data() + at(x, t); }

  /// Calls visit(j, w_ij, position in the band) for the keys of query i's band that it may see.
  template <class Visit>
  void for_each_in_band(int64_t i, Visit visit) const {
    const Problem& p = problem;
    const Scalar* bias = p.bias.data() + (group * p.T + i) * p.n;
    int64_t first = p.first(i), end = std::min(first + p.n, p.end(i));
    for (int64_t j = std::max<int64_t>(first, 0); j < end; ++j)
      if (!p.visibility.is_masked(b, i, j)) visit(j, bias[j - first], j - first);
  }

 private:
  int64_t at(const Tensor& x, int64_t t) const { return (b * x.size(1) + t) * problem.C + channel; }
};

/// Σ e^(k - maximum) v and Σ e^(k - maximum) over a set of keys.
struct Sums {
  Lanes maximum, numerator, denominator;

  Sums() {
    maximum.fill(-infinity);
    numerator.fill(0);
    denominator.fill(0);
  }

  /// Makes room for terms as large as e^x.
  void raise(const Scalar* x, int64_t width) {
    Lanes factor;
    for (int64_t c = 0; c < width; ++c) {
      Scalar greatest = std::max(maximum[c], x[c]);
      factor[c] = maximum[c] == greatest ? 0 : maximum[c] - greatest;
      maximum[c] = greatest;
    }
    simd::map(simd::Unary::exp, factor.data(), factor.data(), width);
    for (int64_t c = 0; c < width; ++c) {
      numerator[c] *= factor[c];
      denominator[c] *= factor[c];
    }
  }

  /// Adds the key, whose k + w the maximum covers already.
  void add_covered(const Scalar* k, const Scalar* v, Scalar w, int64_t width) {
    Lanes term;
    for (int64_t c = 0; c < width; ++c) term[c] = k[c] + w - maximum[c];
    simd::map(simd::Unary::exp, term.data(), term.data(), width);
    for (int64_t c = 0; c < width; ++c) {
      numerator[c] += term[c] * v[c];
      denominator[c] += term[c];
    }
  }

  void add(const Scalar* k, const Scalar* v, int64_t width) {
    raise(k, width);
    add_covered(k, v, 0, width);
  }

  void add(const Sums& other, int64_t width) {
    Lanes factor;
    raise(other.maximum.data(), width);
    for (int64_t c = 0; c < width; ++c)
      factor[c] = other.maximum[c] == maximum[c] ? 0 : other.maximum[c] - maximum[c];
    simd::map(simd::Unary::exp, factor.data(), factor.data(), width);
    for (int64_t c = 0; c < width; ++c) {
      numerator[c] += other.numerator[c] * factor[c];
      denominator[c] += other.denominator[c] * factor[c];
    }
  }
};

/// For each query, the sums over the far keys behind its band. None in causal mixing.
std::vector<Sums> suffix_sums(const Piece& piece) {
  const Problem& p = piece.problem;
  if (p.visibility.causal) return {};
  std::vector<Sums> after(p.T);
  Sums sums;
  for (int64_t i = p.T - 1, next = p.K; i >= 0; --i) {
    while (next > std::max<int64_t>(p.first(i) + p.n, 0)) {
      --next;
      if (!p.is_padding(piece.b, next)) sums.add(piece.key(next), piece.value(next), piece.width);
    }
    after[i] = sums;
  }
  return after;
}

/// The band's keys joined to the far keys' sums.
void add_band(const Piece& piece, int64_t i, Sums& sums) {
  Lanes greatest;
  greatest.fill(-infinity);
  piece.for_each_in_band(i, [&](int64_t j, Scalar w, int64_t) {
    const Scalar* k = piece.key(j);
    for (int64_t c = 0; c < piece.width; ++c) greatest[c] = std::max(greatest[c], k[c] + w);
  });
  sums.raise(greatest.data(), piece.width);
  piece.for_each_in_band(i, [&](int64_t j, Scalar w, int64_t) {
    sums.add_covered(piece.key(j), piece.value(j), w, piece.width);
  });
}

/// y, and log_total_i = log Σ_j e^(k_j + w_ij), with which p_ij = e^(k_j + w_ij - log_total_i). A
/// query without keys has +infinity there, so that its p are 0.
void mix(const Piece& piece, const Tensor& y, const Tensor& log_total) {
  const Problem& p = piece.problem;
  std::vector<Sums> after = suffix_sums(piece);
  Sums before;
  for (int64_t i = 0, next = 0; i < p.T; ++i) {
    for (; next < std::min(p.first(i), p.end(i)); ++next)
      if (!p.is_padding(piece.b, next)) before.add(piece.key(next), piece.value(next), piece.width);
    Sums all = before;
    if (!after.empty()) all.add(after[i], piece.width);
    add_band(piece, i, all);
    Scalar *out = piece.mutable_row(y, i), *log_out = piece.mutable_row(log_total, i);
    for (int64_t c = 0; c < piece.width; ++c) {
      bool blind = all.denominator[c] == 0;
      out[c] = blind ? 0 : all.numerator[c] / all.denominator[c];
      log_out[c] = blind ? infinity : all.maximum[c] + std::log(all.denominator[c]);
    }
  }
}

struct Gradients {
  Tensor dy, y, log_total;  // [B, T, C]
  Tensor dkey, dvalue;      // [B, K, C], added to
  Tensor dbias;             // [tasks, T, n]
};

/// dv_j += p_ij dy_i,  dk_j += p_ij dy_i (v_j - y_i),  dw_ij = Σ_c of the latter, for the band's
/// keys.
void mix_band_backward(const Piece& piece, const Gradients& g) {
  const Problem& p = piece.problem;
  Lanes probability;
  for (int64_t i = 0; i < p.T; ++i) {
    const Scalar *dy = piece.row(g.dy, i), *y = piece.row(g.y, i);
    const Scalar* log_total = piece.row(g.log_total, i);
    Scalar* dbias = g.dbias.mutable_data() + (piece.index * p.T + i) * p.n;
    std::fill_n(dbias, p.n, Scalar{0});
    piece.for_each_in_band(i, [&](int64_t j, Scalar w, int64_t at) {
      const Scalar *k = piece.key(j), *v = piece.value(j);
      for (int64_t c = 0; c < piece.width; ++c) probability[c] = k[c] + w - log_total[c];
      simd::map(simd::Unary::exp, probability.data(), probability.data(), piece.width);
      Scalar *dk = piece.mutable_row(g.dkey, j), *dv = piece.mutable_row(g.dvalue, j);
      Scalar total = 0;
      for (int64_t c = 0; c < piece.width; ++c) {
        Scalar through_value = probability[c] * dy[c];
        Scalar through_weight = through_value * (v[c] - y[c]);
        dv[c] += through_value;
        dk[c] += through_weight;
        total += through_weight;
      }
      dbias[at] = total;
    });
  }
}

/// Σ_i e^(least - log_total_i) dy_i and the same of dy_i y_i over the queries that see some far
/// key. The least log_total covers each e^(k_j - log_total_i) as the maximum does in the forward
/// pass.
struct BackwardSums {
  Lanes least, gradient, gradient_y;

  BackwardSums() {
    least.fill(infinity);
    gradient.fill(0);
    gradient_y.fill(0);
  }

  void add(const Piece& piece, const Gradients& g, int64_t i) {
    const Scalar *dy = piece.row(g.dy, i), *y = piece.row(g.y, i);
    const Scalar* log_total = piece.row(g.log_total, i);
    Lanes old, added;
    for (int64_t c = 0; c < piece.width; ++c) {
      // A query without a gradient must not show in the roundings of the others.
      bool silent = dy[c] == 0;
      Scalar lower = silent ? least[c] : std::min(least[c], log_total[c]);
      old[c] = least[c] == lower ? 0 : lower - least[c];
      added[c] = silent ? -infinity : log_total[c] == lower ? 0 : lower - log_total[c];
      least[c] = lower;
    }
    simd::map(simd::Unary::exp, old.data(), old.data(), piece.width);
    simd::map(simd::Unary::exp, added.data(), added.data(), piece.width);
    for (int64_t c = 0; c < piece.width; ++c) {
      if (least[c] == infinity) continue;
      gradient[c] = gradient[c] * old[c] + added[c] * dy[c];
      gradient_y[c] = gradient_y[c] * old[c] + added[c] * dy[c] * y[c];
    }
  }

  /// Gives far key j its gradient from all these queries.
  void give(const Piece& piece, const Gradients& g, int64_t j) const {
    if (piece.problem.is_padding(piece.b, j)) return;
    const Scalar *k = piece.key(j), *v = piece.value(j);
    Scalar *dk = piece.mutable_row(g.dkey, j), *dv = piece.mutable_row(g.dvalue, j);
    Lanes weight;
    for (int64_t c = 0; c < piece.width; ++c) weight[c] = k[c] - least[c];
    simd::map(simd::Unary::exp, weight.data(), weight.data(), piece.width);
    for (int64_t c = 0; c < piece.width; ++c) {
      dv[c] += weight[c] * gradient[c];
      dk[c] += weight[c] * (v[c] * gradient[c] - gradient_y[c]);
    }
  }
};

void mix_far_backward(const Piece& piece, const Gradients& g) {
  const Problem& p = piece.problem;
  BackwardSums behind;  // of the queries for which j lies before the band
  int64_t first_far = std::min(p.K, std::max(p.first(0), p.first(p.T - 1)));
  for (int64_t j = first_far - 1, i = p.T - 1; j >= 0; --j) {
    for (; i >= 0 && p.first(i) > j; --i) behind.add(piece, g, i);
    behind.give(piece, g, j);
  }
  if (p.visibility.causal) return;
  BackwardSums ahead;  // of the queries for which j lies after the band
  for (int64_t j = std::max<int64_t>(p.first(0) + p.n, 0), i = 0; j < p.K; ++j) {
    for (; i < p.T && p.first(i) + p.n <= j; ++i) ahead.add(piece, g, i);
    ahead.give(piece, g, j);
  }
}

Problem checked(const Tensor& key, const Tensor& value, const AftBand& band,
                const Visibility& visibility) {
  require(key.rank() == 3 && key.shape() == value.shape(), "aft: keys ", key.shape(),
          " and values ", value.shape(), ", expected [B, K, C] twice");
  require(band.bias.rank() == 3 && key.size(2) % band.bias.size(0) == 0, "aft: biases ",
          band.bias.shape(), " for ", key.size(2), " channels, expected [G, T, n]");
  Problem p{contiguous(key), contiguous(value), contiguous(band.bias),
            key.size(0),     band.bias.size(1), key.size(1),
            key.size(2),     band.bias.size(0), band.bias.size(2),
            band.start,      band.step,         visibility};
  visibility.check("aft", p.B, p.T, p.K);
  bool all_keys = p.start == 0 && p.step == 0 && p.n == p.K;
  require(!visibility.hidden || all_keys, "aft: an attention_mask needs a band with all keys");
  require(p.T <= p.K, "aft: ", p.T, " queries of ", p.K, " keys");
  return p;
}

}  // namespace

Tensor aft_mix(const Tensor& key, const Tensor& value, const AftBand& band,
               const Visibility& visibility) {
  Problem p = checked(key, value, band, visibility);
  int64_t tasks = p.B * p.G * p.pieces_per_group();
  Tensor y = Tensor::empty({p.B, p.T, p.C}), log_total = Tensor::empty({p.B, p.T, p.C});
  parallel_for(tasks, [&](int64_t task) { mix(Piece(p, task), y, log_total); });
  record(y, {&p.key, &p.value, &p.bias}, [p, y, log_total, tasks](const Tensor& dy) {
    Gradients g{dy,
                y,
                log_total,
                Tensor::zeros(p.key.shape()),
                Tensor::zeros(p.key.shape()),
                Tensor::empty({tasks, p.T, p.n})};
    parallel_for(tasks, [&](int64_t task) {
      Piece piece(p, task);
      mix_band_backward(piece, g);
      mix_far_backward(piece, g);
    });
    accumulate(p.key.gradient_sink(), g.dkey);
    accumulate(p.value.gradient_sink(), g.dvalue);
    Dims by_task{p.B, p.G, p.pieces_per_group(), p.T, p.n};
    Tensor shared = unsqueeze(unsqueeze(p.bias, 1), 0);  // [1, G, 1, T, n]
    if (p.bias.requires_gradient() && p.n > 0)
      accumulate(expand(shared, by_task).gradient_sink(), reshape(g.dbias, by_task));
  });
  return y;
}

Tensor shifted_rows(const Tensor& input, int64_t width, int64_t start, int64_t step) {
  require(input.rank() == 3, "shifted_rows: ", input.shape(), ", expected [G, T, m]");
  Tensor x = contiguous(input);
  int64_t T = x.size(1), columns = x.size(2);
  Tensor y = Tensor::zeros({x.size(0), T, width});
  for (int64_t row = 0; row < x.size(0) * T; ++row) {
    int64_t shift = start + step * (row % T);
    int64_t begin = std::max<int64_t>(0, -shift), end = std::min(width, columns - shift);
    if (begin < end)
      std::copy_n(x.data() + row * columns + begin + shift, end - begin,
                  y.mutable_data() + row * width + begin);
  }
  record(y, {&x}, [x, start, step](const Tensor& dy) {
    accumulate(x.gradient_sink(), shifted_rows(dy, x.size(2), -start, -step));
  });
  return y;
}

AftBand widened(const AftBand& band, int64_t K) {
  return {shifted_rows(band.bias, K, -band.start, -band.step), 0, 0};
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
