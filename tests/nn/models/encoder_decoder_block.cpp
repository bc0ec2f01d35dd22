// Attention to another sequence, alone and in the decoder's block.

#include "nn/models/encoder_decoder_block.h"

#include "nn/models/config.h"
#include "ops/shape.h"
#include "tests/support/layer_gradients.h"
#include "tests/support/mismatch.h"
#include "tests/support/oracles/blocks.h"
#include "tests/support/oracles/counts.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t block_width = 4;

Input random_input(int64_t B, int64_t T, int64_t M, int64_t S, RandomValues& random) {
  Input input;
  input.x = Values(random.tensor({B, T, block_width}));
  input.memory = Values(random.tensor({B, M, block_width}));
  input.context = Values(random.tensor({B, S, block_width}));
  return input;
}

/// Values and gradients, the context's among them, of `forward` against `expected`.
void check_against(const Module& module, Input input, RandomValues& random,
                   const std::function<Tensor(const Tensor& x, const Tensor& source)>& forward,
                   const std::function<Values(const Weights&, const Input&)>& expected) {
  for (const Parameter& parameter : parameters(module)) parameter.value.zero_gradient();
  Tensor x = input.x.tensor().require_gradient(), source = input.context.tensor();
  source.require_gradient();
  Tensor cotangent = random.tensor(x.shape());
  Tape tape;
  Tensor y = forward(x, source);
  tape.backward(y, cotangent);
  Weights weights(module);
  CHECK(relative_error(y, expected(weights, input)) <= exactness);
  Values c(cotangent);
  auto loss = [&] { return inner_product(expected(weights, input), c); };
  GradientCheck check;
  check.expect("x", gradient_of(x), differences(input.x, loss));
  check.expect("context", gradient_of(source), differences(input.context, loss));
  for (const Parameter& parameter : parameters(module))
    check.expect(parameter.name, gradient_of(parameter.value),
                 differences(weights.all[parameter.name], loss));
}

void check_cross(const MultiHeadAttentionConfig& own, const Input& input) {
  Random start;
  Sized config{own, {block_width, 2}};
  MultiHeadAttention layer(config, config, start);
  RandomValues random(81);
  randomize(layer, random);
  Context context = masks_of(input);
  check_against(
      layer, input, random,
      [&](const Tensor& x, const Tensor& source) { return layer.cross(x, source, context); },
      [&](const Weights& weights, const Input& given) { return oracle(config, weights, given); });
}

struct BlockRow {
  std::string json;
  int64_t n_head;
  bool bias;
};

const std::vector<BlockRow> blocks = {
    {R"({"mixer": {"type": "multi_head_attention", "d_model": 4, "n_head": 2},
         "d_inner": 5, "activation": "gelu"})",
     2, true},
    {R"({"mixer": {"type": "multi_head_attention", "d_model": 4, "n_head": 2, "bias": false,
                   "window": 2},
         "d_inner": 5, "activation": "gelu_tanh", "norm_first": false, "n_head": 4})",
     4, false},
    {R"({"mixer": {"type": "transformer_xl_attention", "d_model": 4, "n_head": 1, "d_head": 3},
         "d_inner": 3, "activation": "gelu", "norm_eps": 0.01})",
     1, true},
    {R"({"mixer": {"type": "aft", "form": "simple", "d_model": 4, "bias": false}, "d_inner": 3,
         "activation": "gelu", "n_head": 2})",
     2, false},
    {R"({"mixer": {"type": "aft", "form": "conv", "window": 2, "n_head": 2, "d_model": 4},
         "d_inner": 3, "activation": "gelu"})",
     2, true},
    {R"({"mixer": {"type": "local_rnn", "d_model": 4, "window": 2}, "d_inner": 3,
         "activation": "gelu", "n_head": 2})",
     2, true},
};

}  // namespace

TEST_CASE("cross-attention sees the whole context, whatever causal says") {
  for (bool causal : {false, true})
    for (bool bias : {false, true})
      for (auto [T, S] : {std::pair{3, 5}, {1, 4}, {5, 1}}) {
        RandomValues random(82);
        check_cross({.bias = bias, .sight = {.causal = causal}}, random_input(2, T, 0, S, random));
      }
}

