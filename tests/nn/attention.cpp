// An attention whose equation sets the factor of its score, beside its formula in plain ops.

#include "nn/attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/tape.h"
#include "nn/parameters.h"
#include "nn/transformer_xl_attention.h"
#include "ops/arithmetic.h"
#include "ops/embedding.h"
#include "ops/gradient_check.h"
#include "ops/indexing.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/mismatch.h"
#include "tests/support/oracles/input.h"
#include "tests/support/random_values.h"
#include "tests/support/values.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t head_count = 2, model_width = 8, bucket_count = 4;

int64_t bucket_of(int64_t delta) { return std::min(delta, bucket_count - 1); }

/// T5's attention (Raffel et al. 2020): score_ij = factor q_i·k_j + bias_{bucket(δ)}, and T5's
/// factor is 1. Without a factor of its own, the layer's 1/√D multiplies the bias as well.
struct BiasedAttention : Attention {
  std::optional<Scalar> factor;
  Tensor bias;  // [buckets, H]

  BiasedAttention(std::optional<Scalar> factor, RandomValues& random) : factor(factor) {
    Random unused;
    build("biased_attention", model_width, head_count, std::nullopt, true, unused);
    bias = constant_parameter({bucket_count, head_count}, 0);
    for (Tensor* part : {&qkv.weight, &qkv.bias, &output.weight, &output.bias, &bias})
      *part = random.tensor(part->shape()).require_gradient();
  }

  RelativeAttention equation(const Heads& parts, const Tensor&) const override {
    int64_t K = parts.key.size(2);
    Tokens rows{{K}, {}};  // of each distance, the farthest first
    for (int64_t delta = K - 1; delta >= 0; --delta)
      rows.values.push_back(static_cast<int32_t>(bucket_of(delta)));
    RelativeAttention score{.query = parts.query, .key = parts.key, .value = parts.value};
    score.position_scores = embedding(bias, rows);  // [K, H]
    score.factor = factor;
    return score;
  }

  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("bias", bias);
  }
};

/// Computes the layer's output from plain ops.
Tensor formula(const BiasedAttention& layer, const Tensor& x, Scalar factor) {
  int64_t T = x.size(1);
  Tensor all = split_heads(linear(x, layer.qkv.weight, layer.qkv.bias), 3 * head_count);
  Tensor q = slice(all, 1, 0, head_count), k = slice(all, 1, head_count, 2 * head_count);
  Tensor v = slice(all, 1, 2 * head_count, 3 * head_count);  // [B, H, T, D]
  Tokens bucket{{head_count, T * T}, {}};
  for (int64_t h = 0; h < head_count; ++h)
    for (int64_t i = 0; i < T; ++i)
      for (int64_t j = 0; j < T; ++j)
        bucket.values.push_back(static_cast<int32_t>(bucket_of(std::max<int64_t>(0, i - j))));
  Tensor bias = reshape(gather(transpose(layer.bias), 1, bucket), {head_count, T, T});
  Tensor p = masked_softmax(matmul(q, transpose(k)) + bias, {true, {}, {}, {}}, factor);
  return linear(merge_heads(matmul(p, v)), layer.output.weight, layer.output.bias);
}

/// The output, and the gradients of all parameters and of x.
template <class F>
std::vector<Values> results(const BiasedAttention& layer, const Tensor& x, F f) {
  for (const Parameter& parameter : parameters(layer)) parameter.value.zero_gradient();
  x.require_gradient().zero_gradient();
  Tape tape;
  Tensor y = f();
  tape.backward(y, RandomValues(6).tensor(y.shape()));
  std::vector<Values> all = {Values(y), Values(x.gradient())};
  for (const Parameter& parameter : parameters(layer)) all.emplace_back(parameter.value.gradient());
  return all;
}

}  // namespace

TEST_CASE("an equation sets the factor of its score, and 1/√D stands where it sets none") {
  for (std::optional<Scalar> factor : {std::optional<Scalar>(), {1}, {-0.25}, {0}}) {
    CAPTURE(factor.value_or(100));
    RandomValues random(5);
    BiasedAttention layer(factor, random);
    Tensor x = random.tensor({2, 7, model_width});
    Scalar expected_factor =
        factor.value_or(static_cast<Scalar>(1 / std::sqrt(model_width / head_count)));
    std::vector<Values> expected =
        results(layer, x, [&] { return formula(layer, x, expected_factor); });
    for (bool recorded : {false, true}) {  // the kernel, and the plain ops of a recorder
      CAPTURE(recorded);
      std::vector<Values> got = results(layer, x, [&] {
        Context context;
        if (recorded) context.recorder = [](const Tensor&) {};
        return layer.forward(x, {}, context);
      });
      REQUIRE(got.size() == expected.size());
      for (size_t n = 0; n < got.size(); ++n) {
        CAPTURE(n);
        // With a factor of 0, no gradient is left for q, k and the bias.
        double allowed = exactness * std::max(1.0, greatest(expected[n]));
        CHECK(greatest(got[n] - expected[n]) <= allowed);
      }
    }
  }
}

TEST_CASE("T5's attention through a cache gives what it gives at once, and has its gradients") {
  RandomValues random(5);
  BiasedAttention layer(Scalar{1}, random);
  Tensor x = random.tensor({1, 6, model_width});
  Context context;
  Tensor whole = layer.forward(x, {}, context);
  std::unique_ptr<Cache> cache = layer.make_cache();
  for (int64_t t = 0; t < 6; ++t) {
    Tensor token = layer(slice(x, 1, t, t + 1), *cache, context);
    CHECK(relative_error(token, slice(whole, 1, t, t + 1)) <= exactness);
  }
  if (sizeof(Scalar) < 8) return;  // floats have few digits for this many terms
  CHECK(gradient_check([&] { return layer.forward(x, {}, context); },
                       {layer.bias, layer.qkv.bias, layer.output.weight}) < 1e-9);
}

TEST_CASE("no token attends to nothing, in one call or through a cache") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.type.ends_with("attention")) continue;
    CAPTURE(row.name);
    RandomValues random(7);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    int64_t C = row.d_model;
    for (int64_t M : {0, 2}) {
      CAPTURE(M);
      Context context;
      Tensor x = Tensor::zeros({2, 0, C}).require_gradient();
      Tape tape;
      Tensor y = layer->forward(x, random.tensor({2, M, C}), context);
      CHECK(y.shape() == x.shape());
      tape.backward(y, Tensor::zeros(x.shape()));
    }
    if (!row.causal && row.chunk == 1) continue;
    Tensor x = random.tensor({2, 2 * row.chunk, C});
    CHECK(same_bits(feed(*layer, *layer->make_cache(), x, {0, row.chunk, 0, row.chunk, 0}),
                    feed(*layer, *layer->make_cache(), x, {row.chunk, row.chunk})));
  }
}

TEST_CASE("a longer step through a cache makes a table for its farther future") {
  RandomValues random(8);
  TransformerXLAttention layer = random_layer(
      Sized{TransformerXLAttentionConfig{.sight = {.causal = false, .chunk = Chunk{2, 5}}}, {4, 2}},
      random);
  Tensor x = random.tensor({2, 6, 4});
  std::unique_ptr<Cache> cache = layer.make_cache();
  feed(layer, *cache, x, {2, 2, 2});
  cache->forget_newest(6);
  CHECK(relative_error(feed(layer, *cache, x, {6}), whole(layer, x)) <= exactness);
}
