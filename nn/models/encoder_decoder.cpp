#include "nn/models/encoder_decoder.h"

#include <algorithm>

#include "core/checked.h"
#include "core/errors.h"
#include "nn/sizes.h"
#include "ops/concat.h"
#include "ops/matmul.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

void check(const EncoderDecoderConfig& config) {
  AtLeast at_least{config.type};
  at_least(1, "source_vocab_size", config.source_vocab_size);
  at_least(1, "target_vocab_size", config.target_vocab_size);
  at_least(1, "d_model", config.d_model);
  at_least(1, "n_encoder_layer", config.n_encoder_layer);
  at_least(1, "n_decoder_layer", config.n_decoder_layer);
  at_least(1, "n_head", config.n_head);
  at_least(1, "d_inner", config.d_inner);
  require(!config.share_embedding || config.source_vocab_size == config.target_vocab_size,
          config.type, ": share_embedding with vocabularies of ", config.source_vocab_size, " and ",
          config.target_vocab_size, ", expected one size");
}

TransformerBlockConfig block_config(const EncoderDecoderConfig& model, const MixerConfig& mixer,
                                    bool causal) {
  MixerSizes sizes{.d_model = model.d_model,
                   .n_head = model.n_head,
                   .dropout = model.dropout,
                   .attention_dropout = model.attention_dropout};
  return {.mixer = directed(sized(mixer, sizes), causal, model.type),
          .d_inner = model.d_inner,
          .norm_first = model.norm_first,
          .activation = model.activation,
          .dropout = model.dropout};
}

/// Returns a context for tokens with this padding, with random numbers of its own.
Context with_padding(Context& context, const std::shared_ptr<const Mask>& padding) {
  context.refuse_masks(EncoderDecoderConfig::type);
  Context own = context;
  own.random = {.seed = context.random.seed, .stream = context.random.next_stream()};
  own.key_padding_mask = padding;
  return own;
}

}  // namespace

PaddedTokens padded(const std::vector<std::vector<int32_t>>& sequences, int32_t fill) {
  size_t longest = 1;
  bool equal = true;
  for (const auto& sequence : sequences) longest = std::max(longest, sequence.size());
  for (const auto& sequence : sequences) equal = equal && sequence.size() == longest;
  Dims shape{std::ssize(sequences), static_cast<int64_t>(longest)};
  PaddedTokens result{{shape, {}}};
  Mask padding{shape, {}};
  for (const auto& sequence : sequences) {
    std::vector<int32_t>& tokens = result.tokens.values;
    tokens.insert(tokens.end(), sequence.begin(), sequence.end());
    tokens.insert(tokens.end(), longest - sequence.size(), fill);
    padding.values.insert(padding.values.end(), sequence.size(), 0);
    padding.values.insert(padding.values.end(), longest - sequence.size(), 1);
  }
  if (!equal) result.padding = std::make_shared<const Mask>(std::move(padding));
  return result;
}

EncoderDecoder::EncoderDecoder(const EncoderDecoderConfig& model, Random& random) : config(model) {
  check_sizes(config);
  check(config);
  TokenEmbeddingConfig tokens{.vocab_size = config.source_vocab_size,
                              .d_model = config.d_model,
                              .position = config.encoder_position,
                              .max_len = config.encoder_max_len,
                              .scale = config.embedding_scale,
                              .dropout = config.dropout};
  source_embedding = TokenEmbedding("encoder_decoder: encoder", tokens, random);
  tokens.vocab_size = config.target_vocab_size;
  tokens.position = config.decoder_position;
  tokens.max_len = config.decoder_max_len;
  target_embedding = TokenEmbedding("encoder_decoder: decoder", tokens, random);
  if (config.share_embedding) target_embedding.weight = source_embedding.weight;

  TransformerBlockConfig block = block_config(config, config.encoder_mixer, false);
  for (int64_t n = 0; n < config.n_encoder_layer; ++n) {
    encoder.push_back(std::make_unique<TransformerBlock>(block, random));
    if (config.norm_first)
      shrink(encoder.back()->residual_projections(), 2 * config.n_encoder_layer);
  }
  EncoderDecoderBlockConfig cross{block_config(config, config.decoder_mixer, true), config.n_head};
  for (int64_t n = 0; n < config.n_decoder_layer; ++n) {
    decoder.push_back(std::make_unique<EncoderDecoderBlock>(cross, random));
    decoder.back()->cross_attention->attention_dropout = config.attention_dropout;
    if (config.norm_first)
      shrink(decoder.back()->residual_projections(), 3 * config.n_decoder_layer);
  }
  if (config.final_norm) {
    encoder_norm = LayerNorm(config.d_model);
    decoder_norm = LayerNorm(config.d_model);
  }
  output_weight = config.tie_embedding
                      ? target_embedding.weight
                      : normal_parameter({config.target_vocab_size, config.d_model}, random);
  output_bias = constant_parameter({config.target_vocab_size}, 0);
}

