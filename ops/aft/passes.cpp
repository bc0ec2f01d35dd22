// Gives the strips of `aft_mix` to the kernel of doubles, or first to that of floats while products
// round.

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/bfloat16_product.h"
#include "core/machine/parallel.h"
#include "ops/aft/products.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Sums in floats are this many keys long at most, so that their rounding is less than bfloat16's.
constexpr int64_t most_keys_in_floats = 1 << 16;

template <class Number>
const AftKernel<Number>& kernel_of() {
  if constexpr (std::is_same_v<Number, double>)
    return aft::in_doubles::kernel();
  else
    return aft::in_floats::kernel();
}

/// Returns e^w for the blocks of all groups, or nothing where a bias is too large.
template <class Number>
std::optional<CachedVector<Number>> weights_of(const AftProblem& p) {
  CachedVector<Number> all(static_cast<size_t>(p.G * p.group_size()));
  std::atomic<bool> fit = true;
  parallel_each(p.G * p.blocks(), 1 + 10000 / (p.block_size + 1), [&](int64_t n) {
    int64_t group = n / p.blocks(), block = n % p.blocks();
    if (!kernel_of<Number>().weights(p, group, block, all.data() + n * p.block_size)) fit = false;
  });
  if (!fit) return std::nullopt;
  return all;
}

/// The weights of one pass: products where they serve floats, otherwise e^w.
template <class Number>
struct Weights : AftWeights<Number> {
  std::optional<AftProducts> wide{};
  bool fit = true;

  Weights(const AftProblem& p, AftProducts::Pass pass) {
    if (std::is_same_v<Number, float> && AftProducts::serve(p)) {
      this->products = &wide.emplace(p, pass);
      fit = wide->fit();
    } else if (auto all = weights_of<Number>(p)) {
      this->tiles = std::move(*all);
    } else {
      fit = false;
    }
  }
};

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

/// Adds parts [parts, G, blocks, block_size] up in `sum`, the gradient of the biases.
void add_bias_gradient(const AftProblem& p, const CachedVector<Scalar>& all, int64_t parts,
                       const Tensor& sum) {
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
}

/// Computes what of y is left to do in Numbers, and moves the strips' `begin` behind it where
/// something may be left to doubles. Returns false where a bias is too large.
template <class Number>
bool forward_in(const AftProblem& problem, AftRecord& record) {
  AftProblem p = problem.in_blocks_of(kernel_of<Number>().rows);
  const Weights<Number> weights(p, AftProducts::Pass::forward);
  if (!weights.fit) return false;
  std::get<CachedVector<Number>>(record.totals).resize(static_cast<size_t>(p.B * p.T * p.C));
  parallel_each(std::ssize(record.strips), grain(p), [&](int64_t n) {
    AftStrip& strip = record.strips[static_cast<size_t>(n)];
    if (record.in_floats && strip.begin == p.T) return;
    int64_t end = kernel_of<Number>().forward(p, strip, weights, record);
    if (!AftRange<Number>::is_endless) strip.begin = end;
  });
  return true;
}

/// Adds the gradients of the strips' queries that were computed in Numbers; those of the biases to
/// `sum`, if it is defined.
template <class Number>
void backward_in(const AftProblem& problem, const std::vector<AftStrip>& strips,
                 const AftRecord& record, const Tensor& dy, const OpenGradient& key,
                 const OpenGradient& value, const Tensor& sum) {
  AftProblem p = problem.in_blocks_of(kernel_of<Number>().rows);
  const Weights<Number> weights(p, AftProducts::Pass::backward);
  int64_t count = std::ssize(strips), size = p.G * p.group_size();
  bool in_parts = sum.defined() && !weights.products;
  int64_t tasks = divide_up(count, grain(p));
  if (in_parts) tasks = std::min(tasks, most_parts(p));
  CachedVector<Scalar> bias(static_cast<size_t>(in_parts ? tasks * size : 0));
  parallel_for(tasks, [&](int64_t task) {
    for (int64_t n = task * count / tasks; n < (task + 1) * count / tasks; ++n) {
      const AftStrip& strip = strips[static_cast<size_t>(n)];
      if (AftRange<Number>::is_endless && record.in_floats && strip.begin == p.T) continue;
      int64_t place = task * size + strip.group * p.group_size();
      kernel_of<Number>().backward(p, strip, weights, record, dy,
                                   {key, value, in_parts ? bias.data() + place : nullptr});
    }
  });
  if (in_parts) add_bias_gradient(p, bias, tasks, sum);
  if (sum.defined() && weights.products) weights.products->add_bias_gradient(sum);
}

/// Whether floats have left queries to doubles.
bool leaves_queries(const AftProblem& p, const AftRecord& record) {
  return !record.in_floats || std::any_of(record.strips.begin(), record.strips.end(),
                                          [&](const AftStrip& s) { return s.begin < p.T; });
}

}  // namespace

bool aft_forward(const AftProblem& p, AftRecord& record) {
  record.y = Tensor::empty({p.B, p.T, p.C});
  record.strips = p.strips();
  record.in_floats =
      products_round() && p.K <= most_keys_in_floats && forward_in<float>(p, record);
  return !leaves_queries(p, record) || forward_in<double>(p, record);
}

void aft_backward(const AftProblem& p, const AftRecord& record, const Tensor& dy) {
  Tensor sum;
  if (p.band.bias.requires_gradient() && p.n > 0) sum = Tensor::zeros({p.G, p.T, p.n});
  OpenGradient key = p.key.open_gradient(), value = p.value.open_gradient();
  if (record.in_floats) backward_in<float>(p, p.strips(), record, dy, key, value, sum);
  if (leaves_queries(p, record))
    backward_in<double>(p, record.strips, record, dy, key, value, sum);
  if (sum.defined()) accumulate(p.band.bias.open_gradient(), sum);
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
  parallel_each(std::ssize(strips), grain(p), [&](int64_t n) {
    aft::in_doubles::kernel().step(p, strips[static_cast<size_t>(n)], sums, y);
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
