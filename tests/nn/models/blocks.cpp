// Blocks over vectors are their blocks one after the other, and a norm; in pieces, behind masks and
// in training, too. What LanguageModel and EncoderDecoder make of them is in their own tests.

#include "nn/models/blocks.h"

#include "core/tape.h"
#include "nn/models/language_model.h"
#include "nn/state_dict.h"
#include "ops/arithmetic.h"
#include "ops/concat.h"
#include "ops/shape.h"
#include "tests/support/layer_gradients.h"
#include "tests/support/layer_rows.h"
#include "tests/support/masks.h"
#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"
#include "tests/support/small_mixers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t vector_width = 4, longest = 12;

BlocksConfig blocks_config(const MixerConfig& mixer) {
  return {.d_model = vector_width,
          .n_layer = 2,
          .n_head = 2,
          .d_inner = 5,
          .mixer = mixer,
          .activation = Activation::gelu};
}

/// Every mixer, and every option.
std::vector<BlocksConfig> causal_configs() {
  std::vector<BlocksConfig> configs;
  for (const MixerConfig& mixer : small_mixers(longest)) configs.push_back(blocks_config(mixer));
  BlocksConfig tied = blocks_config(TransformerXLAttentionConfig{});
  tied.tie_position_biases = true;
  tied.norm_first = tied.final_norm = false;
  configs.push_back(tied);
  BlocksConfig decoder = blocks_config(MultiHeadAttentionConfig{});
  decoder.cross_attention = true;
  configs.push_back(decoder);
  BlocksConfig recurrent = blocks_config({});
  recurrent.block = BlockType::r_transformer_block;
  recurrent.window = 3;
  recurrent.cell = RecurrentCell::lstm;
  recurrent.rnn_layers = 2;
  configs.push_back(recurrent);
  return configs;
}

std::vector<BlocksConfig> two_way_configs() {
  std::vector<BlocksConfig> configs;
  for (const MixerConfig& mixer : small_mixers(longest))
    if (sees_both_ways(mixer))
      configs.push_back(blocks_config(with_direction(mixer, false, "test")));
  return configs;
}

std::string name_of_config(const BlocksConfig& config) {
  return text(config.block, ' ', type_of(config.mixer), ", tied ", config.tie_position_biases,
              ", cross ", config.cross_attention);
}

bool takes_memory(const BlocksConfig& config) {
  return config.block == BlockType::transformer_block;
}

Blocks blocks_of(const BlocksConfig& config, RandomValues& random) {
  Random start;
  Blocks blocks(config, start);
  randomize(blocks, random);
  return blocks;
}

/// The tokens begin … end-1 of x [B, T, C].
Tensor piece(const Tensor& x, int64_t begin, int64_t end) {
  return slice(x, 1, begin, end).detach();
}

/// A source [2, 3, C] for those that attend to one.
struct Sourced {
  Source source;
  explicit Sourced(RandomValues& random) : source{random.tensor({2, 3, vector_width})} {}
  Context context() { return {.source = &source}; }
};

BlocksOutput by_hand(const Blocks& blocks, Tensor x, const Memory& memory, Context context) {
  BlocksOutput result;
  for (size_t n = 0; n < blocks.layers.size(); ++n) {
    result.block_inputs.push_back(x);
    x = blocks.layers[n]->forward(x, memory.empty() ? Past() : memory[n], context);
  }
  result.output = blocks.config.final_norm ? blocks.norm(x) : x;
  return result;
}

/// Changes the tokens begin … end-1 of a member of x.
Tensor with_value_at(const Tensor& x, int64_t member, int64_t begin, int64_t end, Scalar value) {
  Tensor result = Tensor::from(x.shape(), x.values());
  int64_t first = member * x.size(1);
  std::fill(result.mutable_data() + (first + begin) * vector_width,
            result.mutable_data() + (first + end) * vector_width, value);
  return result;
}

/// The first tokens of one member.
Tensor first_tokens(const Tensor& y, int64_t member, int64_t length) {
  return piece(slice(y, 0, member, member + 1), 0, length);
}

}  // namespace