Encoded EncoderDecoder::encode(const PaddedTokens& source, Context& context) const {
  Context own = with_padding(context, source.padding);
  Tensor x = source_embedding(source.tokens, 0, own);  // [B, S, C]
  for (const auto& block : encoder) x = (*block)(x, Tensor(), own);
  return {config.final_norm ? encoder_norm(x) : x, source.padding};
}

Tensor EncoderDecoder::decode(const PaddedTokens& targets, const Encoded& source, Context& context,
                              const ProbabilityRecorder& alignments) const {
  Context own = with_padding(context, targets.padding);
  Context cross = with_padding(context, source.padding);
  cross.recorder = alignments;
  Tensor x = target_embedding(targets.tokens, 0, own);  // [B, T, C]
  require(x.size(0) == source.output.size(0), config.type, ": ", x.size(0), " targets for ",
          source.output.size(0), " sources");
  for (const auto& block : decoder) x = (*block)(x, Tensor(), source.output, own, cross);
  return logits(x, own);
}

Tensor EncoderDecoder::operator()(const PaddedTokens& source, const PaddedTokens& targets,
                                  Context& context) const {
  return decode(targets, encode(source, context), context);
}

DecoderState EncoderDecoder::start(const Encoded& source) const {
  DecoderState state;
  for (const auto& block : decoder) {
    state.blocks.push_back(block->start());
    state.sources.push_back(block->cross_attention->source_heads(source.output));
  }
  state.source_padding = source.padding;
  return state;
}

Tensor EncoderDecoder::decode(const Tokens& targets, DecoderState& state, Context& context) const {
  require(state.blocks.size() == decoder.size(), config.type,
          ": a State of another model; use the one that start() of this model gave");
  Context own = with_padding(context, nullptr);
  Context cross = with_padding(context, state.source_padding);
  DecoderState past = state;
  Tensor x = target_embedding(targets, past.position, own);  // [N, T, C]
  for (size_t n = 0; n < decoder.size(); ++n)
    x = (*decoder[n])(x, *past.blocks[n], past.sources[n], own, cross);
  past.position += targets.shape[1];
  Tensor result = logits(x, own);
  state = std::move(past);
  return result;
}

Tensor EncoderDecoder::logits(const Tensor& x, Context& context) const {
  Tensor normed = config.final_norm ? decoder_norm(x) : x;
  return linear(context.drop(normed, config.dropout), output_weight, output_bias);  // [N, T, V]
}

int64_t EncoderDecoder::longest_source() const {
  return std::min(source_embedding.longest(), encoder.front()->longest());
}

int64_t EncoderDecoder::longest_target() const {
  return std::min(target_embedding.longest(), decoder.front()->mixer->longest());
}

void EncoderDecoder::visit(Visitor& visitor) const {
  visitor("source", source_embedding);
  visitor("target", target_embedding);
  visitor("encoder", encoder);
  visitor("encoder_norm", encoder_norm);
  visitor("decoder", decoder);
  visitor("decoder_norm", decoder_norm);
  visitor("output.weight", output_weight, Decay::yes);
  visitor("output.bias", output_bias);
}

void DecoderState::reorder(const std::vector<int64_t>& rows) {
  for (auto& block : blocks) block->reorder(rows);
}

void DecoderState::keep(const std::vector<int64_t>& kept_sources,
                        const std::vector<int64_t>& rows) {
  reorder(rows);
  auto kept = [&](const Tensor& x) {  // x [B, H, S, D]
    std::vector<Tensor> members;
    for (int64_t source : kept_sources) members.push_back(slice(x, 0, source, source + 1));
    return concat(members, 0);
  };
  for (auto& [key, value] : sources) {
    key = kept(key);
    value = kept(value);
  }
  if (!source_padding) return;
  int64_t S = source_padding->shape[1];
  Mask padding{{std::ssize(kept_sources), S}, {}};
  for (int64_t source : kept_sources) {
    auto row = source_padding->values.begin() + source * S;
    padding.values.insert(padding.values.end(), row, row + S);
  }
  source_padding = std::make_shared<const Mask>(std::move(padding));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
