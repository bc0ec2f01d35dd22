#pragma once

// The sums of `aft_mix`, in doubles or in floats. With t_j = e^(k_j - m) for one number m in each
// channel, which cancels,
//
//     den_i = Σ_j e^w_ij t_j       num_i = Σ_j e^w_ij t_j v_j       y_i = num_i / den_i
//
// A block has as many queries as a vector has numbers. Keys before all bands of a block, and those
// after them, have w = 0 for all its queries, and come as one running sum:
//
//                 summed up      window          hidden
//                | 1 1 1 1 1 1 | w w w         | . . . .      a block of 4 queries, a causal
//                | 1 1 1 1 1 1 | 1 w w w       | . . . .      band of n = 3: a window has n + 3
//                | 1 1 1 1 1 1 | 1 1 w w w     | . . . .      keys
//                | 1 1 1 1 1 1 | 1 1 1 w w w   | . . . .
//
// A query's bits must show nothing of a later token, and sums must neither overflow nor vanish:
//
//   - No query meets a key that it does not see, not even times 0.
//   - m is the greatest key that the first query sees. A query that sees a key above m + 200 begins
//     anew: the greatest key it sees is m from there on, and all terms are made again. That depends
//     on keys it sees. So a term is at most e^200, and den_i is at least e^-200, since one of its
//     terms is e^0 and biases lie within ±200. Numbers in double reach e^±708.
//   - Where a bias lies beyond ±200, composed_aft does the work.
//
// In the library of floats, the sums of wide bands are products of floats (`products.h`), and all
// sums are floats while products round to bfloat16. Floats reach e^±87, so they take biases within
// ±16, keys up to m + 32 and values up to 1e12, and keep the m of the first query. In each strip,
// the first query that sees more and all behind it are left to doubles, so that the choice depends
// on keys that a query sees, too.
//
// The backward pass makes the terms again and is the transpose of the forward pass: with
// dnum_i = dy_i / den_i and dden_i = -dnum_i y_i, which are 0 where dy_i is,
//
//     dv_j = t_j Σ_i e^w_ij dnum_i       dk_j = v_j dv_j + t_j Σ_i e^w_ij dden_i
//     dw_ij = e^w_ij Σ (dden_i t_j + dnum_i t_j v_j)     over the channels of a group
//
// Time O(B C (K + T (n + R))) and memory O(B T C + G T (n + R)) for blocks of R = 8 queries with
// AVX-512, and O(K) numbers for each thread. Floats have R = 16.

#include <cmath>
#include <memory>
#include <tuple>
#include <vector>

#include "core/interval.h"
#include "core/machine/allocator.h"
#include "core/machine/matrix.h"
#include "core/machine/parallel.h"
#include "ops/aft.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What sums of a Number take: biases of this size, keys that lie this far above m, and values of
/// this size.
template <class Number>
struct AftRange;
template <>
struct AftRange<double> {
  static constexpr double bias = 200, rise = 200, value = HUGE_VAL;
  /// Whether queries that see more begin anew with another m, and none is left to others.
  static constexpr bool is_endless = true;
};
template <>
struct AftRange<float> {
  static constexpr float bias = 16, rise = 32, value = 1e12f;
  static constexpr bool is_endless = false;
};

/// Neighbouring channels of one batch member, all of one group: what a task works on.
struct AftStrip {
  int64_t number, b, group, channel, width;
  int64_t first;  ///< the first query of the batch member that sees a key, or T
};
inline constexpr int64_t widest_strip = 64;

/// A call of aft_mix, whose tensors `check_aft` has let through.
struct AftProblem {
  Tensor key, value;  // [B, K, C], the channels side by side in memory
  AftBand band;
  Visibility visibility;
  int64_t B = key.size(0), K = key.size(1), C = key.size(2);
  int64_t G = band.bias.size(0), T = band.bias.size(1), n = band.bias.size(2);
  std::vector<AftStrip> strips = all_strips();

