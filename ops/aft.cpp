#include "shiftgrad/ops/aft.h"

#include <algorithm>
#include <atomic>

#include "shiftgrad/core/accumulate.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/core/tape.h"
#include "shiftgrad/ops/aft/kernel.h"
#include "shiftgrad/ops/dense_rows.h"
#include "shiftgrad/ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns x, or a copy where its channels do not lie side by side or its rows are broadcast.
Tensor with_own_rows(const Tensor& x) {
  return x.rank() != 3 || has_own_rows(x.layout()) ? x : contiguous(x);
}

/// y[g, i, c] = beta y[g, i, c] + x[g, i, c + start + step · i], row by row.
void add_shifted(const Tensor& x, int64_t start, int64_t step, Scalar beta, const Tensor& y) {
  int64_t T = x.size(1), columns = x.size(2), width = y.size(2);
  parallel_ranges(x.size(0) * T, 64, [&](int64_t first_row, int64_t end_row) {
    for (int64_t row = first_row; row < end_row; ++row) {
      int64_t shift = start + step * (row % T);
      int64_t begin = std::max<int64_t>(0, -shift), end = std::min(width, columns - shift);
      Scalar* to = y.mutable_data() + row * width;
      if (beta == 0) std::fill_n(to, width, Scalar{0});
      if (begin < end)
        simd::axpby(1, x.data() + row * columns + begin + shift, 1, to + begin, end - begin);
    }
  });
}

}  // namespace

void check_aft(const Tensor& key, const Tensor& value, const AftBand& band,
               const Visibility& visibility) {
  const Tensor& bias = band.bias;
  require_defined("aft", "key", key, "value", value, "the band", bias);
  require(key.rank() == 3 && key.shape() == value.shape(), "aft: keys ", key.shape(),
          " and values ", value.shape(), ", expected [B, K, C] twice");
  require(bias.rank() == 3 && bias.size(0) >= 1 && key.size(2) % bias.size(0) == 0, "aft: biases ",
          bias.shape(), " for ", key.size(2), " channels, expected [G, T, n]");
  int64_t K = key.size(1), T = bias.size(1);
  visibility.check("aft", key.size(0), T, K);
  require(visibility.window == 0, "aft: a window of ", visibility.window,
          ", expected none; a band says which keys have a bias");
  require(T <= K, "aft: ", T, " queries of ", K, " keys");
  require(band.step >= 0, "aft: a band that moves by ", band.step, " a query, expected at least 0");
}

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
      rows(kernel.rows),
      block_size(0) {
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

TokenGradient::TokenGradient(const GradientSink& sink) {
  if (!sink) return;
  data = sink.target.mutable_data();
  member_stride = sink.target.layout().strides[0];
  token_stride = sink.target.layout().strides[1];
  beta = sink.beta;
}

namespace {

/// e^w for the blocks of all groups, each with room for `block_size` of them.
struct Weights {
  CachedVector<double> all;
  bool fit;

  explicit Weights(const AftProblem& p)
      : all(static_cast<size_t>(p.G * p.blocks() * p.block_size)) {
    std::atomic<bool> fitting = true;
    int64_t grain = 1 + 10000 / (p.block_size + 1);
    parallel_ranges(p.G * p.blocks(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        if (!p.kernel.weights(p, n / p.blocks(), n % p.blocks(), all.data() + n * p.block_size))
          fitting = false;
    });
    fit = fitting;
  }
  const double* of(const AftProblem& p, const AftStrip& strip) const {
    return all.data() + strip.group * p.blocks() * p.block_size;
  }
};

/// The number of strips that are worth a task.
int64_t grain(const AftProblem& p) {
  int64_t terms = (p.K * 8 + p.blocks() * p.block_size) * widest_strip;
  return 1 + 200000 / (terms + 1);
}

/// The number of parts of the gradient of the biases, which are added up in the end. Large ones are
/// few, since each takes memory.
int64_t parts(const AftProblem& p, int64_t strips) {
  constexpr int64_t room = 1 << 22;
  int64_t most = std::clamp<int64_t>(room / (p.G * p.blocks() * p.block_size + 1), 4, 16);
  return std::min(most, strips);
}

/// Adds parts [parts, G, blocks, block_size] up to the gradient of the biases.
void add_bias_gradient(const AftProblem& p, const CachedVector<Scalar>& all, int64_t parts) {
  Tensor sum = Tensor::zeros({p.G, p.T, p.n});
  int64_t size = p.G * p.blocks() * p.block_size;
  Scalar* data = sum.mutable_data();
  parallel_ranges(p.G * p.T, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t i = row % p.T, block = i / p.rows, window = p.window(block).begin;
      Span band = p.band(i);
      const Scalar* from =
          all.data() + (row / p.T * p.blocks() + block) * p.block_size + i % p.rows;
      for (int64_t part = 0; part < parts; ++part)
        for (int64_t j = band.begin; j < band.end; ++j)
          data[row * p.n + j - p.first(i)] +=
              from[part * size + (j - window) * p.rows];
    }
  });
  accumulate(p.bias.gradient_sink(), sum);
}

