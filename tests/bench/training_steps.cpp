// Training steps of language models: batch, forward, backward, clipping, AdamW.
//
//     flops of a step = 3 · (2 · tokens · weights in products + attention's two or three products)
//
// three times the forward pass, the usual count: the backward pass makes two products of each.

#include "nn/models/language_model.h"
#include "optim/trainer.h"
#include "tests/bench/measure.h"

namespace shiftgrad::bench {

namespace {

struct Shape {
  bool memory;  // Transformer-XL with as many remembered tokens as new ones, else a transformer
  int64_t L, H, C, T, B;
};

constexpr Shape shapes[] = {
    {false, 4, 4, 128, 64, 12}, {false, 6, 6, 384, 256, 8}, {true, 4, 4, 128, 64, 12},
    {true, 4, 4, 256, 128, 16}, {true, 4, 4, 256, 256, 16}, {true, 6, 6, 384, 256, 8},
};

constexpr int64_t vocabulary = 96;

std::string name(const Shape& s) {
  auto number = [](const char* letter, int64_t n) { return letter + std::to_string(n); };
  return (s.memory ? "transformer_xl" : "transformer") + number(" L", s.L) + number(" H", s.H) +
         number(" d", s.C) + number(" T", s.T) + (s.memory ? number(" M", s.T) : "") +
         number(" B", s.B);
}

LanguageModelConfig model_config(const Shape& s) {
  LanguageModelConfig config;
  config.vocab_size = vocabulary;
  config.d_model = s.C;
  config.n_layer = s.L;
  config.n_head = s.H;
  config.d_inner = 4 * s.C;
  config.activation = Activation::gelu;
  config.tie_embedding = true;
  if (s.memory) {
    config.mixer = TransformerXLAttentionConfig{};
  } else {
    config.position = TokenPosition::learned;
    config.max_len = s.T;
  }
  return config;
}

double step_flops(const Shape& s) {
  int64_t tokens = s.B * s.T, K = s.memory ? 2 * s.T : s.T, sources = s.B * K;
  double projections = product_flops(tokens, 2 * s.C, s.C) + product_flops(sources, 2 * s.C, s.C) +
                       (s.memory ? product_flops(K, s.C, s.C) : 0);
  double attention = (s.memory ? 3 : 2) * causal_flops(s.B, s.T, K - s.T, s.C);
  double feed_forward = product_flops(tokens, 8 * s.C, s.C);
  double layers = static_cast<double>(s.L) * (projections + attention + feed_forward);
  return 3 * (layers + product_flops(tokens, vocabulary, s.C));
}

Result run(const Shape& s, int runs) {
  Random random{.seed = 1};
  std::vector<int32_t> text(400000);
  for (int32_t& token : text) token = static_cast<int32_t>(random.below(vocabulary));
  LanguageModel model(model_config(s), random);
  TrainerConfig config;
  config.batch_size = s.B;
  config.block_size = s.T;
  config.batches = s.memory ? BatchType::streams : BatchType::blocks;
  config.mem_len = s.memory ? s.T : 0;
  Trainer trainer(model, text, text, config);
  Result result = timed(runs, [&] { trainer.step(); });
  result.flops = step_flops(s);
  result.tokens = static_cast<double>(s.B * s.T);
  return result;
}

}  // namespace

std::vector<Case> training_cases() {
  std::vector<Case> list;
  for (const Shape& shape : shapes)
    list.push_back({name(shape), [&shape](int runs) { return run(shape, runs); }});
  return list;
}

}  // namespace shiftgrad::bench