TEST_CASE("blocks: the blocks one after the other and a norm, with dropout in its order") {
  for (BlocksConfig config : causal_configs())
    for (int64_t M : {0, 3}) {
      if (M > 0 && !takes_memory(config)) continue;
      CAPTURE(name_of_config(config));
      config.dropout = config.attention_dropout = 0.3;
      RandomValues random(11);
      Blocks blocks = blocks_of(config, random);
      Tensor x = random.tensor({2, 5, vector_width});
      Memory memory;
      for (int64_t n = 0; n < config.n_layer && M > 0; ++n)
        memory.push_back(random.tensor({2, M, vector_width}));
      Sourced sourced(random);
      for (bool training : {false, true}) {
        Context context = sourced.context();
        context.training = training;
        BlocksOutput expected = by_hand(blocks, x, memory, context), got;
        Context own = context;
        got = blocks(x, memory, own);
        CHECK(same_bits(got.output, expected.output));
        REQUIRE(got.block_inputs.size() == 2);
        for (size_t n = 0; n < 2; ++n)
          CHECK(same_bits(got.block_inputs[n], expected.block_inputs[n]));
        if (M == 0) CHECK(same_bits(blocks(x, context), expected.output));
      }
    }
}

TEST_CASE("blocks: pieces equal the whole, with a memory and with a cache") {
  for (const BlocksConfig& config : causal_configs()) {
    CAPTURE(name_of_config(config));
    RandomValues random(12);
    Blocks blocks = blocks_of(config, random);
    constexpr int64_t T = 9;
    Tensor x = random.tensor({2, T, vector_width});
    Sourced sourced(random);
    Context context = sourced.context();
    Tensor whole = blocks(x, context);
    std::unique_ptr<Cache> cache = blocks.make_cache();
    std::vector<Tensor> cached, remembered;
    Memory memory;
    for (auto [begin, end] : {std::pair{0, 2}, {2, 3}, {3, 7}, {7, 9}}) {
      cached.push_back(blocks(piece(x, begin, end), *cache, context));
      CHECK(dynamic_cast<Caches&>(*cache).position == end);
      if (!takes_memory(config)) continue;
      BlocksOutput output = blocks(piece(x, begin, end), memory, context);
      remembered.push_back(output.output);
      memory = remember(memory, output.block_inputs, T);
      CHECK(blocks.memory_length(memory) == end);
    }
    CHECK(relative_error(concat(cached, 1), whole) <= exactness);
    if (takes_memory(config)) CHECK(relative_error(concat(remembered, 1), whole) <= exactness);
  }
}

TEST_CASE("blocks: a cache with a limit is a memory of as many tokens") {
  RandomValues random(13);
  BlocksConfig config = blocks_config(TransformerXLAttentionConfig{});
  Blocks blocks = blocks_of(config, random);
  Tensor x = random.tensor({2, 8, vector_width});
  Context context;
  std::unique_ptr<Cache> cache = blocks.make_cache(3);
  Memory memory;
  for (int64_t begin = 0; begin < 8; begin += 2) {
    BlocksOutput output = blocks(piece(x, begin, begin + 2), memory, context);
    memory = remember(memory, output.block_inputs, 3);
    Tensor cached = blocks(piece(x, begin, begin + 2), *cache, context);
    CHECK(relative_error(cached, output.output) <= exactness);
  }
}

TEST_CASE("blocks: neither the future nor another member changes a bit") {
  for (const BlocksConfig& config : causal_configs()) {
    CAPTURE(name_of_config(config));
    RandomValues random(14);
    Blocks blocks = blocks_of(config, random);
    CHECK_FALSE(blocks.sees_ahead());
    Tensor x = random.tensor({2, 6, vector_width});
    Sourced sourced(random);
    Context context = sourced.context();
    Tensor expected = first_tokens(blocks(x, context), 0, 4);
    for (Scalar value : {Scalar(1e4), Scalar(-1e4), Scalar(1e30)})
      CHECK(same_bits(first_tokens(blocks(with_value_at(x, 0, 4, 6, value), context), 0, 4),
                      expected));
    Scalar nan = std::numeric_limits<Scalar>::quiet_NaN();
    CHECK(same_bits(first_tokens(blocks(with_value_at(x, 1, 0, 6, nan), context), 0, 4), expected));
  }
}

