// Cuts the work of `aft_mix` into strips of channels, and gives them to the kernel.

#include <algorithm>
#include <atomic>

#include "core/accumulate.h"
#include "core/machine/parallel.h"
#include "ops/aft/kernel.h"
#include "ops/dense_rows.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns x, or a copy where its channels do not lie side by side or its rows are broadcast.
Tensor with_own_rows(const Tensor& x) {
  return x.rank() != 3 || has_own_rows(x.layout()) ? x : contiguous(x);
}

}  // namespace

AftProblem::AftProblem(const Tensor& k, const Tensor& v, const AftBand& band,
                       const Visibility& visible)
    : key(with_own_rows(k)),
      value(with_own_rows(v)),
      bias(band.bias),
      B(k.size(0)),
      T(bias.size(1)),
      K(k.size(1)),
      C(k.size(2)),
      G(bias.size(0)),
      n(bias.size(2)),
      start(band.start),
      step(band.step),
      visibility(visible),
      kernel(aft_kernel()),
      rows(kernel.rows) {
  for (int64_t block = 0; block < blocks(); ++block)
    block_size = std::max(block_size, window(block).size() * rows);
}

int64_t AftProblem::first_query(int64_t b) const {
  int64_t j = 0, i = 0;
  while (j < K && is_padding(b, j)) ++j;
  while (i < T && end(i) <= j) ++i;
  return i;
}

Span AftProblem::band(int64_t i) const {
  int64_t begin = std::clamp<int64_t>(first(i), 0, end(i));
  return {begin, std::clamp<int64_t>(first(i) + n, begin, end(i))};
}

Span AftProblem::window(int64_t block) const {
  int64_t query = block * rows, last = std::min(T, query + rows) - 1;
  int64_t begin = std::clamp<int64_t>(first(query), 0, end(query));
  if (visibility.causal) return {begin, end(last)};
  return {begin, std::clamp<int64_t>(first(last) + n, begin, K)};
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

/// e^w for the blocks of all groups.
struct Weights {
  const AftProblem& p;
  CachedVector<double> all;
  std::atomic<bool> fit = true;

  explicit Weights(const AftProblem& problem)
      : p(problem), all(static_cast<size_t>(p.G * p.group_size())) {
    int64_t grain = 1 + 10000 / (p.block_size + 1);
    parallel_ranges(p.G * p.blocks(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        if (!p.kernel.weights(p, n / p.blocks(), n % p.blocks(), all.data() + n * p.block_size))
          fit = false;
    });
  }
  const double* of(const AftStrip& strip) const {
    return all.data() + strip.group * p.group_size();
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

/// Adds parts [parts, G, blocks, block_size] up to the gradient of the biases.
void add_bias_gradient(const AftProblem& p, const CachedVector<Scalar>& all, int64_t parts) {
  Tensor sum = Tensor::zeros({p.G, p.T, p.n});
  Scalar* data = sum.mutable_data();
  parallel_ranges(p.G * p.T, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t i = row % p.T, block = i / p.rows, window = p.window(block).begin;
      Span band = p.band(i);
      for (int64_t part = 0; part < parts; ++part) {
        const Scalar* from = all.data() + (part * p.G + row / p.T) * p.group_size() +
                             block * p.block_size + i % p.rows;
        for (int64_t j = band.begin; j < band.end; ++j)
          data[row * p.n + j - p.first(i)] += from[(j - window) * p.rows];
      }
    }
  });
  accumulate(p.bias.gradient_sink(), sum);
}

}  // namespace

bool aft_forward(const AftProblem& p, AftRecord& record) {
  Weights weights(p);
  if (!weights.fit) return false;
  record.y = Tensor::empty({p.B, p.T, p.C});
  record.total.resize(static_cast<size_t>(p.B * p.T * p.C));
  std::vector<AftStrip> strips = p.strips();
  parallel_ranges(static_cast<int64_t>(strips.size()), grain(p), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const AftStrip& strip = strips[static_cast<size_t>(n)];
      p.kernel.forward(p, strip, weights.of(strip), record);
    }
  });
  return true;
}

void aft_backward(const AftProblem& p, const AftRecord& record, const Tensor& dy) {
  Weights weights(p);
  std::vector<AftStrip> strips = p.strips();
  int64_t count = static_cast<int64_t>(strips.size());
  bool biased = p.bias.requires_gradient() && p.n > 0;
  int64_t tasks = (count + grain(p) - 1) / grain(p);
  if (biased) tasks = std::min(tasks, most_parts(p));
  int64_t size = p.G * p.group_size();
  CachedVector<Scalar> bias(static_cast<size_t>(biased ? tasks * size : 0));
  GradientSink key = p.key.gradient_sink(), value = p.value.gradient_sink();
  parallel_for(tasks, [&](int64_t task) {
    for (int64_t n = task * count / tasks; n < (task + 1) * count / tasks; ++n) {
      const AftStrip& strip = strips[static_cast<size_t>(n)];
      Scalar* to = biased ? bias.data() + task * size + strip.group * p.group_size() : nullptr;
      p.kernel.backward(p, strip, weights.of(strip), record, dy, {key, value, to});
    }
  });
  if (biased) add_bias_gradient(p, bias, tasks);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
