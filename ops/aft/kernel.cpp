// The kernel of `kernel.h`, compiled once for each instruction set: foreach_target.h includes this
// file again and again. Its vectors are the compiler's own, since Highway has no doubles where the
// machine is WebAssembly.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/aft/kernel.cpp"
#include <hwy/foreach_target.h>
// Highway wants this below foreach_target.h.
#include <hwy/highway.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/machine/allocator.h"
#include "ops/aft/kernel.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::HWY_NAMESPACE {

constexpr int64_t bytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
/// The numbers in a vector, and the queries in a block.
constexpr int64_t lanes = bytes / sizeof(double);
using Vector [[gnu::vector_size(bytes)]] = double;
using Integers [[gnu::vector_size(bytes)]] = int64_t;
template <class Number>
using Narrow [[gnu::vector_size(lanes * sizeof(Number))]] = Number;
constexpr int64_t most_vectors = widest_strip / lanes;

/// Returns up to a vector of numbers, and 0 for those that are missing.
template <class Number>
HWY_INLINE Vector load(const Number* from, int64_t count) {
  Narrow<Number> x{};
  if (count < lanes) {
    std::memcpy(&x, from, static_cast<size_t>(count) * sizeof(Number));
    return __builtin_convertvector(x, Vector);
  }
  std::memcpy(&x, from, sizeof(x));
  return __builtin_convertvector(x, Vector);
}

template <class Number>
HWY_INLINE void store(Vector x, Number* to, int64_t count) {
  auto y = __builtin_convertvector(x, Narrow<Number>);
  if (count < lanes) {
    std::memcpy(to, &y, static_cast<size_t>(count) * sizeof(Number));
  } else {
    std::memcpy(to, &y, sizeof(y));
  }
}

/// A strip is a part of each token's channels, and CPUs do not foresee where the next one begins.
constexpr int64_t rows_ahead = 16;
template <class Number>
HWY_INLINE void prefetch(const Number* row, int64_t count) {
  constexpr int64_t line = 64 / sizeof(Number);
  for (int64_t c = 0; c < count; c += line) __builtin_prefetch(row + c);
}

/// e^x for x ≤ 700, as 2^n e^r with n an integer and |r| ≤ (ln 2)/2. Results below e^-700 are 0.
HWY_INLINE Vector exp(Vector x) {
  constexpr double inverse_factorials[] = {1,
                                           1,
                                           1. / 2,
                                           1. / 6,
                                           1. / 24,
                                           1. / 120,
                                           1. / 720,
                                           1. / 5040,
                                           1. / 40320,
                                           1. / 362880,
                                           1. / 3628800,
                                           1. / 39916800,
                                           1. / 479001600,
                                           1. / 6227020800};
  // What is left out is less than 1e-17, and less than 1e-9 where keys are floats.
  constexpr int degree = sizeof(Scalar) == sizeof(double) ? 13 : 8;
  // Adding this to a number rounds it to an integer, in the lowest bits.
  constexpr double rounding = 0x1.8p52;
  Vector bounded = x < -700.0 ? Vector{} - 700.0 : x;
  Vector rounded = bounded * 0x1.71547652b82fep0 + rounding, exponent = rounded - rounding;
  // ln 2 in two parts, of which the first has bits to spare, so that its product is exact
  Vector r = bounded - exponent * 0x1.62e42feep-1 - exponent * 0x1.a39ef35793c76p-33;
  Vector power = Vector{} + inverse_factorials[degree];
  for (int n = degree; n-- > 0;) power = power * r + inverse_factorials[n];
  // Bits from 52 on are a number's exponent.
  power = reinterpret_cast<Vector>(reinterpret_cast<Integers>(power) +
                                   (reinterpret_cast<Integers>(rounded) << 52));
  return x < -700.0 ? Vector{} : x == x ? power : x;
}

/// What belongs to den and to num, for a vector of channels: the terms t and t v of a key, sums
/// over these, or the gradients of sums.
struct Pair {
  Vector den, num;

  HWY_INLINE void add(const Pair& x) {
    den += x.den;
    num += x.num;
  }
  HWY_INLINE void add(double weight, const Pair& x) {
    den += weight * x.den;
    num += weight * x.num;
  }
};

