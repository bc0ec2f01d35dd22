// Variants that are each other under a mapping of their parameters.

#include <doctest/doctest.h>

#include "core/tape.h"
#include "nn/models/convert.h"
#include "tests/support/layer_rows.h"
#include "tests/support/named_parameters.h"
#include "tests/support/oracles/attention.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t C = 6, H = 2, D = 3;

template <class Config>
typename Config::Layer make(const Config& config, uint64_t seed) {
  RandomValues random(seed);
  return random_layer(config, random);
}

/// A mask that hides all keys from the first query, and about a third of them from the others.
std::shared_ptr<const Mask> holes(const Sizes& sizes) {
  int64_t K = sizes.M + sizes.T;
  Mask hidden{{sizes.T, K}, {}};
  for (int64_t n = 0; n < sizes.T * K; ++n) hidden.values.push_back(n < K || n % 3 == 0);
  return std::make_shared<Mask>(hidden);
}

/// Both give the same outputs for the same tokens, with and without a memory, with and without a
/// mask, and gradients for them.
void check_equal(const Layer& a, const Layer& b, bool with_masks = true) {
  for (const Sizes& sizes : {Sizes{2, 6, 0}, {1, 3, 5}, {2, 1, 8}})
    for (bool masked : {false, with_masks}) {
      RandomValues random(21);
      Tensor memory = random.tensor({sizes.B, sizes.M, C});
      Tensor cotangent = random.tensor({sizes.B, sizes.T, C});
      std::vector<Scalar> tokens = random.vector(cotangent.count());
      std::vector<Tensor> outputs, gradients;
      for (const Layer* layer : {&a, &b}) {
        Tensor x = Tensor::from(cotangent.shape(), tokens).require_gradient();
        Context context;
        if (masked) context.attention_mask = holes(sizes);
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

}  // namespace

TEST_CASE("labml's attention is Transformer-XL's with learned tables") {
  auto labml = make(Sized{RelativeMultiHeadAttentionConfig{.max_positions = 16}, {C, H}}, 23);
  check_equal(labml, to_transformer_xl(labml));
}

TEST_CASE("causal Music attention is Transformer-XL's without u") {
  for (int64_t max_seq : {1, 4, 12})
    for (bool relative_bias : {true, false}) {
      auto music = make(
          Sized{RelativeGlobalAttentionConfig{.max_seq = max_seq, .relative_bias = relative_bias},
                {C, H}},
          24);
      check_equal(music, to_transformer_xl(music));
    }
}

TEST_CASE("Shaw's attention with keys only is Transformer-XL's, clipped or not") {
  for (int64_t max_distance : {0, 3, 11})
    for (bool bias : {true, false})
      for (bool keys : {true, false}) {
        auto shaw = make(Sized{ShawAttentionConfig{.max_distance = max_distance,
                                                   .bias = bias,
                                                   .key_positions = keys,
                                                   .value_positions = false},
                               {C, H}},
                         25);
        check_equal(shaw, to_transformer_xl(shaw));
      }
}

TEST_CASE("clamped sinusoids are a learned table, and so are ALiBi's slopes in a window") {
  constexpr int64_t rows = 4;
  Sized config{
      TransformerXLAttentionConfig{.positions = DistancePositions::learned, .max_positions = rows},
      {C, H}};
  auto sinusoid = make(Sized{TransformerXLAttentionConfig{.clamp_len = rows - 1}, {C, H}}, 46);
  auto learned = make(config, 47);
  assign_shared(learned, sinusoid);
  Weights weights(sinusoid);
  Values E({rows, H, D}), s({rows, H});
  for (int64_t delta = 0; delta < rows; ++delta) {
    std::vector<double> R = sinusoid_row(delta, C);
    for (int64_t h = 0; h < H; ++h)
      for (int64_t d = 0; d < D; ++d) {
        double& r = E(rows - 1 - delta, h, d);
        for (int64_t c = 0; c < C; ++c)
          r += weights["position.weight"](h * D + d, c) * R[static_cast<size_t>(c)];
        s(rows - 1 - delta, h) += weights["position_bias"](h, d) * r;
      }
  }
  assign(learned, "position_embeddings", E);
  assign(learned, "position_scalar_bias", s);
  check_equal(sinusoid, learned);

  Sized slopes{MultiHeadAttentionConfig{.sight = {.window = rows}}, {C, H}};
  slopes.position = AttentionPosition::alibi;
  config.sight.window = rows;
  config.bias = true;
  auto alibi = make(slopes, 48);
  auto table = make(config, 49);
  assign_shared(table, alibi);
  assign(table, "content_bias", 0);
  assign(table, "position_embeddings", 0);
  for (int64_t delta = 0; delta < rows; ++delta)
    for (int64_t h = 0; h < H; ++h)
      s(rows - 1 - delta, h) = -std::pow(2.0, -8.0 * static_cast<double>(h + 1) / H) *
                               static_cast<double>(delta) * std::sqrt(static_cast<double>(D));
  assign(table, "position_scalar_bias", s);
  check_equal(alibi, table);
}

TEST_CASE("biases of queries go into u and s, of keys nowhere, of values into the output's") {
  Sized config{TransformerXLAttentionConfig{
                   .positions = DistancePositions::learned, .max_positions = N, .bias = true},
               {C, H}};
  auto biased = make(config, 44), folded = make(config, 45);
  assign_shared(folded, biased);
  assign(folded, "qkv.bias", 0);
  Weights weights(biased);
  const Values &b = weights["qkv.bias"], &E = weights["position_embeddings"];
  Values u = weights["content_bias"], s = weights["position_scalar_bias"],
         y = weights["output.bias"];
  for (int64_t h = 0; h < H; ++h)
    for (int64_t d = 0; d < D; ++d) {
      u(h, d) += b(h * D + d);
      for (int64_t row = 0; row < N; ++row) s(row, h) += b(h * D + d) * E(row, h, d);
      for (int64_t c = 0; c < C; ++c)
        y(c) += weights["output.weight"](c, h * D + d) * b(2 * H * D + h * D + d);
    }
  assign(folded, "content_bias", u);
  assign(folded, "position_scalar_bias", s);
  assign(folded, "output.bias", y);
  // A query that sees no key sees no values either, nor their bias.
  check_equal(biased, folded, false);
}

TEST_CASE("without tables and positions all attention is multi-head attention") {
  auto plain = make(Sized{MultiHeadAttentionConfig{.bias = false}, {C, H}}, 26);
  auto shaw = make(
      Sized{ShawAttentionConfig{
                .max_distance = 2, .bias = false, .key_positions = false, .value_positions = false},
            {C, H}},
      27);
  assign_shared(shaw, plain);
  check_equal(shaw, plain);
  auto xl = make(Sized{TransformerXLAttentionConfig{}, {C, H}}, 28);
  assign_shared(xl, plain);
  assign(xl, "content_bias", 0);
  assign(xl, "position.weight", 0);
  check_equal(xl, plain);
  auto learned = make(Sized{TransformerXLAttentionConfig{.positions = DistancePositions::learned,
                                                         .max_positions = N},
                            {C, H}},
                      22);
  assign_shared(learned, plain);
  for (const char* name : {"content_bias", "position_embeddings", "position_scalar_bias"})
    assign(learned, name, 0);
  check_equal(learned, plain);
}

TEST_CASE("a window or a clamp_len beyond all keys changes nothing") {
  auto plain = make(Sized{MultiHeadAttentionConfig{}, {C, H}}, 29);
  auto windowed = make(Sized{MultiHeadAttentionConfig{.sight = {.window = N}}, {C, H}}, 30);
  assign_shared(windowed, plain);
  check_equal(windowed, plain);
  Sized config{TransformerXLAttentionConfig{}, {C, H}};
  auto xl = make(config, 31);
  config.clamp_len = N;
  auto clamped = make(config, 32);
  assign_shared(clamped, xl);
  check_equal(clamped, xl);
  config.clamp_len = std::nullopt;
  config.sight.window = N;
  auto narrow = make(config, 33);
  assign_shared(narrow, xl);
  check_equal(narrow, xl);
  auto music = make(Sized{RelativeGlobalAttentionConfig{.max_seq = N}, {C, H}}, 34);
  auto wide = make(Sized{RelativeGlobalAttentionConfig{.max_seq = 2 * N}, {C, H}}, 35);
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

TEST_CASE("AFT local is full with 0 beyond its window, and thin tables are their product") {
  auto full = make(Sized{AftConfig{.max_len = N}, {C}}, 36);
  auto whole = make(Sized{AftConfig{.form = AftForm::local, .max_len = N, .window = N}, {C}}, 37);
  assign_shared(whole, full);
  check_equal(whole, full);
  for (AftForm form : {AftForm::full, AftForm::local})
    for (int64_t rank : {0, 2}) {
      Sized config{AftConfig{.form = form, .max_len = N, .factor_rank = rank}, {C}};
      if (form == AftForm::local) config.window = 3;
      auto aft = make(config, 38);
      check_equal(aft, to_aft_full(aft));
    }
}

TEST_CASE("AFT with biases of 0, and conv as it starts, are simple") {
  auto simple = make(Sized{AftConfig{.form = AftForm::simple}, {C}}, 39);
  auto full = make(Sized{AftConfig{.max_len = N}, {C}}, 40);
  assign_shared(full, simple);
  assign(full, "position_bias", 0);
  check_equal(full, simple);

  auto conv = make(Sized{AftConfig{.form = AftForm::conv, .window = 3}, {C, H}}, 41);
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
  auto rnn = make(Sized{LocalRnnConfig{.window = 1}, {C}}, 42);
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