TEST_CASE("blocks: an encoder hides padding, from its gradients too") {
  CHECK(two_way_configs().size() >= 5);
  for (const BlocksConfig& config : two_way_configs()) {
    CAPTURE(name_of_config(config));
    RandomValues random(15);
    Blocks encoder = blocks_of(config, random);
    CHECK(encoder.sees_ahead());
    Tensor x = random.tensor({2, 6, vector_width});
    Tensor cotangent = with_value_at(random.tensor({2, 6, vector_width}), 0, 4, 6, 0);
    Mask padding{{2, 6}, {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}};
    Context context;
    context.key_padding_mask = std::make_shared<const Mask>(padding);
    // What one content of the padding leads to: outputs where there is none, and all gradients.
    auto outcome = [&](Scalar content) {
      for (const Parameter& parameter : parameters(encoder)) parameter.value.zero_gradient();
      Tensor input = with_value_at(x, 0, 4, 6, content).require_gradient();
      Tape tape;
      Tensor y = encoder(input, context);
      tape.backward(y, cotangent);
      std::vector<Tensor> all{first_tokens(y, 0, 4), slice(y, 0, 1, 2).detach(), input.gradient()};
      for (const Parameter& parameter : parameters(encoder))
        all.push_back(parameter.value.gradient().detach());
      return all;
    };
    std::vector<Tensor> some = outcome(0.5), other = outcome(-70);
    for (size_t n = 0; n < some.size(); ++n) CHECK(same_bits(some[n], other[n]));
    Context plain;
    Tensor alone = encoder(piece(slice(x, 0, 0, 1), 0, 4), plain);
    CHECK(relative_error(some[0], alone) <= exactness);
  }
}

TEST_CASE("blocks: masks of attention and a recorder reach each block") {
  RandomValues random(16);
  Blocks encoder =
      blocks_of(blocks_config(TransformerXLAttentionConfig{.sight = {.causal = false}}), random);
  Tensor x = random.tensor({2, 3, vector_width});
  Context context;
  context.attention_mask = std::make_shared<const Mask>(Mask{{3, 3}, {0, 1, 1, 0, 0, 1, 0, 0, 0}});
  std::vector<Tensor> recorded;
  context.recorder = [&](const Tensor& p) { recorded.push_back(p); };
  Tensor expected = first_tokens(encoder(x, context), 0, 2);
  REQUIRE(recorded.size() == 2);
  for (const Tensor& p : recorded) {
    CHECK(p.shape() == Dims{2, 2, 3, 3});
    CHECK(p.values()[1] == 0);
  }
  CHECK(same_bits(first_tokens(encoder(with_value_at(x, 0, 2, 3, 9), context), 0, 2), expected));
}

TEST_CASE("blocks: gradients are difference quotients") {
  if (sizeof(Scalar) < sizeof(double)) return;  // they need the digits
  for (const BlocksConfig& config : causal_configs()) {
    CAPTURE(name_of_config(config));
    RandomValues random(17);
    Blocks blocks = blocks_of(config, random);
    Tensor x = random.tensor({2, 4, vector_width}).require_gradient();
    Memory memory;
    for (int64_t n = 0; n < config.n_layer && takes_memory(config); ++n)
      memory.push_back(random.tensor({2, 2, vector_width}));
    Sourced sourced(random);
    sourced.source.output.require_gradient(config.cross_attention);
    std::vector<Tensor> inputs{x};
    if (config.cross_attention) inputs.push_back(sourced.source.output);
    for (const Parameter& parameter : parameters(blocks)) inputs.push_back(parameter.value);
    auto output = [&] {
      Context context = sourced.context();
      return blocks(x, memory, context).output;
    };
    CHECK(gradient_check(output, inputs) < gradient_exactness);
  }
}

