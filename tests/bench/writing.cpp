// Writing one text token by token, L4 H4 d128: 100 tokens after 200, and after 4000. Where the
// cache is bounded, the second costs what the first does. And GPT-2's models of 11 and 85 million
// parameters, whose weights no cache holds: 200 tokens are before those of one text and of four,
// and a prompt has 512.

#include <memory>

#include "core/packed_weights.h"
#include "core/tape.h"
#include "nn/models/generate.h"
#include "nn/models/language_model.h"
#include "nn/models/sampling.h"
#include "tests/bench/measure.h"
#include "tests/bench/models.h"

namespace shiftgrad::bench {

namespace {

struct Row {
  std::string name;
  LanguageModelConfig config;
  int64_t limit = unlimited;
};

LanguageModelConfig r_transformer() {
  LanguageModelConfig config = small_model({});
  config.block = BlockType::r_transformer_block;
  config.window = 7;
  config.cell = RecurrentCell::gru;
  return config;
}

std::vector<Row> rows() {
  MultiHeadAttentionConfig rope, alibi;
  rope.position = AttentionPosition::rope;
  alibi.position = AttentionPosition::alibi;
  AftConfig simple, conv, local;
  simple.form = AftForm::simple;
  conv.form = AftForm::conv;
  conv.window = 11;
  local.form = AftForm::local;
  local.window = 32;
  local.max_len = 8192;
  local.factor_rank = 32;
  constexpr int64_t memory = 128;
  return {
      {"transformer rope", small_model(rope)},
      {"transformer rope, memory 128", small_model(rope), memory},
      {"transformer alibi, memory 128", small_model(alibi), memory},
      {"transformer_xl, memory 128", small_model(TransformerXLAttentionConfig{}), memory},
      {"labml, memory 128", small_model(RelativeMultiHeadAttentionConfig{}), memory},
      {"music, max_seq 128", small_model(RelativeGlobalAttentionConfig{.max_seq = memory})},
      {"shaw k16, memory 128", small_model(ShawAttentionConfig{.max_distance = 16}), memory},
      {"aft simple", small_model(simple)},
      {"aft local s32", small_model(local)},
      {"aft conv s11", small_model(conv)},
      {"local_rnn s7 gru", small_model(LocalRnnConfig{.window = 7, .cell = RecurrentCell::gru})},
      {"r_transformer s7 gru, memory 128", r_transformer(), memory},
  };
}

/// Writes `length` tokens of so many texts at once after `before` others.
Result run(const Row& row, int64_t texts, int64_t before, int64_t length, int runs) {
  Random random{.seed = 1};
  LanguageModel model(row.config, random);
  std::unique_ptr<Cache> cache = model.make_cache(row.limit);
  Context context;
  for (int64_t t = 0; t < before; t += 100)
    model({{texts, 100}, std::vector<int32_t>(texts * 100, 7)}, *cache, context);
  PackedWeights weights;
  std::vector<int32_t> tokens(texts, 7);
  Result result = timed(runs, [&] {
    std::unique_ptr<Cache> own = cache->clone();
    for (int64_t t = 0; t < length; ++t) {
      Tensor logits = model({{texts, 1}, tokens}, *own, context);  // [texts, 1, V]
      for (int64_t n = 0; n < texts; ++n) {
        std::span row(logits.data() + n * logits.size(2), static_cast<size_t>(logits.size(2)));
        tokens[n] = sample(row, {.temperature = 0.8}, random);
      }
    }
  });
  result.tokens = static_cast<double>(texts * length);
  return result;
}

/// Reads a prompt, as `generate` does before it writes.
Result read(const LanguageModelConfig& config, int64_t length, int runs) {
  Random random{.seed = 1};
  LanguageModel model(config, random);
  const std::vector<int32_t> prompt(length, 7);
  Result result = timed(runs, [&] { PrefilledPrompt(model, prompt, {}); });
  result.tokens = static_cast<double>(length);
  return result;
}

/// GPT-2's model of this size, over our vocabulary.
LanguageModelConfig gpt(int64_t layers, int64_t heads, int64_t channels) {
  LanguageModelConfig config = small_model({});
  config.n_layer = layers;
  config.n_head = heads;
  config.d_model = channels;
  config.d_inner = 4 * channels;
  config.activation = Activation::gelu_tanh;
  config.position = TokenPosition::learned;
  config.max_len = 1024;
  return config;
}

/// What `llama.py` times beside llama.cpp.
void add_gpt(std::vector<Case>& list, const std::string& size, const LanguageModelConfig& config,
             int64_t length) {
  for (int64_t texts : {1, 4})
    list.push_back({"gpt " + size + (texts == 1 ? ", one text" : ", four texts"), [=](int runs) {
                      return run({size, config}, texts, 200, length, runs);
                    }});
  list.push_back({"gpt " + size + ", a prompt", [=](int runs) { return read(config, 512, runs); }});
}

}  // namespace

std::vector<Case> writing_cases() {
  std::vector<Case> list;
  for (const Row& row : rows())
    for (int64_t before : {200, 4000})
      list.push_back({"writing " + row.name + ", after " + std::to_string(before),
                      [row, before](int runs) { return run(row, 1, before, 100, runs); }});
  add_gpt(list, "L6 H6 d384", gpt(6, 6, 384), 32);
  add_gpt(list, "L12 H12 d768", gpt(12, 12, 768), 16);
  return list;
}

}  // namespace shiftgrad::bench
