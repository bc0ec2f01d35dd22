// The encoder-decoder of 3 and 3 blocks, d256: its training step, and beam search with 4 targets
// for each of 32 sources, of which none ends before its 50th token.

#include "nn/models/beam_search.h"
#include "optim/pair_trainer.h"
#include "tests/bench/measure.h"

namespace shiftgrad::bench {

namespace {

constexpr int64_t L = 3, H = 4, C = 256, S = 64, B = 32, vocabulary = 96;
constexpr TargetEnds ends{.begin = 0, .end = 1};

EncoderDecoder transformer() {
  EncoderDecoderConfig config;
  config.source_vocab_size = config.target_vocab_size = vocabulary;
  config.d_model = C;
  config.n_encoder_layer = config.n_decoder_layer = L;
  config.n_head = H;
  config.d_inner = 4 * C;
  config.encoder_position = config.decoder_position = TokenPosition::sinusoid;
  config.embedding_scale = true;
  Random random{.seed = 1};
  return {config, random};
}

std::vector<int32_t> sequence(Random& random) {
  std::vector<int32_t> tokens(S);
  for (int32_t& token : tokens) token = 2 + static_cast<int32_t>(random.below(vocabulary - 2));
  return tokens;
}

double step_flops() {
  int64_t sources = B * S, targets = B * (S + 1);
  double projections = product_flops(sources, 4 * C, C) + product_flops(targets, 6 * C, C) +
                       product_flops(sources, 2 * C, C);
  double attention = 2 * (product_flops(sources, S, C) + causal_flops(B, S + 1, 0, C) +
                          product_flops(targets, S, C));
  double feed_forward = product_flops(sources + targets, 8 * C, C);
  return 3 * (static_cast<double>(L) * (projections + attention + feed_forward) +
              product_flops(targets, vocabulary, C));
}

Result training_step(int runs) {
  Random random{.seed = 1};
  std::vector<TokenPair> pairs;
  for (int64_t n = 0; n < 20 * B; ++n) pairs.push_back({sequence(random), sequence(random)});
  EncoderDecoder model = transformer();
  PairTrainer trainer(model, pairs, {}, ends, {.batch_size = B});
  Result result = timed(runs, [&] { trainer.step(); });
  result.flops = step_flops();
  result.tokens = static_cast<double>(B * (2 * S + 1));
  return result;
}

Result decoding(int runs) {
  constexpr int64_t length = 50;
  Random random{.seed = 1};
  EncoderDecoder model = transformer();
  model.output.bias.mutable_data()[ends.end] = -1e9;
  std::vector<std::vector<int32_t>> sources;
  for (int64_t n = 0; n < B; ++n) sources.push_back(sequence(random));
  DecodingOptions options{.begin = ends.begin, .end = ends.end, .max_length = length};
  Result result = timed(runs, [&] { beam_search(model, pad(sources), options, {.width = 4}); });
  result.tokens = static_cast<double>(B * length);
  return result;
}

}  // namespace

std::vector<Case> sequence_cases() {
  return {{"encoder_decoder L3+3 H4 d256 S64 T65 B32", training_step},
          {"beam 4 L3+3 H4 d256 S64, 50 tokens, B32", decoding}};
}

}  // namespace shiftgrad::bench
