// Gives the strips of `aft_mix` to the kernel of doubles, or first to that of floats.

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/kernel.h"
#include "core/machine/parallel.h"
#include "ops/aft/products.h"
#include "ops/dense_rows.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Whether to add up in floats what they take. Sums are so many keys long at most that their
/// rounding is less than bfloat16's.
bool sums_are_floats(const AftProblem& p) {
  constexpr int64_t most_keys = 1 << 16;
  return aft::in_floats::kernel && p.K <= most_keys && (products_round() || AftProducts::serve(p));
}

template <class Number>
const AftKernel<Number>& kernel_of() {
  if constexpr (std::is_same_v<Number, double>)
    return aft::in_doubles::kernel();
  else
    return aft::in_floats::kernel();
}

/// Returns the weights of one pass: products where they serve floats, otherwise e^w in blocks.
/// Returns nothing where a bias is too large.
template <class Number>
std::optional<AftWeights<Number>> weights_of(const AftProblem& p, AftProducts::Pass pass) {
  AftWeights<Number> all{{p, kernel_of<Number>().rows}};
  std::atomic<bool> fit = true;
  if (std::is_same_v<Number, float> && AftProducts::serve(p)) {
    auto products = std::make_shared<AftProducts>(p, pass);
    fit = products->fit();
    all.products = std::move(products);
  } else {
    all.tiles.resize(static_cast<size_t>(p.G * all.group_size()));
    parallel_each(p.G * all.blocks(), 1 + 10000 / (all.block_size + 1), [&](int64_t n) {
      int64_t group = n / all.blocks(), block = n % all.blocks();
      Number* to = all.tiles.data() + n * all.block_size;
      if (!kernel_of<Number>().weights(all, group, block, to)) fit = false;
    });
  }
  if (!fit) return std::nullopt;
  return all;
}

/// The number of strips that are worth a task.
int64_t grain(const AftBlocks& blocks) {
  int64_t terms = (blocks.p.K * 8 + blocks.group_size()) * widest_strip;
  return 1 + 200000 / (terms + 1);
}

/// The most parts that the gradient of the biases is made in. Each takes memory, so large ones are
/// few.
int64_t most_parts(const AftBlocks& blocks) {
  constexpr int64_t room = 1 << 22;
  return std::clamp<int64_t>(room / (blocks.p.G * blocks.group_size() + 1), 4, 16);
}

/// Adds parts [parts, G, blocks, block_size] up in `sum`, the gradient of the biases.
void add_bias_gradient(const AftBlocks& blocks, const CachedVector<Scalar>& all, int64_t parts,
                       const Tensor& sum) {
  const AftProblem& p = blocks.p;
  Scalar* data = sum.mutable_data();
  parallel_each(p.G * p.T, 16, [&](int64_t row) {
    int64_t i = row % p.T, block = i / blocks.rows, window = blocks.window(block).begin;
    auto [begin, end] = p.biased(i);
    for (int64_t part = 0; part < parts; ++part) {
      const Scalar* from = all.data() + (part * p.G + row / p.T) * blocks.group_size() +
                           block * blocks.block_size + i % blocks.rows;
      for (int64_t j = begin; j < end; ++j)
        data[row * p.n + j - p.first(i)] += from[(j - window) * blocks.rows];
    }
  });
}

/// Computes what of y is left to do in Numbers, and moves `record.begins` behind it where something
/// may be left to doubles. Returns false where a bias is too large.
template <class Number>
bool forward_in(const AftProblem& p, AftRecord& record) {
  const auto weights = weights_of<Number>(p, AftProducts::Pass::forward);
  if (!weights) return false;
  std::get<CachedArray<Number>>(record.totals) = CachedArray<Number>(p.B * p.T * p.C);
  parallel_each(std::ssize(p.strips), grain(*weights), [&](int64_t n) {
    int64_t& begin = record.begins[n];
    if (record.in_floats && begin == p.T) return;
    const AftStrip& strip = p.strips[n];
    int64_t end = kernel_of<Number>().forward(*weights, strip, begin, record);
    if (!AftRange<Number>::is_endless) begin = end;
  });
  return true;
}

/// Adds the gradients of the strips' queries that were computed in Numbers; those of the biases to
/// `sum`, if it is defined.
template <class Number>
void backward_in(const AftProblem& p, const AftRecord& record, const Tensor& dy,
                 const OpenGradient& key, const OpenGradient& value, const Tensor& sum) {
  const auto weights = *weights_of<Number>(p, AftProducts::Pass::backward);
  int64_t count = std::ssize(p.strips), size = p.G * weights.group_size();
  bool in_parts = sum.defined() && !weights.products;
  int64_t tasks = divide_up(count, grain(weights));
  if (in_parts) tasks = std::min(tasks, most_parts(weights));
  CachedVector<Scalar> bias(static_cast<size_t>(in_parts ? tasks * size : 0));
  parallel_for(tasks, [&](int64_t task) {
    for (int64_t n = task * count / tasks; n < (task + 1) * count / tasks; ++n) {
      const AftStrip& strip = p.strips[n];
      int64_t begin = strip.first;
      if (AftRange<Number>::is_endless) begin = record.begins[n];
      if (AftRange<Number>::is_endless && record.in_floats && begin == p.T) continue;
      int64_t place = task * size + strip.group * weights.group_size();
      kernel_of<Number>().backward(weights, strip, begin, record, dy,
                                   {key, value, in_parts ? bias.data() + place : nullptr});
    }
  });
  if (in_parts) add_bias_gradient(weights, bias, tasks, sum);
  if (sum.defined() && weights.products) weights.products->add_bias_gradient(sum);
}

/// Whether floats have left queries to doubles.
bool leaves_queries(const AftProblem& p, const AftRecord& record) {
  return !record.in_floats ||
         std::ranges::any_of(record.begins, [&](int64_t begin) { return begin < p.T; });
}

}  // namespace

bool aft_forward(const AftProblem& p, AftRecord& record) {
  record.y = Tensor::empty({p.B, p.T, p.C});
  for (const AftStrip& strip : p.strips) record.begins.push_back(strip.first);
  record.in_floats = sums_are_floats(p) && forward_in<float>(p, record);
  return !leaves_queries(p, record) || forward_in<double>(p, record);
}

void aft_backward(const AftProblem& p, const AftRecord& record, const Tensor& dy) {
  Tensor sum;
  if (p.band.bias.requires_gradient() && p.n > 0) sum = Tensor::zeros({p.G, p.T, p.n});
  OpenGradient key = p.key.open_gradient(), value = p.value.open_gradient();
  if (record.in_floats) backward_in<float>(p, record, dy, key, value, sum);
  if (leaves_queries(p, record)) backward_in<double>(p, record, dy, key, value, sum);
  if (sum.defined()) accumulate(p.band.bias.open_gradient(), sum);
  if (p.n == 0) zeroed_target(p.band.bias.open_gradient());
}

AftSums aft_no_sums(int64_t B, int64_t C) {
  AftSums sums{{B, 3, C}, {}};
  within_memory([&] { sums.values.resize(product(sums.shape)); }, "aft: sums of ", sums.shape);
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
  const AftBlocks blocks{p, kernel_of<double>().rows};
  parallel_each(std::ssize(p.strips), grain(blocks),
                [&](int64_t n) { aft::in_doubles::step(p, p.strips[n], sums, y); });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
