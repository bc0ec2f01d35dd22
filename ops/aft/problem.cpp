// Cuts the work of `aft_mix` into strips of channels, and gives them to the kernel.

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "ops/aft/kernel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

int64_t AftProblem::first_query(int64_t b) const {
  int64_t j = 0, i = 0;
  while (j < K && is_padding(b, j)) ++j;
  while (i < T && end(i) <= j) ++i;
  return i;
}

Span AftProblem::biased(int64_t i) const {
  int64_t begin = std::clamp<int64_t>(first(i), 0, end(i));
  return {begin, std::clamp<int64_t>(first(i) + n, begin, end(i))};
}

Span AftProblem::window(int64_t block) const {
  int64_t query = block * rows, last = std::min(T, query + rows) - 1;
  int64_t begin = std::clamp<int64_t>(first(query), 0, end(query));
  if (visibility.sight.causal) return {begin, end(last)};
  return {begin, std::clamp<int64_t>(first(last) + n, begin, K)};
}

int64_t AftProblem::widest_window() const {
  int64_t widest = 0;
  for (int64_t block = 0; block < blocks(); ++block)
    widest = std::max(widest, window(block).size());
  return widest;
}

std::vector<AftStrip> AftProblem::strips() const {
  std::vector<AftStrip> result;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t group = 0; group < G; ++group)
      for (int64_t c = 0; c < C / G; c += widest_strip)
        result.push_back({b, group, group * (C / G) + c, std::min(widest_strip, C / G - c)});
  return result;
}

namespace {

/// Returns e^w for the blocks of all groups, or nothing where a bias is too large.
std::optional<CachedVector<double>> weights_of(const AftProblem& p) {
  CachedVector<double> all(static_cast<size_t>(p.G * p.group_size()));
  std::atomic<bool> fit = true;
  parallel_each(p.G * p.blocks(), 1 + 10000 / (p.block_size + 1), [&](int64_t n) {
    if (!p.kernel.weights(p, n / p.blocks(), n % p.blocks(), all.data() + n * p.block_size))
      fit = false;
  });
  if (!fit) return std::nullopt;
  return all;
}

/// The number of strips that are worth a task.
int64_t grain(const AftProblem& p) {
  int64_t terms = (p.K * 8 + p.group_size()) * widest_strip;
  return 1 + 200000 / (terms + 1);
}

/// The most parts that the gradient of the biases is made in. Each takes memory, so large ones are
/// few.
int64_t most_parts(const AftProblem& p) {
  constexpr int64_t room = 1 << 22;
  return std::clamp<int64_t>(room / (p.G * p.group_size() + 1), 4, 16);
}

/// Adds parts [parts, G, blocks, block_size] up to the gradient of the biases.
void add_bias_gradient(const AftProblem& p, const CachedVector<Scalar>& all, int64_t parts) {
  Tensor sum = Tensor::zeros({p.G, p.T, p.n});
  Scalar* data = sum.mutable_data();
  parallel_each(p.G * p.T, 16, [&](int64_t row) {
    int64_t i = row % p.T, block = i / p.rows, window = p.window(block).begin;
    auto [begin, end] = p.biased(i);
    for (int64_t part = 0; part < parts; ++part) {
      const Scalar* from = all.data() + (part * p.G + row / p.T) * p.group_size() +
                           block * p.block_size + i % p.rows;
      for (int64_t j = begin; j < end; ++j)
        data[row * p.n + j - p.first(i)] += from[(j - window) * p.rows];
    }
  });
  accumulate(p.band.bias.open_gradient(), sum);
}

}  // namespace

bool aft_forward(const AftProblem& p, AftRecord& record) {
  std::optional<CachedVector<double>> weights = weights_of(p);
  if (!weights) return false;
  record.y = Tensor::empty({p.B, p.T, p.C});
  record.total.resize(static_cast<size_t>(p.B * p.T * p.C));
  std::vector<AftStrip> strips = p.strips();
  parallel_each(std::ssize(strips), grain(p), [&](int64_t n) {
    const AftStrip& strip = strips[static_cast<size_t>(n)];
    p.kernel.forward(p, strip, weights->data() + strip.group * p.group_size(), record);
  });
  return true;
}

void aft_backward(const AftProblem& p, const AftRecord& record, const Tensor& dy) {
  std::optional<CachedVector<double>> weights = weights_of(p);
  std::vector<AftStrip> strips = p.strips();
  int64_t count = std::ssize(strips), size = p.G * p.group_size();
  bool biased = p.band.bias.requires_gradient() && p.n > 0;
  int64_t tasks = divide_up(count, grain(p));
  if (biased) tasks = std::min(tasks, most_parts(p));
  CachedVector<Scalar> bias(static_cast<size_t>(biased ? tasks * size : 0));
  OpenGradient key = p.key.open_gradient(), value = p.value.open_gradient();
  parallel_for(tasks, [&](int64_t task) {
    for (int64_t n = task * count / tasks; n < (task + 1) * count / tasks; ++n) {
      const AftStrip& strip = strips[static_cast<size_t>(n)];
      int64_t group = strip.group * p.group_size();
      p.kernel.backward(p, strip, weights->data() + group, record, dy,
                        {key, value, biased ? bias.data() + task * size + group : nullptr});
    }
  });
  if (biased) add_bias_gradient(p, bias, tasks);
  if (p.n == 0) cleared(p.band.bias.open_gradient());
}

AftSums aft_no_sums(int64_t B, int64_t C) {
  AftSums sums{{B, 3, C}, std::vector<double>(static_cast<size_t>(B * 3 * C))};
  // Every key but -inf is greater than the least number, and -inf counts for nothing beside it.
  for (int64_t n = 0; n < B; ++n)
    std::fill_n(sums.values.begin() + n * 3 * C, C, std::numeric_limits<double>::lowest());
  return sums;
}

Tensor aft_step(const Tensor& key, const Tensor& value, const AftBand& band, AftSums& sums) {
  const Visibility visibility{.sight = {}};
  check_aft(key, value, band, visibility);
  AftProblem p{with_own_rows(key), with_own_rows(value), band, visibility};
  Dims expected{p.B, 3, p.C};
  require(sums.shape == expected, "aft_step: sums ", sums.shape, ", expected ", expected);
  require_complete("aft_step", "sums", sums);
  Tensor y = Tensor::empty({p.B, p.T, p.C});
  std::vector<AftStrip> strips = p.strips();
  parallel_each(std::ssize(strips), grain(p),
                [&](int64_t n) { p.kernel.step(p, strips[static_cast<size_t>(n)], sums, y); });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
