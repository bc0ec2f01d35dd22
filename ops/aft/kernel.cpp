// The kernel of `kernel.h`, compiled once for each instruction set: foreach_target.h includes this
// file again and again. Its vectors are the compiler's own, since Highway has no doubles where the
// machine is WebAssembly.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shiftgrad/ops/aft/kernel.cpp"
#include <hwy/foreach_target.h>
// Highway wants this below foreach_target.h.
#include <hwy/highway.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "shiftgrad/core/machine/allocator.h"
#include "shiftgrad/ops/aft/kernel.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::HWY_NAMESPACE {

constexpr int64_t bytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
/// The numbers in a vector, and the queries in a block.
constexpr int64_t lanes = bytes / sizeof(double);
using Vector [[gnu::vector_size(bytes)]] = double;
using Integers [[gnu::vector_size(bytes)]] = int64_t;
using Narrow [[gnu::vector_size(lanes * sizeof(Scalar))]] = Scalar;
constexpr int64_t most_vectors = widest_strip / lanes;

/// Returns up to a vector of numbers, and 0 for those that are missing.
HWY_INLINE Vector load(const Scalar* from, int64_t count) {
  Narrow x{};
  if (count < lanes) {
    std::memcpy(&x, from, static_cast<size_t>(count) * sizeof(Scalar));
    return __builtin_convertvector(x, Vector);
  }
  std::memcpy(&x, from, sizeof(x));
  return __builtin_convertvector(x, Vector);
}