TEST_CASE("cross-attention takes masks over the context") {
  RandomValues random(83);
  Input input = random_input(2, 3, 0, 4, random);
  input.padding = std::make_shared<Mask>(Mask{{2, 4}, {1, 1, 1, 1, 0, 1, 0, 0}});
  check_cross({}, input);
  input.hidden = std::make_shared<Mask>(Mask{{3, 4}, {0, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1}});
  check_cross({}, input);
  input.padding = nullptr;
  input.hidden = std::make_shared<Mask>(Mask{{2, 1, 4}, {0, 1, 0, 1, 1, 0, 1, 1}});
  check_cross({}, input);
}

TEST_CASE("cross-attention needs no distances") {
  Random start;
  Tensor x = Tensor::zeros({1, 2, block_width});
  Context context;
  auto refused = [&](const MultiHeadAttentionConfig& config) {
    MultiHeadAttention layer(config, {block_width, 2}, start);
    return refusal([&] { layer.cross(x, x, context); });
  };
  CHECK(refused({.sight = {.window = 3}}) == "multi_head_attention: window with a source");
  for (AttentionPosition position : {AttentionPosition::rope, AttentionPosition::alibi})
    CHECK(refused({.position = position}) ==
          "multi_head_attention: position with a source, expected none");
}

TEST_CASE("the decoder's block is its formula, with memory and masks") {
  for (const BlockRow& row : blocks)
    for (bool masked : {false, true}) {
      CAPTURE(row.json);
      CAPTURE(masked);
      auto config = config_from_json<EncoderDecoderBlockConfig>(row.json);
      Random start;
      EncoderDecoderBlock block(config, config, start);
      RandomValues random(84);
      randomize(block, random);
      Input input = random_input(2, 3, 2, 4, random);
      Context cross;
      if (masked) {
        cross.key_padding_mask = std::make_shared<Mask>(Mask{{2, 4}, {1, 1, 1, 1, 0, 1, 0, 0}});
        cross.attention_mask =
            std::make_shared<Mask>(Mask{{3, 4}, {0, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1}});
        bool keys = !std::holds_alternative<LocalRnnConfig>(config.mixer);
        if (keys)
          input.padding = std::make_shared<Mask>(Mask{{2, 5}, {0, 1, 0, 0, 1, 1, 1, 1, 1, 1}});
      }
      Context own = masks_of(input);
      check_against(
          block, input, random,
          [&](const Tensor& x, const Tensor& source) {
            Source given{source, cross};
            own.source = &given;
            return block(x, input.memory.tensor(), own);
          },
          [&](const Weights& weights, const Input& given) {
            return oracle(config, row.n_head, weights, given, cross);
          });
    }
}

TEST_CASE("the decoder's block has as many parameters as its closed form says") {
  for (const BlockRow& row : blocks) {
    CAPTURE(row.json);
    auto config = config_from_json<EncoderDecoderBlockConfig>(row.json);
    Random start;
    EncoderDecoderBlock block(config, config, start);
    auto& cross = dynamic_cast<const CrossAttention&>(*block.parts[1].function);
    CHECK(cross.n_head == row.n_head);
    const int64_t cross_count = count_of_heads(block_width, block_width, row.bias);
    CHECK(parameter_count(block) ==
          count(Sized<TransformerBlockConfig>{config, config}) + cross_count + 2 * block_width);
  }
}

TEST_CASE("in the decoder's block the future changes no bit of the past") {
  for (const BlockRow& row : blocks) {
    CAPTURE(row.json);
    Random start;
    auto block = make_layer(config_from_json<EncoderDecoderBlockConfig>(row.json), start);
    RandomValues random(85);
    randomize(block, random);
    Input input = random_input(2, 6, 0, 4, random);
    auto past = [&] {
      Source source{input.context.tensor()};
      Context own{.source = &source};
      Tensor y = block(input.x.tensor(), own);
      return slice(y, 1, 0, 3);
    };
    Tensor before = past();
    for (double extreme : {1e4, -1e4, 1e30}) {
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t t = 3; t < 6; ++t)
          for (int64_t c = 0; c < block_width; ++c) input.x(b, t, c) = extreme * (c + 1.5);
      CHECK(same_bits(past(), before));
    }
  }
}
