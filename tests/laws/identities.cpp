// Variants that are each other under a mapping of their parameters.

#include <doctest/doctest.h>

#include "shiftgrad/core/tape.h"
#include "shiftgrad/nn/models/mixers.h"
#include "tests/support/layer_rows.h"
#include "tests/support/named_parameters.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t C = 6, H = 2, D = 3;

template <class Config>
typename Config::Layer make(const Config& config, uint64_t seed) {
  RandomValues random(seed);
  return random_layer(config, random);
}

/// Both give the same outputs for the same tokens, with and without a memory, and gradients for
/// them.
void check_equal(const Layer& a, const Layer& b, int64_t width = C) {
  for (const Sizes& sizes : {Sizes{2, 6, 0}, {1, 3, 5}, {2, 1, 8}}) {
    RandomValues random(21);
    Tensor memory = random.tensor({sizes.B, sizes.M, width});
    Tensor cotangent = random.tensor({sizes.B, sizes.T, width});
    std::vector<Scalar> tokens = random.vector(cotangent.count());
    std::vector<Tensor> outputs, gradients;
    for (const Layer* layer : {&a, &b}) {
      Tensor x = Tensor::from(cotangent.shape(), tokens).require_gradient();
      Context context;
      Tape tape;
      outputs.push_back(layer->forward(x, memory, context));
      tape.backward(outputs.back(), cotangent);
      gradients.push_back(x.gradient());
    }
    CHECK(relative_error(outputs[0], outputs[1]) <= exactness);
    CHECK(relative_error(gradients[0], gradients[1]) <= 10 * exactness);
  }
}

/// The sizes above need this many positions at most.
constexpr int64_t N = 12;

TransformerXLAttention learned_xl(const Module& projections) {
  auto xl = make(
      TransformerXLAttentionConfig{
          .d_model = C, .n_head = H, .positions = DistancePositions::learned, .max_positions = N},
      22);
  assign_shared(xl, projections);
  for (const char* name : {"content_bias", "position_embeddings", "position_scalar_bias"})
    assign(xl, name, 0);
  return xl;
}

}  // namespace

TEST_CASE("labml's attention is Transformer-XL's with learned tables") {
  constexpr int64_t P = 16;
  auto labml =
      make(RelativeMultiHeadAttentionConfig{.d_model = C, .n_head = H, .max_positions = P}, 23);
  assign(labml, "value_bias", 0);
  assign(labml, "output.bias", 0);
  auto xl = learned_xl(labml);
  Weights weights(labml);
  const Values &R = weights["key_pos_embeddings"], &S = weights["key_pos_bias"];
  Values E({N, H, D}), s({N, H});
  for (int64_t delta = 0; delta < N; ++delta)
    for (int64_t h = 0; h < H; ++h) {
      s(N - 1 - delta, h) = S(P - delta, h);
      for (int64_t d = 0; d < D; ++d) E(N - 1 - delta, h, d) = R(P - delta, h, d);
    }
  assign(xl, "position_embeddings", E);
  assign(xl, "position_scalar_bias", s);
  assign(xl, "content_bias", weights["query_pos_bias"]);
  check_equal(labml, xl);
}

TEST_CASE("causal Music attention is Transformer-XL's without u") {
  auto music = make(RelativeGlobalAttentionConfig{.d_model = C, .n_head = H, .max_seq = N}, 24);
  assign(music, "qkv.bias", 0);
  assign(music, "output.bias", 0);
  auto xl = learned_xl(music);
  Weights weights(music);
  Values E({N, H, D}), s({N, H});
  for (int64_t row = 0; row < N; ++row)
    for (int64_t h = 0; h < H; ++h) {
      s(row, h) = weights["past_bias"](h, row);
      for (int64_t d = 0; d < D; ++d) E(row, h, d) = weights["past_embeddings"](h, row, d);
    }
  assign(xl, "position_embeddings", E);
  assign(xl, "position_scalar_bias", s);
  check_equal(music, xl);
  assign(xl, "position_scalar_bias", 0);
  assign(music, "past_bias", 0);
  check_equal(music, xl);
}

TEST_CASE("Shaw's attention with keys only and a wide table is Transformer-XL's") {
  constexpr int64_t k = N - 1;
  auto shaw = make(
      ShawAttentionConfig{
          .d_model = C, .n_head = H, .max_distance = k, .bias = false, .value_positions = false},
      25);
  auto xl = learned_xl(shaw);
  Weights weights(shaw);
  Values E({N, H, D});
  for (int64_t delta = 0; delta < N; ++delta)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t d = 0; d < D; ++d)
        E(N - 1 - delta, h, d) = weights["key_distance_embeddings"](k - delta, d);
  assign(xl, "position_embeddings", E);
  check_equal(shaw, xl);
}