/// For each vector of channels, the pairs of `count` keys or queries.
class Rows {
 public:
  Rows(int64_t vectors, int64_t count)
      : count_(count),
        size_(static_cast<size_t>(vectors * count) * sizeof(Pair)),
        data_(static_cast<Pair*>(allocate(size_))) {}
  ~Rows() { release(data_, size_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  Pair* row(int64_t x, int64_t n) const { return data_ + x * count_ + n; }

 private:
  int64_t count_;
  size_t size_;
  Pair* data_;
};

/// The terms of all keys that the queries begin … end-1 see, relative to one m.
class Terms {
 public:
  const AftProblem& p;
  const AftStrip& strip;
  int64_t vectors, begin = 0, end;

  Terms(const AftProblem& problem, const AftStrip& of)
      : p(problem),
        strip(of),
        vectors((of.width + lanes - 1) / lanes),
        end(problem.first_query(of.b)),
        rows_(vectors, problem.K) {}

  Pair* row(int64_t x, int64_t j) const { return rows_.row(x, j); }
  Span blocks() const { return {begin / lanes, (end + lanes - 1) / lanes}; }
  /// The number of channels from those of vector x on.
  int64_t left(int64_t x) const { return strip.width - x * lanes; }
  /// Returns the place of query i's vector x in an array [B, T, C].
  int64_t place(int64_t x, int64_t i) const {
    return (strip.b * p.T + i) * p.C + strip.channel + x * lanes;
  }
  /// Returns the place of key j's first channel in a tensor [B, K, C] of any layout.
  int64_t offset(const Tensor& x, int64_t j) const {
    const Dims& strides = x.layout().strides;
    return strip.b * strides[0] + j * strides[1] + strip.channel;
  }

  /// Goes on to the next queries that can share an m. Returns whether there are any.
  bool next() {
    begin = end;
    if (begin == p.T) return false;
    int64_t keys = p.end(begin);
    choose_reference(keys);
    for (int64_t j = 0; j < keys; ++j) make(j);
    for (++end; end < p.T; ++end)
      for (; keys < p.end(end); ++keys) {
        if (!fits(keys)) return true;
        make(keys);
      }
    return true;
  }

 private:
  Rows rows_;
  Vector reference_[most_vectors];  // m
  Scalar limit_[widest_strip];      // the greatest key for which m will do

  const Scalar* token(const Tensor& from, int64_t j) const { return from.data() + offset(from, j); }
  Vector load_row(const Tensor& from, int64_t x, int64_t j) const {
    return load(token(from, j) + x * lanes, left(x));
  }

  void choose_reference(int64_t keys) {
    for (Vector& m : reference_) m = Vector{} - std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t x = 0; x < vectors && !p.is_padding(strip.b, j); ++x) {
        Vector k = load_row(p.key, x, j), m = reference_[x];
        auto kept = (m > k) | (m != m);  // once m is NaN, it stays
        reference_[x] = kept ? m : k;
      }
    for (int64_t c = 0; c < strip.width; ++c)
      limit_[c] = static_cast<Scalar>(reference_[c / lanes][c % lanes] + greatest_rise);
  }

  bool fits(int64_t j) const {
    if (p.is_padding(strip.b, j)) return true;
    const Scalar* k = token(p.key, j);
    int unfit = 0;
    for (int64_t c = 0; c < strip.width; ++c)
      unfit += !(k[c] <= limit_[c]) & !std::isnan(limit_[c]);
    return unfit == 0;
  }

  void make(int64_t j) const {
    for (const Tensor* from : {&p.key, &p.value})
      prefetch(token(*from, std::min(j + rows_ahead, p.K - 1)), strip.width);
    bool padding = p.is_padding(strip.b, j);
    for (int64_t x = 0; x < vectors; ++x) {
      Vector t = padding ? Vector{} : exp(load_row(p.key, x, j) - reference_[x]);
      *row(x, j) = {t, padding ? t : t * load_row(p.value, x, j)};
    }
  }
};

bool make_weights(const AftProblem& p, int64_t group, int64_t block, double* to) {
  Span window = p.window(block);
  const Dims& strides = p.bias.layout().strides;
  std::fill_n(to, window.size() * lanes, 0.);
  bool fit = true;
  int64_t begin = block * lanes, end = std::min(p.T, begin + lanes);
  for (int64_t i = begin; i < end; ++i) {
    Span band = p.band(i);
    const Scalar* w = p.bias.data() + group * strides[0] + i * strides[1] - p.first(i) * strides[2];
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

/// A block of queries with some keys of its window, few enough to stay in the nearest cache.
struct Tile {
  int64_t block, first;  // the block's first query
  Span keys;
  int64_t shared;         // the key after those that all queries of the block see
  const double* weights;  // [keys, lanes]
};

/// Calls body(tile) for all tiles of the queries at hand.
template <class Body>
HWY_INLINE void for_tiles(const Terms& terms, const double* weights, Body body) {
  constexpr int64_t most_keys = 64;
  const AftProblem& p = terms.p;
  auto [first, end] = terms.blocks();
  int64_t seen = p.end(terms.end - 1);
  for (int64_t begin = 0; begin < seen; begin += most_keys) {
    while (first < end && p.window(first).end <= begin) ++first;
    for (int64_t block = first; block < end; ++block) {
      Span window = p.window(block);
      if (window.begin >= begin + most_keys) break;
      Span keys{std::max(window.begin, begin), std::min({window.end, begin + most_keys, seen})};
      if (keys.size() <= 0) continue;
      body(Tile{block, block * lanes, keys, std::clamp(p.end(block * lanes), keys.begin, keys.end),
                weights + block * p.block_size + (keys.begin - window.begin) * lanes});
    }
  }
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
    if (p.visibility.causal) continue;
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
      pair = {gradient == 0 ? Vector{} : -num * y, gradient == 0 ? Vector{} : num};
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
    if (p.visibility.causal) continue;
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

/// Adds each number at an even place of a and then b to its neighbour.
template <size_t... n>
HWY_INLINE Vector pair_sums(Vector a, Vector b, std::index_sequence<n...>) {
  return __builtin_shufflevector(a, b, static_cast<int>(2 * n)...) +
         __builtin_shufflevector(a, b, static_cast<int>(2 * n + 1)...);
}

/// Returns the sums of the lanes of `count` rows. Each step leaves half as many numbers of a row.
template <int64_t count = lanes>
HWY_INLINE Vector sums_of_lanes(const Vector* rows) {
  if constexpr (count > 1)
    return pair_sums(sums_of_lanes<count / 2>(rows), sums_of_lanes<count / 2>(rows + count / 2),
                     std::make_index_sequence<lanes>());
  return rows[0];
}

/// dw_ij += e^w_ij (dden_i · t_j + dnum_i · t_j v_j)
void add_bias_gradient(const Terms& terms, const Tile& tile, const Rows& passed, Scalar* gradient) {
  const Vector* w = reinterpret_cast<const Vector*>(tile.weights);
  for (int64_t j = tile.keys.begin; j < tile.keys.end; ++j, ++w, gradient += lanes) {
    Vector sums[lanes] = {};
    for (int64_t x = 0; x < terms.vectors; ++x) {
      Pair term = *terms.row(x, j);
      const Pair* from = passed.row(x, tile.first);
      for (int64_t r = 0; r < lanes; ++r) {
        sums[r] += term.den * from[r].den;
        sums[r] += term.num * from[r].num;
      }
    }
    // A key that a query does not see has the weight 0, and may be anything.
    Vector product = *w == 0 ? Vector{} : *w * sums_of_lanes(sums);
    store(load(gradient, lanes) + product, gradient, lanes);
  }
}

/// dk_j = t_j dden + t_j v_j dnum and dv_j = t_j dnum, for the keys begin … end-1.
void give(const Terms& terms, const Rows& received, int64_t begin, int64_t end, bool first,
          const AftGradients& to) {
  for (int64_t j = begin; j < end; ++j) {
    bool padding = terms.p.is_padding(terms.strip.b, j);
    auto add = [&](const GradientSink& sink, auto gradient) HWY_ATTR {
      if (!sink) return;
      Scalar* row = sink.target.mutable_data() + terms.offset(sink.target, j);
      double beta = static_cast<double>(first ? sink.beta : 1);
      for (int64_t x = 0; x < terms.vectors; ++x, row += lanes) {
        Vector sum = padding ? Vector{} : gradient(*terms.row(x, j), *received.row(x, j));
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

const AftKernel& kernel() {
  static constexpr AftKernel all = {lanes, make_weights, forward, backward};
  return all;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace aft {

HWY_EXPORT(kernel);

const AftKernel& chosen_kernel() { return HWY_DYNAMIC_DISPATCH(kernel)(); }

}  // namespace aft

const AftKernel& aft_kernel() { return aft::chosen_kernel(); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#endif
