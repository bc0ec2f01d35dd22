// Writing one text token by token, L4 H4 d128: 100 tokens after 200, and after 4000. Where the
// cache is bounded, the second costs what the first does.

#include <memory>

#include "core/packed_weights.h"
#include "core/tape.h"
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

Result run(const Row& row, int64_t before, int runs) {
  constexpr int64_t length = 100;
  Random random{.seed = 1};
  LanguageModel model(row.config, random);
  std::unique_ptr<Cache> cache = model.make_cache(row.limit);
  Context context;
  for (int64_t t = 0; t < before; t += 100)
    model({{1, 100}, std::vector<int32_t>(100, 7)}, *cache, context);
  PackedWeights weights;
  int32_t token = 7;
  Result result = timed(runs, [&] {
    std::unique_ptr<Cache> own = cache->clone();
    for (int64_t t = 0; t < length; ++t) {
      Tensor logits = model({{1, 1}, {token}}, *own, context);
      std::span row(logits.data(), static_cast<size_t>(logits.count()));
      token = sample(row, {.temperature = 0.8}, random);
    }
  });
  result.tokens = length;
  return result;
}

}  // namespace

std::vector<Case> writing_cases() {
  std::vector<Case> list;
  for (const Row& row : rows())
    for (int64_t before : {200, 4000})
      list.push_back({"writing " + row.name + ", after " + std::to_string(before),
                      [row, before](int runs) { return run(row, before, runs); }});
  return list;
}

}  // namespace shiftgrad::bench
