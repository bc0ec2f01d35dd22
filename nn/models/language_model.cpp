#include "shiftgrad/nn/models/language_model.h"

#include <algorithm>

#include "shiftgrad/core/checked.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/tape.h"
#include "shiftgrad/nn/sizes.h"
#include "shiftgrad/ops/matmul.h"
#include "shiftgrad/ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

void check(const LanguageModelConfig& config) {
  AtLeast at_least{config.type};
  at_least(1, "vocab_size", config.vocab_size);
  at_least(1, "d_model", config.d_model);
  at_least(1, "n_layer", config.n_layer);
  at_least(1, "n_head", config.n_head);
  at_least(1, "d_inner", config.d_inner);
  require(
      config.block == TransformerBlockConfig::type || config.block == RTransformerBlockConfig::type,
      config.type, ": block \"", config.block,
      "\", expected transformer_block or r_transformer_block");
}

std::unique_ptr<Layer> made_by(const MixerMaker& maker, Random& random) {
  UnfilledParameters::Pause pause;
  return maker(random);
}

}  // namespace

LanguageModel::LanguageModel(const LanguageModelConfig& model, Random& random,
                             const MixerMaker& own_mixer)
    : config(model) {
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
  for (int64_t n = 0; n < config.n_layer; ++n) blocks.push_back(build_block(random, own_mixer));
  if (config.tie_position_biases) tie_position_biases();
  if (config.final_norm) final_norm = LayerNorm(config.d_model);
  output_weight = config.tie_embedding
                      ? embedding.weight
                      : normal_parameter({config.vocab_size, config.d_model}, random);
  output_bias = constant_parameter({config.vocab_size}, 0);
}

std::unique_ptr<Layer> LanguageModel::build_block(Random& random, const MixerMaker& own_mixer) {
  if (config.block == RTransformerBlockConfig::type) {
    require(!own_mixer, config.type, ": a mixer of one's own in an r_transformer_block");
    return std::make_unique<RTransformerBlock>(
        RTransformerBlockConfig{.d_model = config.d_model,
                                .n_head = config.n_head,
                                .window = config.window,
                                .cell = config.cell,
                                .d_inner = config.d_inner,
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
  if (config.norm_first) shrink_residual_projections(*block, 2 * config.n_layer);
  return block;
}

void LanguageModel::tie_position_biases() {
  for (auto& layer : blocks) {
    auto* block = dynamic_cast<TransformerBlock*>(layer.get());
    auto* attention = block ? dynamic_cast<TransformerXLAttention*>(block->mixer.get()) : nullptr;
    require(attention && attention->position_bias.defined(), config.type,
            ": tie_position_biases needs sinusoid transformer_xl_attention");
    if (!content_bias.defined()) {
      content_bias = attention->content_bias;
      position_bias = attention->position_bias;
    }
    attention->content_bias = content_bias;
    attention->position_bias = position_bias;
  }
}

Tensor LanguageModel::features(const Tensor& x, Context& context) const {
  return context.drop(config.final_norm ? final_norm(x) : x, config.dropout);
}

Tensor LanguageModel::logits(const Tensor& features) const {
  return linear(features, output_weight, output_bias);  // [B, T, V]
}

Tensor LanguageModel::forward(const Tokens& tokens, const Memory& memory, Context& context,
                              std::vector<Tensor>* block_inputs) const {
  return logits(features(tokens, memory, context, block_inputs));
}

Tensor LanguageModel::features(const Tokens& tokens, const Memory& memory, Context& context,
                               std::vector<Tensor>* block_inputs) const {
  require(memory.empty() || memory.size() == blocks.size(), config.type, ": memory for ",
          memory.size(), " blocks of ", blocks.size());
  for (const Tensor& block : memory)
    require(block.shape() == memory[0].shape() && block.rank() == 3, config.type, ": memories of ",
            memory[0].shape(), " and ", block.shape(), ", expected one [B, M, C] for all blocks");
  Tensor x = embedding(tokens, memory.empty() ? 0 : memory[0].size(1), context);
  for (size_t n = 0; n < blocks.size(); ++n) {
    if (block_inputs) block_inputs->push_back(x);
    x = blocks[n]->forward(x, memory.empty() ? Tensor() : memory[n], context);
  }
  return features(x, context);
}

LanguageModelState LanguageModel::start(int64_t limit) const {
  LanguageModelState state;
  for (const auto& block : blocks) state.blocks.push_back(block->start(limit));
  return state;
}

Tensor LanguageModel::forward(const Tokens& tokens, LanguageModelState& state,
                              Context& context) const {
  require(state.blocks.size() == blocks.size(), config.type,
          ": a State of another model; use the one that start() of this model gave");
  Tensor x = embedding(tokens, state.position, context);
  for (size_t n = 0; n < blocks.size(); ++n) x = blocks[n]->forward(x, *state.blocks[n], context);
  state.position += tokens.shape[1];
  return logits(features(x, context));
}

int64_t LanguageModel::longest() const {
  return std::min(embedding.longest(), blocks.front()->longest());
}

int64_t LanguageModel::most_keys() const {
  return std::min(longest(), blocks.front()->most_keys());
}

void LanguageModel::visit(Visitor& visitor) const {
  embedding.visit(visitor);
  visitor("content_bias", content_bias);
  visitor("position_bias", position_bias);
  visitor("blocks", blocks);
  visitor("final_norm", final_norm);
  visitor("output.weight", output_weight, Decay::yes);
  visitor("output.bias", output_bias);
}

Memory remember(const Memory& memory, const std::vector<Tensor>& inputs, int64_t length) {
  Tape::Pause constant;
  Memory result;
  for (size_t n = 0; n < inputs.size(); ++n) {
    Tensor all = memory.empty() ? inputs[n] : concat({memory[n], inputs[n]}, 1);  // [B, M + T, C]
    int64_t kept = std::min(length, all.size(1));
    result.push_back(contiguous(slice(all, 1, all.size(1) - kept, all.size(1))).detach());
  }
  return result;
}

LanguageModelState LanguageModelState::clone() const {
  LanguageModelState copy;
  for (const auto& block : blocks) copy.blocks.push_back(block->clone());
  copy.position = position;
  return copy;
}

void LanguageModelState::forget_newest(int64_t count) {
  for (auto& block : blocks) block->forget_newest(count);
  position -= count;
}

void LanguageModelState::reorder(const std::vector<int64_t>& members) {
  for (auto& block : blocks) block->reorder(members);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
