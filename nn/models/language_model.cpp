#include "nn/models/language_model.h"

#include <algorithm>

#include "core/checked.h"
#include "core/errors.h"
#include "nn/models/config.h"
#include "nn/sizes.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

void check(const LanguageModelConfig& config) {
  AtLeast at_least{config.type};
  at_least(1, "vocab_size", config.vocab_size);
  at_least(1, "d_model", config.d_model);
  at_least(1, "n_layer", config.n_layer);
  at_least(1, "n_head", config.n_head);
  at_least(1, "d_inner", config.d_inner);
  require(!config.layer_positions || config.position == TokenPosition::learned, config.type,
          ": layer_positions true, expected with learned positions only");
}

std::unique_ptr<Layer> made_by(const MixerMaker& maker, Random& random) {
  UnfilledParameters::Pause pause;
  return maker(random);
}

}  // namespace

LanguageModel::LanguageModel(const LanguageModelConfig& model, Random& random,
                             const MixerMaker& own_mixer)
    : config(model) {
  name = config.type;
  require(own_mixer || !config.own_mixer, config.type,
          ": own_mixer true, which needs the maker of that mixer");
  config.own_mixer = own_mixer != nullptr;
  check_sizes(config);
  check(config);
  embedding = TokenEmbedding(config.type,
                             {.vocab_size = config.vocab_size,
                              .d_model = config.d_model,
                              .position = config.position,
                              .max_len = config.max_len,
                              .scale = config.embedding_scale,
                              .dropout = config.dropout},
                             random);
  if (config.layer_positions && config.n_layer > 1)
    layer_positions =
        normal_parameter({config.n_layer - 1, *config.max_len, config.d_model}, random);
  for (int64_t n = 0; n < config.n_layer; ++n) blocks.push_back(build_block(random, own_mixer));
  if (config.tie_position_biases) tie_position_biases();
  if (config.final_norm) final_norm = LayerNorm(config.d_model);
  output_weight = config.tie_embedding
                      ? embedding.weight
                      : normal_parameter({config.vocab_size, config.d_model}, random);
  output_bias = constant_parameter({config.vocab_size}, 0);
}

std::unique_ptr<Layer> LanguageModel::build_block(Random& random, const MixerMaker& own_mixer) {
  if (config.block == BlockType::r_transformer_block) {
    require(!own_mixer, config.type, ": a mixer of one's own in an r_transformer_block");
    return std::make_unique<RTransformerBlock>(
        RTransformerBlockConfig{.d_model = config.d_model,
                                .n_head = config.n_head,
                                .window = config.window,
                                .cell = config.cell,
                                .d_inner = config.d_inner,
                                .rnn_layers = config.rnn_layers,
                                .dropout = config.dropout,
                                .attention_dropout = config.attention_dropout},
        random);
  }
  MixerConfig mixer = sized(config.mixer, {.d_model = config.d_model,
                                           .n_head = config.n_head,
                                           .dropout = config.dropout,
                                           .attention_dropout = config.attention_dropout});
  TransformerBlockConfig parts{.mixer = mixer,
                               .d_inner = config.d_inner,
                               .norm_first = config.norm_first,
                               .activation = config.activation,
                               .dropout = config.dropout};
  auto block = std::make_unique<TransformerBlock>(
      parts, config.d_model, own_mixer ? made_by(own_mixer, random) : make_mixer(mixer, random),
      random);
  if (config.norm_first) shrink(block->residual_projections(), 2 * config.n_layer);
  return block;
}

void LanguageModel::tie_position_biases() {
  for (auto& block : blocks) {
    std::vector<Tensor*> biases = block->position_biases();
    require(biases.size() == 2, config.type,
            ": tie_position_biases needs sinusoid transformer_xl_attention");
    if (!content_bias.defined()) {
      content_bias = *biases[0];
      position_bias = *biases[1];
    }
    *biases[0] = content_bias;
    *biases[1] = position_bias;
  }
}

ModelTraits LanguageModel::traits() const {
  return {.vocab_size = config.vocab_size,
          .d_model = config.d_model,
          .n_layer = config.n_layer,
          .absolute_positions = config.position != TokenPosition::none || longest() != unlimited,
          .final_norm = config.final_norm,
          .dropout = config.dropout,
          .attention_dropout = config.attention_dropout};
}

Tensor LanguageModel::placed(const Tensor& x, size_t block, int64_t first) const {
  if (block == 0 || !layer_positions.defined()) return x;
  Tensor table = select(layer_positions, 0, static_cast<int64_t>(block) - 1);  // [max_len, C]
  return x + slice(table, 0, first, first + x.size(1));
}

Tensor LanguageModel::features(const Tensor& x, Context& context) const {
  return context.drop(config.final_norm ? final_norm(x) : x, config.dropout);
}

Tensor LanguageModel::logits(const Tensor& features) const {
  return linear(features, output_weight, output_bias);  // [B, T, V]
}

ModelOutput LanguageModel::forward(const Tokens& tokens, const Memory& memory,
                                   Context& context) const {
  require(memory.empty() || memory.size() == blocks.size(), config.type, ": memory for ",
          memory.size(), " blocks of ", blocks.size());
  for (const Tensor& block : memory)
    require(block.shape() == memory[0].shape() && block.rank() == 3, config.type, ": memories of ",
            memory[0].shape(), " and ", block.shape(), ", expected one [B, M, C] for all blocks");
  ModelOutput output;
  int64_t M = memory.empty() ? 0 : memory[0].size(1);
  Tensor x = embedding(tokens, M, context);
  for (size_t n = 0; n < blocks.size(); ++n) {
    output.block_inputs.push_back(x);
    Tensor earlier = memory.empty() ? Tensor() : placed(memory[n], n, 0);
    x = (*blocks[n])(placed(x, n, M), earlier, context);
  }
  output.features = features(x, context);
  output.logits = logits(output.features);
  return output;
}

std::unique_ptr<State> LanguageModel::start(int64_t limit) const {
  auto state = new_state<LanguageModelState>();
  for (const auto& block : blocks) state->blocks.push_back(block->start(limit));
  return state;
}

Tensor LanguageModel::step(const Tokens& tokens, State& state, Context& context) const {
  return advance<LanguageModelState>(state, {}, [&](LanguageModelState& past) {
    Tensor x = embedding(tokens, past.position, context);
    for (size_t n = 0; n < blocks.size(); ++n)
      x = (*blocks[n])(placed(x, n, past.position), *past.blocks[n], context);
    past.position += tokens.shape[1];
    return logits(features(x, context));
  });
}

int64_t LanguageModel::longest() const {
  return std::min(embedding.longest(), blocks.front()->longest());
}

int64_t LanguageModel::most_keys() const {
  return std::min(longest(), blocks.front()->most_keys());
}

std::string LanguageModel::config_text() const { return config_to_json(config); }

void LanguageModel::visit(Visitor& visitor) const {
  embedding.visit(visitor);
  visitor("layer_positions", layer_positions);
  visitor("content_bias", content_bias);
  visitor("position_bias", position_bias);
  visitor("blocks", blocks);
  visitor("final_norm", final_norm);
  visitor("output.weight", output_weight, Decay::yes);
  visitor("output.bias", output_bias);
}

std::unique_ptr<State> LanguageModelState::clone() const {
  return std::make_unique<LanguageModelState>(*this);
}

void LanguageModelState::forget_newest(int64_t count) {
  for (auto& block : blocks) block->forget_newest(count);
  position -= count;
}

void LanguageModelState::reorder(const std::vector<int64_t>& members) {
  for (auto& block : blocks) block->reorder(members);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