void backward(const AftProblem& p, const AftRecord& record, const Tensor& dy) {
  Weights weights(p);
  std::vector<AftStrip> strips = p.strips();
  int64_t count = static_cast<int64_t>(strips.size());
  bool biased = p.bias.requires_gradient() && p.n > 0;
  int64_t tasks = biased ? parts(p, count) : (count + grain(p) - 1) / grain(p);
  int64_t size = p.G * p.blocks() * p.block_size;
  CachedVector<Scalar> bias(static_cast<size_t>(biased ? tasks * size : 0));
  TokenGradient key(p.key.gradient_sink()), value(p.value.gradient_sink());
  parallel_for(tasks, [&](int64_t task) {
    for (int64_t n = task * count / tasks; n < (task + 1) * count / tasks; ++n) {
      const AftStrip& strip = strips[static_cast<size_t>(n)];
      Scalar* to = biased ? bias.data() + task * size + strip.group * p.blocks() * p.block_size
                          : nullptr;
      p.kernel.backward(p, strip, weights.of(p, strip), record, dy, {key, value, to});
    }
  });
  if (biased) add_bias_gradient(p, bias, tasks);
}

}  // namespace

Tensor aft_mix(const Tensor& key, const Tensor& value, const AftBand& band,
               const Visibility& visibility) {
  check_aft(key, value, band, visibility);
  if (visibility.hidden) return composed_aft(key, value, band, visibility);
  AftProblem p(key, value, band, visibility);
  Weights weights(p);
  if (!weights.fit) return composed_aft(key, value, band, visibility);
  auto record_of = std::make_shared<AftRecord>();
  record_of->y = Tensor::empty({p.B, p.T, p.C});
  record_of->total.resize(static_cast<size_t>(p.B * p.T * p.C));
  std::vector<AftStrip> strips = p.strips();
  parallel_ranges(static_cast<int64_t>(strips.size()), grain(p), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const AftStrip& strip = strips[static_cast<size_t>(n)];
      p.kernel.forward(p, strip, weights.of(p, strip), *record_of);
    }
  });
  record(record_of->y, {&p.key, &p.value, &p.bias},
         [p, record_of](const Tensor& dy) { backward(p, *record_of, dy); });
  return record_of->y;
}

Tensor shifted_rows(const Tensor& input, int64_t width, int64_t start, int64_t step) {
  require_defined("shifted_rows", "x", input);
  require(input.rank() == 3, "shifted_rows: ", input.shape(), ", expected [G, T, m]");
  Tensor x = contiguous(input);
  Tensor y = Tensor::empty({x.size(0), x.size(1), width});
  add_shifted(x, start, step, 0, y);
  record(y, {&x}, [x, start, step](const Tensor& dy) {
    deliver(x.gradient_sink(), [&](const Tensor& dx, Scalar beta) {
      add_shifted(contiguous(dy), -start, -step, beta, dx);
    });
  });
  return y;
}

AftBand widened(const AftBand& band, int64_t K) {
  require_defined("widened", "the band", band.bias);
  return {shifted_rows(band.bias, K, -band.start, -band.step), 0, 0};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
