// The kernel of `kernel.h`, compiled once for each instruction set: foreach_target.h includes this
// file again and again.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/aft/kernel.cpp"
#include <hwy/foreach_target.h>
// Highway wants this below foreach_target.h.
#include "core/machine/dispatch.h"
#include "ops/aft/kernel.h"
#include "ops/aft/terms-inl.h"
#include "ops/zero_weights.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::HWY_NAMESPACE {

bool make_weights(const AftProblem& p, int64_t group, int64_t block, double* to) {
  Span window = p.window(block);
  const Dims& strides = p.band.bias.layout().strides;
  std::fill_n(to, window.size() * lanes, 0.);
  bool fit = true;
  int64_t begin = block * lanes, end = std::min(p.T, begin + lanes);
  for (int64_t i = begin; i < end; ++i) {
    Span band = p.biased(i);
    const Scalar* w =
        p.band.bias.data() + group * strides[0] + i * strides[1] - p.first(i) * strides[2];
    for (int64_t j = band.begin; j < band.end; ++j) {
      double bias = static_cast<double>(w[j * strides[2]]);
      fit &= std::abs(bias) <= greatest_bias;
      to[(j - window.begin) * lanes + i - begin] = bias;
    }
  }
  Vector* rows = reinterpret_cast<Vector*>(to);
  for (int64_t n = 0; n < window.size(); ++n) rows[n] = exp(rows[n]);
  for (int64_t i = begin; i < begin + lanes; ++i)
    for (int64_t j = i < end ? p.end(i) : window.begin; j < window.end; ++j)
      to[(j - window.begin) * lanes + i - begin] = 0;
  return fit;
}

/// Puts into `sums` those over the keys before each block's window and after it.
void sum_far(const Terms& terms, const Rows& sums) {
  const AftProblem& p = terms.p;
  auto [begin, end] = terms.blocks();
  for (int64_t x = 0; x < terms.vectors; ++x) {
    Pair far{};
    int64_t j = 0;
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t past = p.window(block).begin; j < past; ++j) far.add(*terms.row(x, j));
      std::fill_n(sums.row(x, block * lanes), lanes, far);
    }
    if (p.visibility.sight.causal) continue;
    far = Pair{};
    j = p.K;
    for (int64_t block = end - 1; block >= begin; --block) {
      for (int64_t past = p.window(block).end; j > past; --j) far.add(*terms.row(x, j - 1));
      for (int64_t r = 0; r < lanes; ++r) sums.row(x, block * lanes + r)->add(far);
    }
  }
}

/// The number of keys of a tile that query r of its block sees, beyond those that all see.
HWY_INLINE int64_t own_keys(const AftProblem& p, const Tile& tile, int64_t r) {
  return std::min(tile.keys.end, p.end(tile.first + r)) - tile.shared;
}

/// Adds the keys of a tile to the sums of its queries.
void mix(const Terms& terms, const Tile& tile, const Rows& all) {
  for (int64_t x = 0; x < terms.vectors; ++x) {
    Pair sums[lanes];
    std::copy_n(all.row(x, tile.first), lanes, sums);
    const Pair* term = terms.row(x, tile.keys.begin);
    const double* w = tile.weights;
    for (int64_t j = tile.keys.begin; j < tile.shared; ++j, ++term, w += lanes) {
      Pair shared = *term;
      for (int64_t r = 0; r < lanes; ++r) sums[r].add(w[r], shared);
    }
    for (int64_t r = 0; r < lanes; ++r) {
      for (int64_t n = 0; n < own_keys(terms.p, tile, r); ++n)
        sums[r].add(w[n * lanes + r], term[n]);
      *all.row(x, tile.first + r) = sums[r];
    }
  }
}

/// y = num / den
void divide(const Terms& terms, const Rows& sums, AftRecord& record) {
  for (int64_t i = terms.begin; i < terms.end; ++i)
    for (int64_t x = 0; x < terms.vectors; ++x) {
      auto [den, num] = *sums.row(x, i);
      int64_t at = terms.place(x, i), left = terms.left(x);
      store(num / den, record.y.mutable_data() + at, left);
      store(den, record.total.data() + at, left);
    }
}

void forward(const AftProblem& p, const AftStrip& strip, const double* weights, AftRecord& record) {
  Terms terms(p, strip);
  for (int64_t i = 0; i < terms.end; ++i)
    std::fill_n(record.y.mutable_data() + terms.place(0, i), strip.width, Scalar{0});
  Rows sums(terms.vectors, p.blocks() * lanes);
  while (terms.next()) {
    sum_far(terms, sums);
    for_tiles(terms, weights, [&](const Tile& tile) HWY_ATTR { mix(terms, tile, sums); });
    divide(terms, sums, record);
  }
}

