#include "nn/models/language_model.h"

#include <algorithm>

#include "core/errors.h"
#include "nn/models/config.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

LanguageModel::LanguageModel(const LanguageModelConfig& model, Init values,
                             const MixerMaker& own_mixer)
    : config(model) {
  name = config.type;
  require(own_mixer || !config.own_mixer, config.type,
          ": own_mixer true, which needs the maker of that mixer");
  config.own_mixer = own_mixer != nullptr;
  check_fields(config.type, config);
  require(!config.layer_positions || config.position == TokenPosition::learned, config.type,
          ": layer_positions true, expected with learned positions only");
  stack.embedding = token_embedding(config.type, config, config.vocab_size, config.position,
                                    config.max_len, values);
  if (config.layer_positions && config.n_layer > 1)
    stack.layer_positions =
        normal_parameter({config.n_layer - 1, *config.max_len, config.d_model}, values);
  for (int64_t n = 0; n < config.n_layer; ++n)
    stack.blocks.push_back(build_block(values, own_mixer));
  if (config.block == BlockType::transformer_block && config.norm_first)
    stack.shrink_projections(values);
  if (config.tie_position_biases) tie_position_biases();
  if (config.final_norm) stack.norm = LayerNorm(config.d_model);
  output = output_layer(stack.embedding, config.tie_embedding, values);
}

std::unique_ptr<Block> LanguageModel::build_block(Init values, const MixerMaker& own_mixer) {
  if (config.block == BlockType::r_transformer_block) {
    require(!own_mixer, config.type, ": a mixer of one's own in an r_transformer_block");
    return std::make_unique<RTransformerBlock>(part_of<RTransformerBlockConfig>(config),
                                               Width{config.d_model, config.n_head}, values);
  }
  return std::make_unique<TransformerBlock>(part_of<TransformerBlockConfig>(config),
                                            width_in(config.mixer, config.d_model, config.n_head),
                                            values,
                                            own_mixer ? own_mixer(*values.random) : nullptr);
}

void LanguageModel::tie_position_biases() {
  for (auto [name, shared] : {std::pair{"mixer.content_bias", &content_bias},
                              std::pair{"mixer.position_bias", &position_bias}})
    for (const auto& block : stack.blocks) {
      std::vector<Parameter> own = parameters(*block);
      auto found = std::ranges::find(own, name, &Parameter::name);
      require(found != own.end(), config.type, ": tie_position_biases for blocks without ", name,
              ", expected sinusoid transformer_xl_attention with both biases");
      if (!shared->defined()) *shared = found->value;
      *parameter_places(*block)[found - own.begin()] = *shared;
    }
}

ModelTraits LanguageModel::traits() const {
  return {.vocab_size = config.vocab_size,
          .d_model = config.d_model,
          .n_layer = config.n_layer,
          .absolute_positions = config.position != TokenPosition::none || max_length() != unlimited,
          .final_norm = config.final_norm,
          .dropout = config.dropout,
          .attention_dropout = config.attention_dropout};
}

ModelOutput LanguageModel::forward(const Tokens& tokens, const Memory& memory,
                                   Context& context) const {
  require(memory.empty() || memory.size() == stack.blocks.size(), config.type, ": memory for ",
          memory.size(), " blocks of ", stack.blocks.size());
  for (const Tensor& block : memory)
    require(block.shape() == memory[0].shape() && block.rank() == 3, config.type, ": memories of ",
            memory[0].shape(), " and ", block.shape(), ", expected one [B, M, C] for all blocks");
  ModelOutput result;
  Tensor x = stack(tokens, memory, nullptr, context, &result.block_inputs);  // [B, T, C]
  result.features = context.drop(x, config.dropout);
  result.logits = output(result.features);  // [B, T, V]
  return result;
}

std::unique_ptr<Cache> LanguageModel::make_cache(int64_t limit) const {
  auto caches = new_cache<Caches>();
  stack.make_caches(*caches, limit);
  return caches;
}

Tensor LanguageModel::step(const Tokens& tokens, Cache& cache, Context& context) const {
  Tensor x = stack(tokens, {}, &dynamic_cast<Caches&>(cache), context);
  return output(context.drop(x, config.dropout));
}

std::string LanguageModel::config_text() const { return config_to_json(config); }

void LanguageModel::visit(Visitor& visitor) const {
  stack.embedding.visit(visitor);
  visitor("layer_positions", stack.layer_positions);
  visitor("content_bias", content_bias);
  visitor("position_bias", position_bias);
  visitor("blocks", stack.blocks);
  visitor("final_norm", stack.norm);
  visitor("output", output);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