  int64_t first(int64_t i) const { return band.start + band.step * i; }
  /// The key after the last one that query i may see.
  int64_t end(int64_t i) const { return visibility.sight.causal ? K - T + i + 1 : K; }
  bool is_padding(int64_t b, int64_t j) const {
    return visibility.padding && visibility.padding->values[static_cast<size_t>(b * K + j)];
  }
  /// The biases of a group [T, n].
  ConstMatrix biases(int64_t group) const;
  /// The keys of query i's band that it may see.
  Interval biased(int64_t i) const;
  std::vector<AftStrip> all_strips() const;
};

/// The queries of a problem in blocks of R, with the room that the weights of a block take.
struct AftBlocks {
  const AftProblem& p;
  int64_t rows;  // R
  int64_t block_size = widest_window() * rows;

  int64_t blocks() const { return divide_up(p.T, rows); }
  /// Room for the weights of a group.
  int64_t group_size() const { return blocks() * block_size; }
  /// The keys between those that come as one sum.
  Interval window(int64_t block) const;
  int64_t widest_window() const;
};

class AftProducts;

/// The weights e^w of all groups: in blocks, or as products take them.
template <class Number>
struct AftWeights : AftBlocks {
  CachedVector<Number> tiles{};
  std::shared_ptr<const AftProducts> products{};

  /// Returns the weights of a strip's group.
  const Number* of(const AftStrip& strip) const {
    return tiles.data() + strip.group * group_size();
  }
};

/// What the forward pass leaves for the backward pass.
struct AftRecord {
  Tensor y;  // [B, T, C]
  /// den [B, T, C] of queries that see a key, in the Number that it was summed up in.
  std::tuple<CachedArray<double>, CachedArray<float>> totals;
  /// The first query of each strip that is left to doubles, and whether floats did those before it.
  std::vector<int64_t> begins;
  bool in_floats = false;

  template <class Number>
  Number* total() const {
    return std::get<CachedArray<Number>>(totals).data();
  }
};

/// Where the gradients of a strip are added; `bias` has the places of the weights, or is null.
struct AftGradients {
  OpenGradient key, value;
  Scalar* bias;
};

/// The kernel for one instruction set, with vectors of Numbers.
template <class Number>
struct AftKernel {
  int64_t rows;
  /// Computes e^w of one block in one group, [window, R]; 0 where a query does not see the key.
  /// Returns whether all biases lie within the range.
  bool (*weights)(const AftBlocks& blocks, int64_t group, int64_t block, Number* to);
  /// Computes y and den of a strip, from query `begin` up to the one that it returns: T, or the
  /// first that sees what is beyond the range of floats.
  int64_t (*forward)(const AftWeights<Number>& weights, const AftStrip& strip, int64_t begin,
                     AftRecord& record);
  /// Adds to the gradients of a strip what the same queries give, for the gradient dy of y.
  void (*backward)(const AftWeights<Number>& weights, const AftStrip& strip, int64_t begin,
                   const AftRecord& record, const Tensor& dy, const AftGradients& gradients);
};

// Each kernel() returns the kernel for this CPU.
namespace aft::in_doubles {
using Number = double;
extern const AftKernel<double>& (*const kernel)();
/// Computes y of a strip for queries that come one after the other, as aft_step says.
extern void (*const step)(const AftProblem& p, const AftStrip& strip, AftSums& sums,
                          const Tensor& y);
}  // namespace aft::in_doubles
namespace aft::in_floats {
using Number = float;
extern const AftKernel<float>& (*const kernel)();
}  // namespace aft::in_floats

/// Computes y and fills the record. Returns false, and does nothing, where a bias is too large.
bool aft_forward(const AftProblem& p, AftRecord& record);
/// Adds to the gradients of key, value and bias, given the gradient of y.
void aft_backward(const AftProblem& p, const AftRecord& record, const Tensor& dy);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
