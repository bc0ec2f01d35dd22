#pragma once

// The sums of `aft_mix` for a block of R queries at a time, as matrix products. With one reference
// m for each channel of a block,
//
//     num_i = far_num + Σ_j W_ij e^(k_j - m) v_j       den_i = far_den + Σ_j W_ij e^(k_j - m)
//
//     y_i = num_i / den_i       W_ij = e^(w_ij - top_i), or 0 where i does not see j
//
// where w is 0 outside the band and top_i, the greatest w of row i, cancels. Keys come in blocks of
// R too, and the borders of both fall together:
//
//                  far keys:          near keys:
//                  shared sums        W, a product        hidden
//                |        |        | 1 w w w . . . . |        |
//     a block of |        |        | 1 1 w w w . . . |        |      R = 4, a causal
//     R queries  |        |        | 1 1 1 w w w . . |        |      band of n = 3
//                |        |        | 1 1 1 1 w w w . |        |
//
// A query's bits must show nothing of a later token, which a product multiplies by 0. So
//
//   - m is the greatest key that the block's first query sees, hence one that all of them see;
//   - a later key of the block that is too large against m, in itself or times its value, is 0 in
//     the product of that channel, and the queries that see it are computed one by one there;
//   - queries whose den is too small to be exact, since the key of m has a very negative w, are
//     computed one by one too.
//
// What a query itself sees decides whether it is one of these.
//
// Time O(B C (K + T (n + R))), memory O(B C (K + T)), and O(R (n + R + C)) for each thread.

#include <vector>

#include "shiftgrad/core/machine/blas.h"
#include "shiftgrad/ops/aft.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct Span {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Neighbouring channels, all of one group.
struct AftPiece {
  int64_t channel, width;
};

/// Work that shares one W: a block of queries or of keys, a group, and some batch members.
struct AftTask {
  int64_t block, group, chunk;
  Span members;
};

struct AftProblem {
  Tensor key, value;  // [B, K, C], the channels side by side in memory
  Tensor bias;        // [G, T, n]
  int64_t B, T, K, C, G, n, start, step;
  Visibility visibility;
  std::vector<int64_t> first_keys;  // by batch member, the first that is not padding, or K

  /// Sets up the problem from tensors that `check_aft` has let through.
  AftProblem(const Tensor& key, const Tensor& value, const AftBand& band,
             const Visibility& visibility);

  int64_t first(int64_t i) const { return start + step * i; }
  /// The key after the last one that query i may see.
  int64_t end(int64_t i) const { return visibility.causal ? K - T + i + 1 : K; }
  /// The keys of query i's band that it may see.
  Span band(int64_t i) const;
  Scalar bias_at(int64_t group, int64_t i, int64_t j) const;
  bool is_padding(int64_t b, int64_t j) const {
    return visibility.padding && visibility.padding->values[b * K + j];
  }
  const Scalar* key_row(int64_t b, int64_t j) const { return row(key, b, j); }
  const Scalar* value_row(int64_t b, int64_t j) const { return row(value, b, j); }

  /// R, the number of queries in a block: wide bands share their far keys less often.
  int64_t rows() const { return n <= 32 ? 32 : 64; }
  int64_t query_blocks() const { return (T + rows() - 1) / rows(); }
  int64_t key_blocks() const { return (K + shift() + rows() - 1) / rows(); }
  int64_t key_block_of(int64_t j) const { return (j + shift()) / rows(); }
  Span queries(int64_t block) const;
  Span keys(int64_t block) const;
  /// The key blocks that a block of queries takes by a product.
  Span near(int64_t block) const;
  /// The query blocks for which a block of keys is near. Query blocks before these have that block
  /// of keys after their bands, and those after have it before theirs.
  Span queries_near(int64_t key_block) const;

  std::vector<AftPiece> pieces(int64_t group, int64_t widest) const;
  std::vector<AftPiece> all_pieces(int64_t widest) const;
  /// The number of parts that the batch is cut into, so that all threads have work.
  int64_t chunks() const;
  int64_t tasks(int64_t blocks) const { return blocks * G * chunks(); }
  AftTask task(int64_t number) const;

 private:
  static const Scalar* row(const Tensor& x, int64_t b, int64_t j) {
    return x.data() + b * x.layout().strides[0] + j * x.layout().strides[1];
  }
  /// The number of keys missing from the first block.
  int64_t shift() const { return (rows() - (K - T) % rows()) % rows(); }
};

/// A (query, channel) of one batch member that is computed by itself.
struct AftSingle {
  int64_t query, channel;
  Scalar log_total = 0;  // log Σ_j e^(k_j + w_ij) - m
};