HWY_INLINE void store(Vector x, Scalar* to, int64_t count) {
  Narrow y = __builtin_convertvector(x, Narrow);
  if (count < lanes) {
    std::memcpy(to, &y, static_cast<size_t>(count) * sizeof(Scalar));
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
  constexpr double inverse_factorials[] = {
      1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880,
      1. / 40320,      1. / 5040,      1. / 720,      1. / 120,     1. / 24,
      1. / 6,          1. / 2,         1,             1};
  // Adding this to a number rounds it to an integer, in the lowest bits.
  constexpr double rounding = 0x1.8p52;
  Vector bounded = x < -700.0 ? Vector{} - 700.0 : x;
  Vector rounded = bounded * 0x1.71547652b82fep0 + rounding, n = rounded - rounding;
  // ln 2 in two parts, of which the first has bits to spare, so that its product is exact
  Vector r = bounded - n * 0x1.62e42feep-1 - n * 0x1.a39ef35793c76p-33;
  Vector power{};
  for (double coefficient : inverse_factorials) power = power * r + coefficient;
  // Added to a number's bits from 52 on, n is added to its exponent.
  power = reinterpret_cast<Vector>(reinterpret_cast<Integers>(power) +
                                   (reinterpret_cast<Integers>(rounded) << 52));
  return x < -700.0 ? Vector{} : x == x ? power : x;
}

/// For each vector of channels, `count` rows of two vectors: the terms t and t v of a key, or what
/// belongs to these, den and num.
class Rows {
 public:
  Rows(int64_t vectors, int64_t count)
      : count_(count),
        size_(static_cast<size_t>(2 * vectors * count) * sizeof(Vector)),
        data_(static_cast<Vector*>(allocate(size_))) {}
  ~Rows() { release(data_, size_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  Vector* row(int64_t x, int64_t n) const { return data_ + 2 * (x * count_ + n); }

 private:
  int64_t count_;
  size_t size_;
  Vector* data_;
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

  Vector* row(int64_t x, int64_t j) const { return rows_.row(x, j); }
  Span blocks() const { return {begin / lanes, (end + lanes - 1) / lanes}; }
  /// The number of channels from those of vector x on.
  int64_t left(int64_t x) const { return strip.width - x * lanes; }
  /// Returns the place of query i's vector x in an array [B, T, C].
  int64_t place(int64_t x, int64_t i) const {
    return (strip.b * p.T + i) * p.C + strip.channel + x * lanes;
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

  const Scalar* token(const Tensor& from, int64_t j) const {
    const Dims& strides = from.layout().strides;
    return from.data() + strip.b * strides[0] + j * strides[1] + strip.channel;
  }
  Vector load_row(const Tensor& from, int64_t x, int64_t j) const {
    return load(token(from, j) + x * lanes, left(x));
  }

  void choose_reference(int64_t keys) {
    for (Vector& m : reference_) m = Vector{} - std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t x = 0; x < vectors && !p.is_padding(strip.b, j); ++x) {
        Vector k = load_row(p.key, x, j), m = reference_[x];
        reference_[x] = (m > k) | (m != m) ? m : k;  // once m is NaN, it stays
      }
    for (int64_t c = 0; c < strip.width; ++c)
      limit_[c] = static_cast<Scalar>(reference_[c / lanes][c % lanes] + greatest_rise);
  }

  bool fits(int64_t j) const {
    if (p.is_padding(strip.b, j)) return true;
    const Scalar* k = token(p.key, j);
    int unfit = 0;
    for (int64_t c = 0; c < strip.width; ++c) unfit += !(k[c] <= limit_[c]) & (limit_[c] == limit_[c]);
    return unfit == 0;
  }

  void make(int64_t j) const {
    for (const Tensor* from : {&p.key, &p.value})
      prefetch(token(*from, std::min(j + rows_ahead, p.K - 1)), strip.width);
    bool padding = p.is_padding(strip.b, j);
    for (int64_t x = 0; x < vectors; ++x) {
      Vector* term = row(x, j);
      term[0] = padding ? Vector{} : exp(load_row(p.key, x, j) - reference_[x]);
      term[1] = padding ? Vector{} : term[0] * load_row(p.value, x, j);
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
  int64_t block, first;   // the block's first query
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
    Vector den{}, num{};
    int64_t j = 0;
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t past = p.window(block).begin; j < past; ++j) {
        den += terms.row(x, j)[0];
        num += terms.row(x, j)[1];
      }
      for (int64_t r = 0; r < lanes; ++r) {
        sums.row(x, block * lanes + r)[0] = den;
        sums.row(x, block * lanes + r)[1] = num;
      }
    }
    if (p.visibility.causal) continue;
    den = num = Vector{};
    j = p.K;
    for (int64_t block = end - 1; block >= begin; --block) {
      for (int64_t past = p.window(block).end; j > past; --j) {
        den += terms.row(x, j - 1)[0];
        num += terms.row(x, j - 1)[1];
      }
      for (int64_t r = 0; r < lanes; ++r) {
        sums.row(x, block * lanes + r)[0] += den;
        sums.row(x, block * lanes + r)[1] += num;
      }
    }
  }
}

/// Adds the keys of a tile to the sums [den | num] of its queries.
void mix(const Terms& terms, const Tile& tile, const Rows& sums) {
  for (int64_t x = 0; x < terms.vectors; ++x) {
    Vector den[lanes], num[lanes], *sum = sums.row(x, tile.first);
    for (int64_t r = 0; r < lanes; ++r) {
      den[r] = sum[2 * r];
      num[r] = sum[2 * r + 1];
    }
    const Vector* term = terms.row(x, tile.keys.begin);
    const double* w = tile.weights;
    for (int64_t j = tile.keys.begin; j < tile.shared; ++j, term += 2, w += lanes) {
      Vector t = term[0], tv = term[1];
      for (int64_t r = 0; r < lanes; ++r) {
        den[r] += w[r] * t;
        num[r] += w[r] * tv;
      }
    }
    for (int64_t r = 0; r < lanes; ++r) {
      int64_t count = std::min(tile.keys.end, terms.p.end(tile.first + r)) - tile.shared;
      for (int64_t n = 0; n < count; ++n) {
        den[r] += w[n * lanes + r] * term[2 * n];
        num[r] += w[n * lanes + r] * term[2 * n + 1];
      }
      sum[2 * r] = den[r];
      sum[2 * r + 1] = num[r];
    }
  }
}

/// y = num / den
void divide(const Terms& terms, const Rows& sums, AftRecord& record) {
  for (int64_t i = terms.begin; i < terms.end; ++i)
    for (int64_t x = 0; x < terms.vectors; ++x) {
      const Vector* sum = sums.row(x, i);
      int64_t at = terms.place(x, i), left = terms.left(x);
      store(sum[1] / sum[0], record.y.mutable_data() + at, left);
      std::memcpy(record.total.data() + at, sum,
                  static_cast<size_t>(std::min(left, lanes)) * sizeof(double));
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
      Vector* row = passed.row(x, i);
      row[0] = row[1] = Vector{};
      if (i < terms.begin || i >= terms.end) continue;
      int64_t at = terms.place(x, i), left = terms.left(x);
      Vector gradient = load(dy.data() + at, left), den = Vector{} + 1;
      std::memcpy(&den, record.total.data() + at,
                  static_cast<size_t>(std::min(left, lanes)) * sizeof(double));
      Vector num = gradient / den;
      row[1] = gradient == 0 ? Vector{} : num;
      row[0] = gradient == 0 ? Vector{} : -num * load(record.y.data() + at, left);
    }
  }
}

/// Puts into `received` what each key gets from the blocks to which it is far, the transpose of
/// sum_far.
void spread_far(const Terms& terms, const Rows& passed, const Rows& received) {
  const AftProblem& p = terms.p;
  auto [begin, end] = terms.blocks();
  for (int64_t x = 0; x < terms.vectors; ++x) {
    Vector den{}, num{};
    auto add_block = [&](int64_t block) HWY_ATTR {
      for (int64_t r = 0; r < lanes; ++r) {
        den += passed.row(x, block * lanes + r)[0];
        num += passed.row(x, block * lanes + r)[1];
      }
    };
    int64_t j = p.end(terms.end - 1);
    auto put = [&](int64_t to) HWY_ATTR {
      for (; j > to; --j) {
        received.row(x, j - 1)[0] = den;
        received.row(x, j - 1)[1] = num;
      }
    };
    for (int64_t block = end - 1; block >= begin; --block) {
      put(p.window(block).begin);
      add_block(block);
    }
    put(0);
    if (p.visibility.causal) continue;
    den = num = Vector{};
    auto add = [&](int64_t to) HWY_ATTR {
      for (; j < to; ++j) {
        received.row(x, j)[0] += den;
        received.row(x, j)[1] += num;
      }
    };
    for (int64_t block = begin; block < end; ++block) {
      add(p.window(block).end);
      add_block(block);
    }
    add(p.K);
  }
}

/// Adds to `received` what the keys of a tile get from its queries, the transpose of mix.
void spread(const Terms& terms, const Tile& tile, const Rows& passed, const Rows& received) {
  for (int64_t x = 0; x < terms.vectors; ++x) {
    Vector den[lanes], num[lanes];
    for (int64_t r = 0; r < lanes; ++r) {
      den[r] = passed.row(x, tile.first + r)[0];
      num[r] = passed.row(x, tile.first + r)[1];
    }
    Vector* to = received.row(x, tile.keys.begin);
    const double* w = tile.weights;
    for (int64_t j = tile.keys.begin; j < tile.shared; ++j, to += 2, w += lanes) {
      Vector a = to[0], b = to[1];
      for (int64_t r = 0; r < lanes; ++r) {
        a += w[r] * den[r];
        b += w[r] * num[r];
      }
      to[0] = a;
      to[1] = b;
    }
    for (int64_t r = 0; r < lanes; ++r) {
      int64_t count = std::min(tile.keys.end, terms.p.end(tile.first + r)) - tile.shared;
      for (int64_t n = 0; n < count; ++n) {
        to[2 * n] += w[n * lanes + r] * den[r];
        to[2 * n + 1] += w[n * lanes + r] * num[r];
      }
    }
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
      Vector t = terms.row(x, j)[0], tv = terms.row(x, j)[1];
      const Vector* from = passed.row(x, tile.first);
      for (int64_t r = 0; r < lanes; ++r) {
        sums[r] += t * from[2 * r];
        sums[r] += tv * from[2 * r + 1];
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
  for (int64_t j = begin; j < end; ++j)
    for (int64_t x = 0; x < terms.vectors; ++x) {
      const Vector *term = terms.row(x, j), *from = received.row(x, j);
      bool padding = terms.p.is_padding(terms.strip.b, j);
      auto add = [&](const TokenGradient& sink, Vector gradient) HWY_ATTR {
        if (!sink.data) return;
        Scalar* at = sink.data + terms.strip.b * sink.member_stride + j * sink.token_stride +
                     terms.strip.channel + x * lanes;
        Scalar beta = first ? sink.beta : 1;
        if (beta != 0) gradient += static_cast<double>(beta) * load(at, terms.left(x));
        store(gradient, at, terms.left(x));
      };
      add(to.key, padding ? Vector{} : term[0] * from[0] + term[1] * from[1]);
      add(to.value, padding ? Vector{} : term[0] * from[1]);
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
