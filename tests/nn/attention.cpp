// An attention whose equation sets the factor of its score, beside its formula in plain ops.

#include "nn/attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "core/tape.h"
#include "nn/parameters.h"
#include "nn/transformer_xl_attention.h"
#include "ops/arithmetic.h"
#include "ops/concat.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/gradient_check.h"
#include "ops/indexing.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/shape.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/masks.h"
#include "tests/support/mismatch.h"
#include "tests/support/oracles/input.h"
#include "tests/support/random_values.h"
#include "tests/support/refusal.h"
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

/// Attention whose equation changes its terms as a test asks for.
struct ChangedTerms : Attention {
  using Change = std::function<void(RelativeAttention&)>;
  Change change;

  explicit ChangedTerms(Change change) : change(std::move(change)) {
    Random start{.seed = 2};
    build("changed_terms", model_width, head_count, std::nullopt, true, start);
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    RelativeAttention score{.query = heads.query, .key = heads.key, .value = heads.value};
    change(score);
    return score;
  }
};

/// One whose constructor has forgotten to build it.
struct Unbuilt : Attention {
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    return {.query = heads.query, .key = heads.key, .value = heads.value};
  }
};

std::shared_ptr<const Mask> mask(const Dims& shape, std::vector<uint8_t> values) {
  return std::make_shared<Mask>(Mask{shape, std::move(values)});
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

TEST_CASE("masks of an equation hide keys beside those of the call") {
  Tensor x = RandomValues(9).tensor({2, 3, model_width});
  ChangedTerms plain([](RelativeAttention&) {});
  ChangedTerms hides([](RelativeAttention& score) {
    score.visibility.hidden = mask({3, 3}, {0, 0, 0, 1, 0, 0, 0, 0, 0});
    score.visibility.padding = mask({2, 3}, {0, 0, 0, 0, 1, 0});
  });
  Context of_call, all;
  Tensor alone = hides.forward(x, {}, of_call);
  all.attention_mask = mask({3, 3}, {0, 0, 0, 1, 0, 0, 0, 0, 0});
  all.key_padding_mask = mask({2, 3}, {0, 0, 0, 0, 1, 0});
  CHECK(same_bits(alone, plain.forward(x, {}, all)));

  of_call.attention_mask = mask({2, 1, 3}, {0, 0, 1, 0, 0, 0});
  of_call.key_padding_mask = mask({2, 3}, {1, 0, 0, 0, 0, 0});
  all.attention_mask = mask({2, 3, 3}, {0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  all.key_padding_mask = mask({2, 3}, {1, 0, 0, 0, 1, 0});
  CHECK(same_bits(hides.forward(x, {}, of_call), plain.forward(x, {}, all)));
}

TEST_CASE("what an equation must leave to the layer is refused in the layer's name") {
  Tensor x = RandomValues(9).tensor({1, 3, model_width});
  auto refused = [&](ChangedTerms::Change change, Context context = {}) {
    return refusal([&] { ChangedTerms(change).forward(x, {}, context); });
  };
  const std::string places =
      "changed_terms: equation sets which keys are seen by their places, expected causal, window "
      "and chunk of the layer";
  CHECK(refused([](auto& score) { score.visibility.sight.causal = true; }) == places);
  CHECK(refused([](auto& score) { score.visibility.sight.window = 2; }) == places);
  CHECK(refused([](auto& score) { score.visibility.sight.chunk = Chunk{1, 1}; }) == places);
  CHECK(refused([](auto& score) { score.visibility.first_position = 1; }) == places);
  CHECK(refused([](auto& score) { score.dropout.rate = 0.5; }) ==
        "changed_terms: equation sets dropout 0.5, expected attention_dropout of the layer");

  // One more key than tokens works, and is named where a mask does not cover it.
  auto one_more = [](RelativeAttention& score) {
    for (Tensor* part : {&score.key, &score.value})
      *part = concat({slice(*part, 2, 0, 1), *part}, 2);
  };
  Context context;
  CHECK(ChangedTerms(one_more).forward(x, {}, context).shape() == x.shape());
  context.key_padding_mask = full_mask({1, 3}, 0);
  CHECK(refused(one_more, context) ==
        "changed_terms: equation makes 4 keys of 3, which a mask [1, 3] does not cover, expected a "
        "key for each token");
}

TEST_CASE("an attention that was not built says so") {
  Unbuilt layer;
  Context context;
  const std::string message =
      "layer: an attention without heads, expected a constructor that calls build";
  Tensor x = Tensor::zeros({1, 3, model_width});
  CHECK(refusal([&] { layer.forward(x, {}, context); }) == message);
  CHECK(refusal([&] { layer(x, *layer.make_cache(), context); }) == message);
  CHECK(refusal([&] { layer.residual_projections(); }) == message);
}

TEST_CASE("a gate and a norm of each head stand around what the heads mix") {
  struct Gated : ChangedTerms {
    Linear gate;
    Gated() : ChangedTerms([](RelativeAttention&) {}) {
      Random start{.seed = 3};
      gate = Linear(model_width, model_width, true, start);
    }
    Tensor mix(const RelativeAttention& terms, Context& context) const override {
      return rms_norm(Attention::mix(terms, context), {}, 1e-5);  // [B, H, T, D]
    }
    Tensor project_output(const Tensor& mixed, const Tensor& x) const override {
      return Attention::project_output(mixed * split_heads(sigmoid(gate(x)), head_count), x);
    }
  } gated;
  ChangedTerms plain([](RelativeAttention&) {});
  Tensor x = RandomValues(10).tensor({2, 5, model_width});
  Context context;
  Tensor mixed = plain.mix(std::get<RelativeAttention>(plain.terms(x, {}, context)), context);
  Tensor expected = gated.output(merge_heads(rms_norm(mixed, {}, 1e-5)) * sigmoid(gated.gate(x)));
  CHECK(relative_error(gated.forward(x, {}, context), expected) <= exactness);
  std::unique_ptr<Cache> cache = gated.make_cache();
  CHECK(relative_error(feed(gated, *cache, x, {2, 3}), expected) <= exactness);
}
