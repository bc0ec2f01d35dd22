#include "nn/models/encoder_decoder.h"

#include <algorithm>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

void check(const EncoderDecoderConfig& config) {
  check_fields(config.type, config);
  require(!config.share_embedding || config.source_vocab_size == config.target_vocab_size,
          config.type, ": share_embedding with vocabularies of ", config.source_vocab_size, " and ",
          config.target_vocab_size, ", expected one size");
}

/// The states of the decoder's blocks, and the source that they attend to from the first call on.
struct DecoderState : StateOf<DecoderState> {
  States blocks{};
  Encoded source{};

  void forget_newest(int64_t count) override { blocks.forget_newest(count); }
  void reorder(const std::vector<int64_t>& rows) override { blocks.reorder(rows); }
};

}  // namespace

PaddedTokens padded(const std::vector<std::vector<int32_t>>& sequences, int32_t fill) {
  size_t longest = 1;
  for (const auto& sequence : sequences) longest = std::max(longest, sequence.size());
  Tokens tokens{{std::ssize(sequences), static_cast<int64_t>(longest)}, {}};
  Mask padding{tokens.shape, {}};
  for (const auto& sequence : sequences)
    for (size_t n = 0; n < longest; ++n) {
      tokens.values.push_back(n < sequence.size() ? sequence[n] : fill);
      padding.values.push_back(n >= sequence.size());
    }
  bool any = std::ranges::find(padding.values, 1) != padding.values.end();
  return {std::move(tokens), any ? std::make_shared<const Mask>(std::move(padding)) : nullptr};
}

EncoderDecoder::EncoderDecoder(const EncoderDecoderConfig& model, Initial values) : config(model) {
  check(config);
  name = config.type;
  TokenEmbeddingConfig tokens{.vocab_size = config.source_vocab_size,
                              .d_model = config.d_model,
                              .position = config.encoder_position,
                              .max_len = config.encoder_max_len,
                              .scale = config.embedding_scale,
                              .dropout = config.dropout};
  encoder.embedding = TokenEmbedding("encoder_decoder: encoder", tokens, values);
  tokens.vocab_size = config.target_vocab_size;
  tokens.position = config.decoder_position;
  tokens.max_len = config.decoder_max_len;
  decoder.embedding = TokenEmbedding("encoder_decoder: decoder", tokens, values);
  if (config.share_embedding) decoder.embedding.weight = encoder.embedding.weight;

  auto block = [&](const MixerConfig& mixer, bool causal) {
    return block_config(config, directed(mixer_config(config, mixer), causal, config.type));
  };
  TransformerBlockConfig plain = block(config.encoder_mixer, false);
  for (int64_t n = 0; n < config.n_encoder_layer; ++n)
    encoder.blocks.push_back(std::make_unique<TransformerBlock>(plain, values));
  EncoderDecoderBlockConfig cross{block(config.decoder_mixer, true), config.n_head,
                                  config.attention_dropout};
  for (int64_t n = 0; n < config.n_decoder_layer; ++n)
    decoder.blocks.push_back(std::make_unique<EncoderDecoderBlock>(cross, values));
  for (Stack* side : {&encoder, &decoder}) {
    if (config.norm_first) side->shrink_projections(values);
    if (config.final_norm) side->norm = LayerNorm(config.d_model);
  }
  output = output_layer(config.d_model, config.target_vocab_size,
                        config.tie_embedding ? decoder.embedding.weight : Tensor(), values);
}

Encoded EncoderDecoder::encode(const PaddedTokens& source, Context& context) const {
  context.refuse_masks(config.type);
  Context own = context.with_padding(source.padding);
  return {encoder(source.tokens, Memory(), own), source.padding};
}

Tensor EncoderDecoder::decode(const PaddedTokens& targets, const Encoded& source, Context& context,
                              const ProbabilityRecorder& alignments) const {
  context.refuse_masks(config.type);
  int64_t B = targets.tokens.shape.empty() ? 0 : targets.tokens.shape[0];
  require(B == source.output.size(0), config.type, ": ", B, " targets for ", source.output.size(0),
          " sources");
  Context own = context.with_padding(targets.padding);
  Source given{source.output, context.with_padding(source.padding)};
  given.context.recorder = alignments;
  own.source = &given;
  return logits(decoder(targets.tokens, Memory(), own), own);
}

Tensor EncoderDecoder::operator()(const PaddedTokens& source, const PaddedTokens& targets,
                                  Context& context) const {
  return decode(targets, encode(source, context), context);
}

std::unique_ptr<State> EncoderDecoder::start(const Encoded& source) const {
  auto state = new_state<DecoderState>();
  decoder.start(state->blocks);
  state->source = source;
  return state;
}

Tensor EncoderDecoder::decode(const Tokens& targets, State& state, Context& context) const {
  return advance(state, {}, [&](State& next) {
    auto& past = dynamic_cast<DecoderState&>(next);
    context.refuse_masks(config.type);
    Context own = context.with_padding(nullptr);
    Source given{past.source.output, context.with_padding(past.source.padding)};
    own.source = &given;
    return logits(decoder(targets, past.blocks, own), own);
  });
}

Tensor EncoderDecoder::logits(const Tensor& x, Context& context) const {
  return output(context.drop(x, config.dropout));  // [N, T, V]
}

int64_t EncoderDecoder::longest_source() const { return encoder.longest(); }

int64_t EncoderDecoder::longest_target() const { return decoder.longest(); }

void EncoderDecoder::visit(Visitor& visitor) const {
  visitor("source", encoder.embedding);
  visitor("target", decoder.embedding);
  visitor("encoder", encoder.blocks);
  visitor("encoder_norm", encoder.norm);
  visitor("decoder", decoder.blocks);
  visitor("decoder_norm", decoder.norm);
  visitor("output", output);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
