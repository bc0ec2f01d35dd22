#include "nn/models/encoder_decoder.h"

#include <algorithm>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The caches of the decoder's blocks, and the source that they attend to from the first call on.
struct DecoderCache : CacheOf<DecoderCache, Caches> {
  Encoded source{};
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

EncoderDecoder::EncoderDecoder(const EncoderDecoderConfig& model, Init values) : config(model) {
  name = config.type;
  check_fields(config.type, config);
  require(!config.share_embedding || config.source_vocab_size == config.target_vocab_size,
          config.type, ": share_embedding with vocabularies of ", config.source_vocab_size, " and ",
          config.target_vocab_size, ", expected one size");
  encoder.embedding = token_embedding("encoder_decoder: encoder", config, config.source_vocab_size,
                                      config.encoder_position, config.encoder_max_len, values);
  decoder.embedding = token_embedding("encoder_decoder: decoder", config, config.target_vocab_size,
                                      config.decoder_position, config.decoder_max_len, values);
  if (config.share_embedding) decoder.embedding.weight = encoder.embedding.weight;

  auto block = [&](const MixerConfig& mixer, bool causal) {
    return part_of<TransformerBlockConfig>(config,
                                           {.mixer = directed(mixer, causal, config.type)});
  };
  auto width = [&](const MixerConfig& mixer) {
    return width_in(mixer, config.d_model, config.n_head);
  };
  TransformerBlockConfig plain = block(config.encoder_mixer, false);
  for (int64_t n = 0; n < config.n_encoder_layer; ++n)
    encoder.blocks.push_back(
        std::make_unique<TransformerBlock>(plain, width(config.encoder_mixer), values));
  EncoderDecoderBlockConfig cross{block(config.decoder_mixer, true), config.n_head,
                                  config.attention_dropout};
  for (int64_t n = 0; n < config.n_decoder_layer; ++n)
    decoder.blocks.push_back(
        std::make_unique<EncoderDecoderBlock>(cross, width(config.decoder_mixer), values));
  for (Stack* side : {&encoder, &decoder}) {
    if (config.norm_first) side->shrink_projections(values);
    if (config.final_norm) side->norm = LayerNorm(config.d_model);
  }
  output = output_layer(decoder.embedding, config.tie_embedding, values);
}

Encoded EncoderDecoder::encode(const PaddedTokens& source, Context& context) const {
  context.refuse_masks(config.type);
  Context own = context.with_padding(source.padding);
  return {encoder(source.tokens, {}, nullptr, own), source.padding};
}

Tensor EncoderDecoder::decode(const PaddedTokens& targets, const Encoded& source, Context& context,
                              const ProbabilityRecorder& alignments) const {
  int64_t B = targets.tokens.shape.empty() ? 0 : targets.tokens.shape[0];
  require(B == source.output.size(0), config.type, ": ", B, " targets for ", source.output.size(0),
          " sources");
  return logits(targets, source, nullptr, context, alignments);
}

std::unique_ptr<Cache> EncoderDecoder::make_cache(const Encoded& source) const {
  auto cache = new_cache<DecoderCache>();
  decoder.make_caches(*cache);
  cache->source = source;
  return cache;
}

Tensor EncoderDecoder::decode(const Tokens& targets, Cache& cache, Context& context) const {
  return advance(cache, {}, [&](Cache& next) {
    auto& past = dynamic_cast<DecoderCache&>(next);
    return logits({targets}, past.source, &past, context, context.recorder);
  });
}

Tensor EncoderDecoder::logits(const PaddedTokens& targets, const Encoded& source, Caches* caches,
                              Context& context, const ProbabilityRecorder& alignments) const {
  context.refuse_masks(config.type);
  Context own = context.with_padding(targets.padding);
  Source given{source.output, context.with_padding(source.padding)};
  given.context.recorder = alignments;
  own.source = &given;
  Tensor x = decoder(targets.tokens, {}, caches, own);
  return output(own.drop(x, config.dropout));  // [N, T, V]
}

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