/// Sums over all keys before (or after) each border in a sequence of key blocks: max k, Σ
/// e^(k - max) v and Σ e^(k - max), [B, key blocks + 1, 3, C].
struct AftFarSums {
  Tensor sums;

  const Scalar* maximum(int64_t b, int64_t border) const { return at(b, border, 0); }
  const Scalar* numerator(int64_t b, int64_t border) const { return at(b, border, 1); }
  const Scalar* denominator(int64_t b, int64_t border) const { return at(b, border, 2); }

 private:
  const Scalar* at(int64_t b, int64_t border, int64_t which) const {
    return sums.data() + ((b * sums.size(1) + border) * 3 + which) * sums.size(3);
  }
};

/// What the forward pass leaves for the backward pass.
struct AftRecord {
  Tensor y;                  // [B, T, C]
  Tensor inverse;            // [B, T, C], 1 / den; 0 without a key and for singles
  Tensor reference;          // [B, query blocks, C], m
  Tensor top;                // [G, T]
  AftFarSums before, after;  // after: two-way only
  std::vector<std::vector<AftSingle>> singles;  // by batch member, query block and group

  explicit AftRecord(const AftProblem& p);
  const Scalar* reference_row(int64_t b, int64_t block) const {
    return reference.data() + (b * reference.size(1) + block) * reference.size(2);
  }
  const std::vector<AftSingle>& singles_of(int64_t b, int64_t block, int64_t group) const {
    return singles[index(b, block, group)];
  }
  std::vector<AftSingle>& singles_of(int64_t b, int64_t block, int64_t group) {
    return singles[index(b, block, group)];
  }

 private:
  size_t index(int64_t b, int64_t block, int64_t group) const {
    return static_cast<size_t>((b * reference.size(1) + block) * top.size(0) + group);
  }
};

/// The most channels that a product takes at a time, and the most that far sums take.
inline constexpr int64_t widest_product = 256, widest_sum = 64;

/// The largest term that takes part in a product; its inverse is the smallest sum to divide by.
inline constexpr Scalar largest_term = sizeof(Scalar) == 8 ? 1e100 : 1e12;

/// Compute the sums over the keys before each border, and over those after it.
AftFarSums aft_sums_before(const AftProblem& p);
AftFarSums aft_sums_after(const AftProblem& p);

/// Computes top_i for all rows.
void aft_top(const AftProblem& p, const Tensor& top);
/// Computes W for a block of queries against neighbouring keys.
void aft_weights(const AftProblem& p, const Tensor& top, int64_t group, Span queries, Span keys,
                 const Matrix& weights);

/// Computes e^(k - m) and beside it e^(k - m) v, [keys, 2 width]. Both are 0 for padding, and for
/// keys from `seen` on that are too large; such keys are noted in first_unfit [width] if that is
/// given.
void aft_terms(const AftProblem& p, int64_t b, const AftPiece& piece, Span keys, int64_t seen,
               const Scalar* reference, const Matrix& terms, int64_t* first_unfit);

/// Computes y and fills the record.
void aft_forward(const AftProblem& p, AftRecord& record);
/// Adds to the gradients of key, value and bias, given the gradient of y.
void aft_backward(const AftProblem& p, const AftRecord& record, const Tensor& dy);

/// What queries pass on to their sums in the backward pass, [dden | dnum] piece by piece.
struct AftPassed {
  Tensor near;           // [B, T, 2C]
  Tensor behind, ahead;  // [B, query blocks, 2C], to the far keys, relative to their maximum
  Tensor dy;             // [B, T, C]

  Scalar* of_query(int64_t b, int64_t i, const AftPiece& piece) const {
    return row(near, b, i) + 2 * piece.channel;
  }
  static Scalar* row(const Tensor& x, int64_t b, int64_t t) {
    return x.mutable_data() + (b * x.size(1) + t) * x.size(2);
  }
};

/// Computes what queries pass on, given dy, the gradient of y. Singles pass on nothing.
AftPassed aft_pass_on(const AftProblem& p, const AftRecord& record, const Tensor& dy);

/// Computes y, log_total and inverse of a single.
void aft_single(const AftProblem& p, AftRecord& record, int64_t b, int64_t group,
                AftSingle& single);
/// What a single gives to a near key j when its y has the gradient dy; the bias of j gets dkey too.
struct AftSingleGradient {
  Scalar dkey, dvalue;
};
AftSingleGradient aft_single_gradient(const AftProblem& p, const AftRecord& record, Scalar dy,
                                      int64_t b, int64_t group, const AftSingle& single, int64_t j);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