TEST_CASE("blocks: a language model is an embedding, blocks and an output layer") {
  LanguageModelConfig config{.vocab_size = 7, .d_model = vector_width, .n_layer = 2, .n_head = 2};
  config.d_inner = 5;
  config.mixer = TransformerXLAttentionConfig{};
  config.tie_position_biases = true;
  Random once{.seed = 5}, again = once;
  LanguageModel model(config, once);
  TokenEmbedding embedding("by hand", {.vocab_size = 7, .d_model = vector_width}, again);
  Blocks blocks({.d_model = vector_width,
                 .n_layer = 2,
                 .n_head = 2,
                 .d_inner = 5,
                 .mixer = TransformerXLAttentionConfig{},
                 .tie_position_biases = true},
                again);
  Linear output = output_layer(embedding, false, again);
  CHECK(once == again);

  // The names are the model's, too, so its weights fit.
  auto weights = state_dict(model), own = state_dict(blocks);
  std::vector<std::string> names;
  for (const auto& [name, value, decay] : parameters(blocks)) {
    names.push_back(name);
    CHECK(weights.at(name) == own.at(name));
  }
  CHECK(names.front() == "content_bias");
  CHECK(std::ranges::count(names, "blocks.1.mixer.position.weight") == 1);
  CHECK(names.back() == "final_norm.bias");

  Tokens tokens{{2, 3}, {1, 2, 3, 4, 5, 6}};
  Context context;
  Memory memory;
  auto whole = model.make_cache(), part = blocks.make_cache();
  for (int segment = 0; segment < 2; ++segment) {
    auto [logits, inputs, features] = model(tokens, memory, context);
    Tensor x = embedding(tokens, 0, context);
    BlocksOutput found = blocks(x, memory, context);
    CHECK(same_bits(output(found.output), logits));
    CHECK(same_bits(output(blocks(x, *part, context)), model(tokens, *whole, context)));
    memory = remember(memory, found.block_inputs, 2);
  }
}

TEST_CASE("blocks: a saved and loaded state dict") {
  for (const BlocksConfig& config : causal_configs()) {
    CAPTURE(name_of_config(config));
    RandomValues random(18);
    Blocks blocks = blocks_of(config, random);
    Blocks loaded =
        loaded_model(state_dict(blocks), "file", [&](Init init) { return Blocks(config, init); });
    Tensor x = random.tensor({2, 3, vector_width});
    Sourced sourced(random);
    Context context = sourced.context();
    CHECK(same_bits(loaded(x, context), blocks(x, context)));
  }
  Random start;
  Blocks blocks(blocks_config(MultiHeadAttentionConfig{}), start);
  auto weights = state_dict(blocks);
  weights.erase("final_norm.bias");
  CHECK(refusal([&] { load_state_dict(blocks, weights, "file"); }) ==
        "file: missing tensors \"final_norm.bias\"");
}

TEST_CASE("blocks: mixers of a program's own, which need not be alike") {
  BlocksConfig config = blocks_config({});
  Random start;
  int64_t made = 0;
  auto maker = [&](Random& random) -> std::unique_ptr<Layer> {
    AftConfig aft{.max_len = 9 - ++made};
    return std::make_unique<Aft>(aft, Width{vector_width}, random);
  };
  for (bool cross_attention : {false, true}) {
    made = 0;
    config.cross_attention = cross_attention;
    Blocks blocks(config, start, maker);
    CHECK(made == 2);
    CHECK(blocks.config.own_mixer);
    CHECK(blocks.limits().length == 7);
    CHECK(blocks.limits().keys == 7);
    CHECK(refusal([&] { Blocks(blocks.config, start); }) ==
          "blocks: own_mixer true, which needs the maker of that mixer");
    auto none = [](Random&) { return std::unique_ptr<Layer>(); };
    CHECK(refusal([&] { Blocks(config, start, none); }) ==
          "blocks: own_mixer returned null, expected a mixer");
  }
}

