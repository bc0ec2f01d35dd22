#pragma once

// The sums of `aft_mix`, by a kernel in double precision. With t_j = e^(k_j - m) for one number m a
// channel, which cancels,
//
//     den_i = Σ_j e^w_ij t_j       num_i = Σ_j e^w_ij t_j v_j       y_i = num_i / den_i
//
// As many queries as a vector has numbers are a block. Keys before all bands of a block, and those
// after them, have w = 0 for all its queries and come as one sum:
//
//                 summed up       window           hidden
//                | 1 1 1 1 1 1 | w w w . . . . | . . . .      a block of 4 queries, a causal
//                | 1 1 1 1 1 1 | 1 w w w . . . | . . . .      band of n = 3. A window has n keys
//                | 1 1 1 1 1 1 | 1 1 w w w . . | . . . .      and one less than the block has
//                | 1 1 1 1 1 1 | 1 1 1 w w w . | . . . .      queries.
//
// Nothing is multiplied by 0 to be left out: no query meets a key that it does not see, so no bit
// of it can depend on one. What its own keys are does not matter either:
//
//   - m is the greatest key that the first query sees, and a query with a key above m + 200 begins
//     anew, with its own greatest key for m and all terms made again. Between are all sums of any
//     keys a double: e^(200 + 200), times a value, is far from its limit of e^709.
//   - den_i is at least e^-200, since m is one of its keys, and biases lie within ±200. Others have
//     no kernel (aft.cpp).
//
// Time O(B C (K + T (n + 8))), memory O(B T C + G T (n + 8)), and O(K) for each thread.

#include <algorithm>
#include <vector>

#include "shiftgrad/core/machine/allocator.h"
#include "shiftgrad/ops/aft.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct AftKernel;

struct Span {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Neighbouring channels of one batch member, all of one group: what a task works on.
struct AftStrip {
  int64_t b, group, channel, width;
};
inline constexpr int64_t widest_strip = 64;

/// The greatest size of a position bias, and how far above m a key may lie.
inline constexpr double greatest_bias = 200, greatest_rise = 200;

struct AftProblem {
  Tensor key, value;  // [B, K, C], the channels side by side in memory
  Tensor bias;        // [G, T, n]
  int64_t B, T, K, C, G, n, start, step;
  Visibility visibility;
  const AftKernel& kernel;
  int64_t rows;        // queries in a block
  int64_t block_size;  // room for the widest window of a block, rows numbers for each key

  /// Sets up the problem from tensors that `check_aft` has let through.
  AftProblem(const Tensor& key, const Tensor& value, const AftBand& band,
             const Visibility& visibility);

  int64_t first(int64_t i) const { return start + step * i; }
  /// The key after the last one that query i may see.
  int64_t end(int64_t i) const { return visibility.causal ? K - T + i + 1 : K; }
  bool is_padding(int64_t b, int64_t j) const {
    return visibility.padding && visibility.padding->values[static_cast<size_t>(b * K + j)];
  }
  /// The first query that sees a key, or T.
  int64_t first_query(int64_t b) const;
  /// The keys of query i's band that it may see.
  Span band(int64_t i) const;

  int64_t blocks() const { return (T + rows - 1) / rows; }
  /// The keys between those that come as one sum.
  Span window(int64_t block) const;
  std::vector<AftStrip> strips() const;
};

/// The gradient of the keys or of the values, written in place; without data there is none.
struct TokenGradient {
  Scalar* data = nullptr;
  int64_t member_stride = 0, token_stride = 0;
  Scalar beta = 0;

  explicit TokenGradient(const GradientSink& sink);
};

/// What the forward pass leaves for the backward pass.
struct AftRecord {
  Tensor y;                    // [B, T, C]
  CachedVector<double> total;  // den [B, T, C], of queries that see a key
};

/// Gradients of what a strip was made of; `bias` has the places of the weights, or is null.
struct AftGradients {
  TokenGradient key, value;
  Scalar* bias;
};

/// The kernel for one instruction set.
struct AftKernel {
  int64_t rows;
  /// Computes e^w of one block in one group, [window, rows]; 0 where a query does not see the key.
  /// Returns whether all biases lie within greatest_bias.
  bool (*weights)(const AftProblem& p, int64_t group, int64_t block, double* to);
  /// Computes y and den of a strip, from the weights of all blocks in its group.
  void (*forward)(const AftProblem& p, const AftStrip& strip, const double* weights,
                  AftRecord& record);
  /// Adds to the gradients of a strip, given the gradient of y.
  void (*backward)(const AftProblem& p, const AftStrip& strip, const double* weights,
                   const AftRecord& record, const Tensor& dy, const AftGradients& gradients);
};
const AftKernel& aft_kernel();

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
