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

EncoderDecoder::EncoderDecoder(const EncoderDecoderConfig& model, Init init) : config(model) {
  name = config.type;
  check_fields(config.type, config);
  require(!config.share_embedding || config.source_vocab_size == config.target_vocab_size,
          config.type, ": share_embedding with vocabularies of ", config.source_vocab_size, " and ",
          config.target_vocab_size, ", expected one size");
  source_embedding = token_embedding("encoder_decoder: encoder", config, config.source_vocab_size,
                                     config.encoder_position, config.encoder_max_len, init);
  target_embedding = token_embedding("encoder_decoder: decoder", config, config.target_vocab_size,
                                     config.decoder_position, config.decoder_max_len, init);
  if (config.share_embedding) target_embedding.weight = source_embedding.weight;

  auto blocks = [&](int64_t n_layer, const MixerConfig& mixer, bool decodes) {
    auto own =
        shared_fields<BlocksConfig>(config, {.n_layer = n_layer,
                                             .mixer = with_direction(mixer, decodes, config.type),
                                             .cross_attention = decodes});
    return Blocks(own, init, {}, config.type);
  };
  encoder = blocks(config.n_encoder_layer, config.encoder_mixer, false);
  decoder = blocks(config.n_decoder_layer, config.decoder_mixer, true);
  output = output_layer(target_embedding, config.tie_embedding, init);
}

Encoded EncoderDecoder::encode(const Padded<Tokens>& source, Context& context) const {
  context.refuse_masks(config.type);
  Context own = context.with_padding(source.mask);
  return {encoder(source_embedding(source.values, 0, own), own), source.mask};
}

Tensor EncoderDecoder::decode(const Padded<Tokens>& targets, const Encoded& source,
                              Context& context, const ProbabilityRecorder& alignments) const {
  int64_t B = targets.values.shape.empty() ? 0 : targets.values.shape[0];
  require(B == source.output.size(0), config.type, ": ", B, " targets for ", source.output.size(0),
          " sources");
  return logits(targets, source, nullptr, context, alignments);
}

std::unique_ptr<Cache> EncoderDecoder::make_cache(const Encoded& source) const {
  auto cache = new_cache<DecoderCache>();
  cache->parts = std::move(dynamic_cast<Caches&>(*decoder.make_cache()).parts);
  cache->source = source;
  return cache;
}

Tensor EncoderDecoder::decode(const Tokens& targets, Cache& cache, Context& context) const {
  return advance(cache, {}, [&](Cache& next) {
    auto& past = dynamic_cast<DecoderCache&>(next);
    return logits({targets}, past.source, &past, context, context.recorder);
  });
}

Tensor EncoderDecoder::logits(const Padded<Tokens>& targets, const Encoded& source, Caches* caches,
                              Context& context, const ProbabilityRecorder& alignments) const {
  context.refuse_masks(config.type);
  Context own = context.with_padding(targets.mask);
  Source given{source.output, context.with_padding(source.padding)};
  given.context.recorder = alignments;
  own.source = &given;
  Tensor x = target_embedding(targets.values, caches ? caches->position : 0, own);  // [N, T, C]
  Tensor y = caches ? decoder.step(x, *caches, own) : decoder(x, own);
  return output(own.drop(y, config.dropout));  // [N, T, V]
}

void EncoderDecoder::visit(Visitor& visitor) const {
  visitor("source", source_embedding);
  visitor("target", target_embedding);
  visitor("encoder", encoder.layers);
  visitor("encoder_norm", encoder.norm);
  visitor("decoder", decoder.layers);
  visitor("decoder_norm", decoder.norm);
  visitor("output", output);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