/// Computes what the queries pass on, dnum = dy / den and dden = -dnum y, and 0 where dy is 0 even
/// if y is not a number.
void pass_on(const Terms& terms, const AftRecord& record, const Tensor& dy, const Rows& passed) {
  auto [begin, end] = terms.blocks();
  for (int64_t i = begin * lanes; i < end * lanes; ++i) {
    int64_t ahead = terms.place(0, std::min(i + rows_ahead, terms.p.T - 1));
    prefetch(dy.data() + ahead, terms.strip.width);
    prefetch(record.y.data() + ahead, terms.strip.width);
    prefetch(record.total.data() + ahead, terms.strip.width);
    for (int64_t x = 0; x < terms.vectors; ++x) {
      Pair& pair = *passed.row(x, i);
      pair = Pair{};
      if (i < terms.begin || i >= terms.end) continue;
      int64_t at = terms.place(x, i), left = terms.left(x);
      Vector gradient = load(dy.data() + at, left), y = load(record.y.data() + at, left);
      Vector num = gradient / load(record.total.data() + at, left);
      pair = {chosen(gradient, -num * y), chosen(gradient, num)};
    }
  }
}

/// Puts into `received` what each key gets from the blocks to which it is far, the transpose of
/// sum_far.
void spread_far(const Terms& terms, const Rows& passed, const Rows& received) {
  const AftProblem& p = terms.p;
  auto [begin, end] = terms.blocks();
  for (int64_t x = 0; x < terms.vectors; ++x) {
    Pair far{};
    auto add_block = [&](int64_t block) HWY_ATTR {
      for (int64_t r = 0; r < lanes; ++r) far.add(*passed.row(x, block * lanes + r));
    };
    int64_t j = p.end(terms.end - 1);
    for (int64_t block = end - 1; block >= begin; --block) {
      for (int64_t past = p.window(block).begin; j > past; --j) *received.row(x, j - 1) = far;
      add_block(block);
    }
    std::fill_n(received.row(x, 0), j, far);
    if (p.visibility.sight.causal) continue;
    far = Pair{};
    j = 0;
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t past = p.window(block).end; j < past; ++j) received.row(x, j)->add(far);
      add_block(block);
    }
    for (; j < p.K; ++j) received.row(x, j)->add(far);
  }
}

/// Adds to `received` what the keys of a tile get from its queries, the transpose of mix.
void spread(const Terms& terms, const Tile& tile, const Rows& passed, const Rows& received) {
  for (int64_t x = 0; x < terms.vectors; ++x) {
    Pair from[lanes], *to = received.row(x, tile.keys.begin);
    std::copy_n(passed.row(x, tile.first), lanes, from);
    const double* w = tile.weights;
    for (int64_t j = tile.keys.begin; j < tile.shared; ++j, ++to, w += lanes) {
      Pair sum = *to;
      for (int64_t r = 0; r < lanes; ++r) sum.add(w[r], from[r]);
      *to = sum;
    }
    for (int64_t r = 0; r < lanes; ++r)
      for (int64_t n = 0; n < own_keys(terms.p, tile, r); ++n) to[n].add(w[n * lanes + r], from[r]);
  }
}

/// Computes what a tile's biases get, [keys, lanes]. The weights that may be 0 are the terms of a
/// hidden key, and what a query passes on if nothing came to it. Returns whether all is finite.
template <Zeros zeros>
bool bias_gradients(const Terms& terms, const Tile& tile, const Rows& passed, Vector* gradients) {
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
    spoilt += *gradients * 0.0;
  }
  for (int64_t r = 0; r < lanes; ++r)
    if (spoilt[r] != 0) return false;
  return true;
}

/// dw_ij += e^w_ij (dden_i · t_j + dnum_i · t_j v_j)
void add_bias_gradient(const Terms& terms, const Tile& tile, const Rows& passed, Scalar* gradient) {
  Vector gradients[most_keys];
  if (!bias_gradients<Zeros::multiply>(terms, tile, passed, gradients))
    bias_gradients<Zeros::select>(terms, tile, passed, gradients);
  for (int64_t n = 0; n < tile.keys.size(); ++n, gradient += lanes)
    store(load(gradient, lanes) + gradients[n], gradient, lanes);
}