TEST_CASE("without tables and positions all attention is multi-head attention") {
  auto plain = make(MultiHeadAttentionConfig{.d_model = C, .n_head = H, .bias = false}, 26);
  check_equal(learned_xl(plain), plain);
  auto shaw = make(ShawAttentionConfig{.d_model = C,
                                       .n_head = H,
                                       .max_distance = 2,
                                       .bias = false,
                                       .key_positions = false,
                                       .value_positions = false},
                   27);
  assign_shared(shaw, plain);
  check_equal(shaw, plain);
  auto xl = make(TransformerXLAttentionConfig{.d_model = C, .n_head = H}, 28);
  assign_shared(xl, plain);
  assign(xl, "content_bias", 0);
  assign(xl, "position.weight", 0);
  check_equal(xl, plain);
}

TEST_CASE("a window or a clamp_len beyond all keys changes nothing") {
  auto plain = make(MultiHeadAttentionConfig{.d_model = C, .n_head = H}, 29);
  auto windowed = make(MultiHeadAttentionConfig{.d_model = C, .n_head = H, .window = N}, 30);
  assign_shared(windowed, plain);
  check_equal(windowed, plain);
  TransformerXLAttentionConfig config{.d_model = C, .n_head = H};
  auto xl = make(config, 31);
  config.clamp_len = N;
  auto clamped = make(config, 32);
  assign_shared(clamped, xl);
  check_equal(clamped, xl);
  config.clamp_len = std::nullopt;
  config.window = N;
  auto narrow = make(config, 33);
  assign_shared(narrow, xl);
  check_equal(narrow, xl);
  auto music = make(RelativeGlobalAttentionConfig{.d_model = C, .n_head = H, .max_seq = N}, 34);
  auto wide = make(RelativeGlobalAttentionConfig{.d_model = C, .n_head = H, .max_seq = 2 * N}, 35);
  for (const char* name : {"qkv.weight", "qkv.bias", "output.weight", "output.bias"})
    assign(wide, name, Weights(music)[name]);
  Weights weights(music);
  Values E = Weights(wide)["past_embeddings"], b = Weights(wide)["past_bias"];
  for (int64_t h = 0; h < H; ++h)
    for (int64_t row = 0; row < N; ++row) {
      b(h, N + row) = weights["past_bias"](h, row);
      for (int64_t d = 0; d < D; ++d) E(h, N + row, d) = weights["past_embeddings"](h, row, d);
    }
  assign(wide, "past_embeddings", E);
  assign(wide, "past_bias", b);
  check_equal(wide, music);
}

TEST_CASE("AFT local over all tokens is full, and a factorised table is its product") {
  auto full = make(AftConfig{.d_model = C, .max_len = N}, 36);
  auto local = make(AftConfig{.d_model = C, .form = AftForm::local, .max_len = N, .window = N}, 37);
  assign_shared(local, full);
  check_equal(local, full);
  auto thin = make(AftConfig{.d_model = C, .max_len = N, .factor_rank = 2}, 38);
  assign_shared(full, thin);
  Weights weights(thin);
  Values w({N, N});
  for (int64_t t = 0; t < N; ++t)
    for (int64_t key = 0; key < N; ++key)
      for (int64_t r = 0; r < 2; ++r)
        w(t, key) += weights["position_bias_query"](t, r) * weights["position_bias_key"](key, r);
  assign(full, "position_bias", w);
  check_equal(full, thin);
}

TEST_CASE("AFT with biases of 0, and conv as it starts, are simple") {
  auto simple = make(AftConfig{.d_model = C, .form = AftForm::simple}, 39);
  auto full = make(AftConfig{.d_model = C, .max_len = N}, 40);
  assign_shared(full, simple);
  assign(full, "position_bias", 0);
  check_equal(full, simple);

  auto conv = make(AftConfig{.d_model = C, .form = AftForm::conv, .window = 3, .n_head = H}, 41);
  assign(conv, "kernel_gain", 0);
  assign(conv, "kernel_offset", 0);
  Weights weights(conv);
  Values weight({3 * C, C}), bias({3 * C});
  for (int64_t c = 0; c < C; ++c)
    for (auto [part, name, row] :
         {std::tuple{0, "query", c}, {1, "key", c / (C / H)}, {2, "value", c}}) {
      std::string prefix = name;
      bias(part * C + c) = weights[prefix + ".bias"](row);
      for (int64_t n = 0; n < C; ++n) weight(part * C + c, n) = weights[prefix + ".weight"](row, n);
    }
  assign(simple, "qkv.weight", weight);
  assign(simple, "qkv.bias", bias);
  assign(simple, "output.weight", weights["output.weight"]);
  assign(simple, "output.bias", weights["output.bias"]);
  check_equal(conv, simple);
}

TEST_CASE("a window of one token makes a recurrent net a layer for each token alone") {
  auto rnn = make(LocalRnnConfig{.d_model = C, .window = 1}, 42);
  RandomValues random(43);
  Tensor x = random.tensor({1, 4, C});
  Context context;
  Tensor y = rnn.forward(x, {}, context);
  Weights weights(rnn);
  Values expected = linear_oracle(Values(x), weights["weight_ih"], weights["bias_ih"]);
  for (int64_t t = 0; t < 4; ++t)
    for (int64_t c = 0; c < C; ++c)
      expected(0, t, c) = std::tanh(expected(0, t, c) + weights["bias_hh"](c));
  CHECK(relative_error(y, expected) <= exactness);
}
