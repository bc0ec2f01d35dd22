#include "nn/models/language_model.h"

#include "core/errors.h"
#include "nn/models/config.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

LanguageModel::LanguageModel(const LanguageModelConfig& model, Init init,
                             const MixerMaker& own_mixer)
    : config(model) {
  name = config.type;
  check_fields(config.type, config);
  require(!config.layer_positions || config.position == TokenPosition::learned, config.type,
          ": layer_positions true, expected with learned positions only");
  embedding = token_embedding(config.type, config, config.vocab_size, config.position,
                              config.max_len, init);
  Tensor positions;
  if (config.layer_positions && config.n_layer > 1)
    positions = normal_parameter({config.n_layer - 1, *config.max_len, config.d_model}, init);
  blocks = Blocks(shared_fields<BlocksConfig>(config), init, own_mixer, config.type);
  blocks.layer_positions = positions;
  config.own_mixer = blocks.config.own_mixer;
  output = output_layer(embedding, config.tie_embedding, init);
}

ModelTraits LanguageModel::traits() const {
  return {
      .vocab_size = config.vocab_size,
      .d_model = config.d_model,
      .n_layer = config.n_layer,
      .absolute_positions = config.position != TokenPosition::none || limits().length != unlimited,
      .final_norm = config.final_norm,
      .dropout = config.dropout,
      .attention_dropout = config.attention_dropout};
}

ModelOutput LanguageModel::forward(const Tokens& tokens, const Memory& memory,
                                   Context& context) const {
  Tensor x = embedding(tokens, blocks.memory_length(memory), context);  // [B, T, C]
  auto [y, inputs] = blocks(x, memory, context);
  Tensor features = context.drop(y, config.dropout);
  return {output(features), std::move(inputs), features};
}

std::unique_ptr<Cache> LanguageModel::make_cache(int64_t limit) const {
  auto cache = blocks.make_cache(limit);
  cache->owner = identity();
  return cache;
}

Tensor LanguageModel::step(const Tokens& tokens, Cache& cache, Context& context) const {
  int64_t first = dynamic_cast<Caches&>(cache).position;
  Tensor x = embedding(tokens, first, context);  // [B, T, C]
  return output(context.drop(blocks.step(x, cache, context), config.dropout));
}

std::string LanguageModel::config_text() const { return config_to_json(config); }

void LanguageModel::visit(Visitor& visitor) const {
  embedding.visit(visitor);
  blocks.visit(visitor);
  visitor("output", output);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