/// dk_j = t_j dden + t_j v_j dnum and dv_j = t_j dnum, for the keys begin … end-1.
void give(const Terms& terms, const Rows& received, int64_t begin, int64_t end, bool first,
          const AftGradients& to) {
  for (int64_t j = begin; j < end; ++j) {
    bool padding = terms.p.is_padding(terms.strip.b, j);
    auto add = [&](const OpenGradient& open, auto gradient) HWY_ATTR {
      if (!open) return;
      Scalar* row = open.target.mutable_data() + terms.offset(open.target, j);
      double beta = static_cast<double>(first ? open.beta : 1);
      for (int64_t x = 0; x < terms.vectors; ++x, row += lanes) {
        const Pair& term = *terms.row(x, j);
        Pair from = received.row(x, j)->chosen_by(term.den);
        Vector came = ((from.den == 0) & (from.num == 0)) ? Vector{} : Vector{} + 1.0;
        Vector sum = padding ? Vector{} : chosen(came, gradient(term, from));
        if (beta != 0) sum += beta * load(row, terms.left(x));
        store(sum, row, terms.left(x));
      }
    };
    add(to.key, [](const Pair& term, const Pair& from)
                    HWY_ATTR { return term.den * from.den + term.num * from.num; });
    add(to.value, [](const Pair& term, const Pair& from) HWY_ATTR { return term.den * from.num; });
  }
}

void backward(const AftProblem& p, const AftStrip& strip, const double* weights,
              const AftRecord& record, const Tensor& dy, const AftGradients& gradients) {
  Terms terms(p, strip);
  Rows passed(terms.vectors, p.blocks() * lanes), received(terms.vectors, p.K);
  int64_t reached = 0;  // the keys before this one have got a gradient
  while (terms.next()) {
    pass_on(terms, record, dy, passed);
    spread_far(terms, passed, received);
    for_tiles(terms, weights, [&](const Tile& tile) HWY_ATTR {
      spread(terms, tile, passed, received);
      if (gradients.bias)
        add_bias_gradient(terms, tile, passed, gradients.bias + (tile.weights - weights));
    });
    int64_t seen = p.end(terms.end - 1);
    give(terms, received, 0, reached, false, gradients);
    give(terms, received, reached, seen, true, gradients);
    reached = seen;
  }
  give(terms, received, reached, p.K, true, gradients);  // where all are padding
}

/// Sums over keys that come one by one, relative to the greatest so far.
struct Sums {
  Vector greatest, den, num;

  HWY_INLINE void add(Vector key, Vector value) {
    Vector rise = key - greatest, ratio = exp(rise < 0 ? rise : -rise);
    Vector kept = rise > 0 ? ratio : Vector{} + 1.0, weight = rise > 0 ? Vector{} + 1.0 : ratio;
    den = kept * den + weight;
    num = kept * chosen(kept, num) + weight * chosen(weight, value);
    greatest = rise > 0 ? key : greatest;
  }
};

/// A vector of the channels of each token.
struct Column {
  const Scalar* first;
  int64_t stride, left;

  Column(const Tensor& x, const AftStrip& strip, int64_t c)
      : first(x.data() + strip.b * x.layout().strides[0] + strip.channel + c),
        stride(x.layout().strides[1]),
        left(strip.width - c) {}

  HWY_INLINE Vector operator[](int64_t token) const { return load(first + token * stride, left); }
};

void step(const AftProblem& p, const AftStrip& strip, AftSums& sums, const Tensor& y) {
  const Dims& strides = p.band.bias.layout().strides;
  const Scalar* biases = p.band.bias.data() + strip.group * strides[0];
  for (int64_t c = 0; c < strip.width; c += lanes) {
    const Column key(p.key, strip, c), value(p.value, strip, c);
    double* past = sums.values.data() + 3 * strip.b * p.C + strip.channel + c;
    int64_t j = 0, left = key.left;
    Sums far{load(past, left), load(past + p.C, left), load(past + 2 * p.C, left)};
    Scalar* to = y.mutable_data() + strip.b * p.T * p.C + strip.channel + c;
    for (int64_t i = 0; i < p.T; ++i, to += p.C) {
      Span band = p.biased(i);
      for (; j < band.begin; ++j) far.add(key[j], value[j]);
      const Scalar* w = biases + i * strides[1] - p.first(i) * strides[2];
      Sums all = far;
      for (int64_t n = band.begin; n < p.end(i); ++n) {
        double bias = n < band.end ? static_cast<double>(w[n * strides[2]]) : 0;
        all.add(key[n] + bias, value[n]);
      }
      store(all.num / all.den, to, left);
    }
    store(far.greatest, past, left);
    store(far.den, past + p.C, left);
    store(far.num, past + 2 * p.C, left);
  }
}

const AftKernel& kernel() {
  static constexpr AftKernel all = {lanes, make_weights, forward, backward, step};
  return all;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION::aft {

SHIFTGRAD_DISPATCH(kernel);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft

#endif
