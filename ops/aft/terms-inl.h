// The terms of keys, which the kernel of AFT adds up.
//
// A kernel includes this once for each instruction set, so there is no guard.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/machine/parallel.h"
#include "ops/aft/kernel.h"
#include "ops/aft/rows-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

/// The terms of all keys that the queries begin … end-1 see, relative to one m.
class KeyTerms {
 public:
  const AftBlocks& cut;
  const AftProblem& p = cut.p;
  const AftStrip& strip;
  int64_t vectors, begin = 0, end;

  /// Has none yet; the first query is to be `first`.
  KeyTerms(const AftBlocks& blocks, const AftStrip& of, int64_t first, bool in_matrix)
      : cut(blocks),
        strip(of),
        vectors(divide_up(of.width, lanes)),
        end(first),
        rows_(vectors, p.K, in_matrix) {}

  Matrix matrix() const { return rows_.matrix(); }

  Pair* row(int64_t x, int64_t j) const { return rows_.row(x, j); }
  Interval blocks() const { return {begin / lanes, divide_up(end, lanes)}; }
  /// The number of channels from those of vector x on.
  int64_t left(int64_t x) const { return strip.width - x * lanes; }
  /// Returns the place of query i's vector x in an array [B, T, C].
  int64_t place(int64_t x, int64_t i) const {
    return (strip.b * p.T + i) * p.C + strip.channel + x * lanes;
  }

  /// Returns the place of key j in a tensor [B, K, C] of any layout.
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
    if (!Range::is_endless && !begins_within_range(keys)) {
      end = begin;
      return false;
    }
    for (int64_t j = 0; j < keys; ++j) make(j);
    for (++end; end < p.T; ++end)
      for (; keys < p.end(end); ++keys) {
        if (!fits(keys)) return true;
        make(keys);
      }
    return true;
  }

 private:
  using Range = AftRange<Number>;
  static constexpr Scalar least = std::numeric_limits<Scalar>::lowest();

  PairRows rows_;
  Vector reference_[widest_strip / lanes];  // m
  Scalar limit_[widest_strip];              // the greatest key for which m will do

  const Scalar* token(const Tensor& from, int64_t j) const { return from.data() + offset(from, j); }
  Vector load_row(const Tensor& from, int64_t x, int64_t j) const {
    return load(token(from, j) + x * lanes, left(x));
  }

  void choose_reference(int64_t keys) {
    for (Vector& m : reference_) m = Vector{} - std::numeric_limits<Number>::infinity();
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t x = 0; x < vectors && !p.is_padding(strip.b, j); ++x) {
        Vector k = load_row(p.key, x, j), m = reference_[x];
        auto kept = (m > k) | (m != m);  // once m is NaN, it stays
        reference_[x] = kept ? m : k;
      }
    for (int64_t c = 0; c < strip.width; ++c)
      limit_[c] = static_cast<Scalar>(reference_[c / lanes][c % lanes] + Range::rise);
  }

  /// Whether m is finite, and the first `keys` keys fit.
  bool begins_within_range(int64_t keys) const {
    auto is_finite = [](Scalar x) { return std::isfinite(x); };
    bool within = std::all_of(limit_, limit_ + strip.width, is_finite);
    for (int64_t j = 0; j < keys; ++j) within = within && fits(j);
    return within;
  }

  bool fits(int64_t j) const {
    if (p.is_padding(strip.b, j)) return true;
    const Scalar *k = token(p.key, j), *v = token(p.value, j);
    int unfit = 0;
    for (int64_t c = 0; c < strip.width; ++c)
      if constexpr (Range::is_endless)
        unfit += !(k[c] <= limit_[c]) & !std::isnan(limit_[c]);
      else
        unfit += !(k[c] <= limit_[c]) + !((std::abs(v[c]) <= Range::value) | (k[c] < least));
    return unfit == 0;
  }

  void make(int64_t j) const {
    for (const Tensor* from : {&p.key, &p.value})
      prefetch(token(*from, std::min(j + rows_ahead, p.K - 1)), strip.width);
    bool padding = p.is_padding(strip.b, j);
    for (int64_t x = 0; x < vectors; ++x) {
      Vector t = padding ? Vector{} : exp(load_row(p.key, x, j) - reference_[x]);
      *row(x, j) = {t, t * chosen(t, load_row(p.value, x, j))};
    }
  }
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