TEST_CASE("blocks: a step that throws leaves the cache as it was") {
  RandomValues random(19);
  Blocks blocks = blocks_of(blocks_config(TransformerXLAttentionConfig{}), random);
  Tensor x = random.tensor({2, 3, vector_width}), next = random.tensor({2, 1, vector_width});
  Context plain, throwing;
  int called = 0;
  throwing.recorder = [&](const Tensor&) { require(++called < 2, "in the second block"); };
  CacheValue cache = blocks.make_cache();
  blocks(x, *cache, plain);
  CacheValue untouched = cache;
  CHECK(refusal([&] { blocks(next, *cache, throwing); }) == "in the second block");
  CHECK(refusal([&] { blocks(random.tensor({3, 1, vector_width}), *cache, plain); }) != "");
  CHECK(same_bits(blocks(next, *cache, plain), blocks(next, *untouched, plain)));
}

TEST_CASE("blocks: what they refuse, in one line that names them") {
  auto refused = [](auto change) {
    BlocksConfig config = blocks_config(TransformerXLAttentionConfig{});
    change(config);
    Random start;
    return refusal([&] { Blocks(config, start); });
  };
  using Config = BlocksConfig;
  CHECK(refused([](Config& c) { c = {}; }) == "blocks: d_model 0, expected at least 1");
  CHECK(refused([](Config& c) { c.n_layer = 0; }) == "blocks: n_layer 0, expected at least 1");
  CHECK(refused([](Config& c) { c.d_inner = -3; }) == "blocks: d_inner -3, expected at least 1");
  CHECK(refused([](Config& c) { c.dropout = 1; }) ==
        "blocks: dropout 1, expected 0 to less than 1");
  CHECK(refused([](Config& c) { c.own_mixer = true; }) ==
        "blocks: own_mixer true, which needs the maker of that mixer");
  CHECK(refused([](Config& c) {
          c.tie_position_biases = true;
          c.mixer = AftConfig{.form = AftForm::simple};
        }) ==
        "blocks: tie_position_biases for blocks without mixer.content_bias, expected sinusoid "
        "transformer_xl_attention with both biases");
  auto recurrent = [](Config& c) {
    c.block = BlockType::r_transformer_block;
    c.window = 2;
  };
  CHECK(refused([](Config& c) { c.block = BlockType::r_transformer_block; }) ==
        "blocks: window 0, expected at least 1");
  CHECK(refused([=](Config& c) {
          recurrent(c);
          c.cross_attention = true;
        }) == "blocks: cross_attention in an r_transformer_block");
  Random start;
  BlocksConfig config = blocks_config({});
  recurrent(config);
  CHECK(refusal([&] { Blocks(config, start, [](Random&) { return nullptr; }); }) ==
        "blocks: a mixer of one's own in an r_transformer_block");

  Blocks blocks(blocks_config(TransformerXLAttentionConfig{}), start),
      other(blocks_config(TransformerXLAttentionConfig{}), start);
  Context context;
  Tensor x = Tensor::zeros({2, 3, vector_width}), two = Tensor::zeros({2, 2, vector_width}),
         three = x;
  CHECK(refusal([&] { blocks(Tensor(), context); }) ==
        "blocks: x is undefined, expected [B, T, 4]");
  CHECK(refusal([&] {
          blocks(Tensor::zeros({2, 3, 5}), context);
        }) == "blocks: x [2, 3, 5], expected [B, T, 4]");
  CHECK(refusal([&] { blocks(x, {two}, context); }) == "blocks: memory for 1 blocks of 2");
  CHECK(refusal([&] {
          blocks(x, {two, three}, context);
        }) == "blocks: memories of [2, 2, 4] and [2, 3, 4], expected one [B, M, C] for all blocks");
  CacheValue cache = other.make_cache();
  CHECK(refusal([&] { blocks(x, *cache, context); }) ==
        "blocks: the cache of another module; expected one that make_cache of this module gave");
  cache = blocks.make_cache();
  Tape tape;
  CHECK(refusal([&] { blocks(x, *cache, context); }) ==
        "blocks: a cache is for fixed weights, and a tape records; expected a Tape::Pause");
}
