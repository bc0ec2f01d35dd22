#include "ops/aft/products.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/machine/parallel.h"
#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The rows that are multiplied at a time: what a core's second cache holds, and whole tiles.
constexpr int64_t block_rows = 96;

/// What a row of E has beyond K: a line, so that where K is a page, its columns do not push one
/// another out of the cache.
constexpr int64_t padding = 16;

/// c = a b, block by block of rows.
void multiply(const Factor& a, const Factor& b, const Band& of_a, Interval rows, const Matrix& c) {
  for (int64_t first = rows.begin; first < rows.end; first += block_rows) {
    int64_t count = std::min(block_rows, rows.end - first);
    tile_product(1, a.rows_from(first, count), b, 0, c.rows_from(first, count),
                 of_a.rows_from(first));
  }
}

}  // namespace

AftProducts::AftProducts(const AftProblem& p, Pass pass) : p_(p) {
  const bool transposed = pass == Pass::backward;
  if (p.visibility.sight.causal) seen_.highest = p.K - p.T;
  for (int64_t group = 0; group < p.G; ++group) {
    weights_.emplace_back(p.T, p.K + padding);
    panels_.emplace_back(left_panel_count(p.T, p.K));
  }
  std::atomic<bool> fit = true;
  factors_.resize(static_cast<size_t>(p.G));
  if (transposed) kept_.resize(p.strips.size());
  const int64_t blocks = divide_up(p.T, block_rows);
  parallel_for(p.G * blocks, [&](int64_t n) {
    const int64_t group = n / blocks, first = n % blocks * block_rows;
    const int64_t count = std::min(block_rows, p.T - first);
    for (int64_t i = first; i < first + count; ++i)
      if (!make_weights(group, i)) fit = false;
    const ConstMatrix all = weights_[group].matrix.columns_from(0, p.K);
    const Factor factor =
        transposed ? pack_left_part(all.transposed(), panels_[group].data(), 0, p.K, first, count)
                   : pack_left_part(all, panels_[group].data(), first, count, 0, p.K);
    if (first == 0) factors_[group] = factor;
  });
  fit_ = fit;
}

/// Computes E for one query. Returns whether its biases lie within the range.
bool AftProducts::make_weights(int64_t group, int64_t i) const {
  const ConstMatrix biases = p_.biases(group);
  Scalar* row = &weights_[group].matrix.at(i, 0);
  const auto [begin, end] = p_.biased(i);
  bool fit = true;
  std::fill_n(row, p_.end(i), Scalar{1});
  std::fill_n(row + p_.end(i), p_.K - p_.end(i), Scalar{0});
  for (int64_t j = begin; j < end; ++j) {
    row[j] = biases.at(i, j - p_.first(i));
    fit &= std::abs(row[j]) <= AftRange<float>::bias;
  }
  if (fit) simd::exp_minus(row + begin, 0, row + begin, end - begin);
  return fit;
}

void AftProducts::mix(const AftStrip& strip, Interval queries, const ConstMatrix& terms,
                      const Matrix& sums) const {
  const Packed right(terms, true);
  multiply(factors_[strip.group], right.in_one(), seen_, queries, sums);
}

void AftProducts::spread(const AftStrip& strip, const ConstMatrix& passed, const ConstMatrix& terms,
                         const Matrix& received) const {
  const ConstMatrix rows = passed.rows_from(0, p_.T);
  const Packed right(rows, true);
  multiply(factors_[strip.group], right.in_one(), seen_.transposed(), {0, p_.K}, received);
  kept_[strip.number] = Factors{MatrixCopy(rows), Packed(terms.transposed(), true)};
}

void AftProducts::add_bias_gradient(const Tensor& sum) const {
  const int64_t blocks = divide_up(p_.T, block_rows);
  parallel_for(p_.G * blocks, [&](int64_t n) {
    const int64_t group = n / blocks, first = n % blocks * block_rows;
    const int64_t count = std::min(block_rows, p_.T - first);
    const MatrixCopy all(count, p_.K);
    Scalar begun = 0;
    for (const AftStrip& strip : p_.strips) {
      const std::optional<Factors>& kept = kept_[strip.number];
      if (strip.group != group || !kept) continue;
      const ConstMatrix passed = kept->passed.matrix.rows_from(first, count);
      tile_product(1, passed, kept->terms.in_one(), begun, all.matrix, {}, seen_.rows_from(first));
      begun = 1;
    }
    for (int64_t i = first; begun != 0 && i < first + count; ++i) {
      const auto [begin, end] = p_.biased(i);
      const Scalar* e = &weights_[group].matrix.at(i, 0);
      Scalar* to = sum.mutable_data() + (group * p_.T + i) * p_.n - p_.first(i);
      for (int64_t j = begin; j < end; ++j) to[j] += e[j] * all.matrix.at(i - first, j);
    }
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
