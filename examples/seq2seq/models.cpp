#include "models.h"

#include <algorithm>
#include <vector>

#include "core/errors.h"

namespace seq2seq {

using shiftgrad::AftForm;
using shiftgrad::EncoderDecoderConfig;
using shiftgrad::MixerConfig;
using shiftgrad::require;
using shiftgrad::TokenPosition;

namespace {

/// A kind of mixer, by which the tokens of one side see each other.
struct Kind {
  std::string name;
  const char* description;
  bool sees_both_ways;
  TokenPosition position;
  MixerConfig (*mixer)(const ModelFlags& flags);
};

MixerConfig attention(shiftgrad::AttentionPosition position) {
  return shiftgrad::MultiHeadAttentionConfig{.position = position};
}

MixerConfig aft(const ModelFlags& flags) {
  shiftgrad::AftConfig mixer{.form = shiftgrad::value_named<AftForm>(flags.form)};
  bool conv = mixer.form == AftForm::conv, local = mixer.form == AftForm::local;
  if (mixer.form == AftForm::full || local) mixer.max_len = flags.max_len;
  if (local || conv) mixer.window = flags.window > 0 ? flags.window : conv ? 11 : 32;
  return mixer;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list = {
      {"transformer", "attention with sinusoids (Vaswani et al. 2017)", true,
       TokenPosition::sinusoid,
       [](const ModelFlags&) { return attention(shiftgrad::AttentionPosition::none); }},
      {"rope", "attention with rotary positions", true, TokenPosition::none,
       [](const ModelFlags&) { return attention(shiftgrad::AttentionPosition::rope); }},
      {"shaw", "clipped distances", true, TokenPosition::none,
       [](const ModelFlags& flags) -> MixerConfig {
         return shiftgrad::ShawAttentionConfig{.max_distance = flags.max_distance};
       }},
      {"music_transformer", "an embedding for each distance", true, TokenPosition::none,
       [](const ModelFlags& flags) -> MixerConfig {
         return shiftgrad::RelativeGlobalAttentionConfig{.max_seq = flags.max_len};
       }},
      {"transformer_xl", "Transformer-XL's attention, in the encoder as in XLNet", true,
       TokenPosition::none,
       [](const ModelFlags&) -> MixerConfig { return shiftgrad::TransformerXLAttentionConfig{}; }},
      {"labml", "Transformer-XL's attention with learned tables of distances", true,
       TokenPosition::none,
       [](const ModelFlags& flags) -> MixerConfig {
         return shiftgrad::RelativeMultiHeadAttentionConfig{.max_positions = flags.max_len};
       }},
      {"aft", "attention free, weighted sums of values", true, TokenPosition::none, aft},
      {"local_rnn", "a recurrent network over a window", false, TokenPosition::none,
       [](const ModelFlags& flags) -> MixerConfig {
         return shiftgrad::LocalRnnConfig{.window = flags.window > 0 ? flags.window : 7,
                                          .cell = shiftgrad::RecurrentCell::gru};
       }},
  };
  return list;
}

const Kind& kind(const std::string& name) { return *std::ranges::find(kinds(), name, &Kind::name); }

void check(const ModelFlags& flags) {
  require(flags.n_embd % flags.n_head == 0, "--n_embd ", flags.n_embd,
          " is not divisible by --n_head ", flags.n_head);
}

}  // namespace

std::string ModelFlags::kinds(bool of_encoder) {
  std::string list;
  for (const Kind& one : seq2seq::kinds())
    if (one.sees_both_ways == of_encoder)
      list += (list.empty() ? "" : "; ") + one.name + ": " + one.description;
  return list;
}

std::string ModelFlags::kind_names(bool of_encoder) {
  std::string list;
  for (const Kind& one : seq2seq::kinds())
    if (one.sees_both_ways || !of_encoder) list += (list.empty() ? "" : "|") + one.name;
  return list;
}

void set_dropout(const ModelFlags& flags, EncoderDecoderConfig& config) {
  config.dropout = config.attention_dropout = flags.dropout;
}

EncoderDecoderConfig model_config(const ModelFlags& flags, int64_t source_tokens,
                                  int64_t target_tokens) {
  check(flags);
  const Kind& encoder = kind(flags.encoder);
  const Kind& decoder = kind(flags.decoder);
  EncoderDecoderConfig config;
  config.source_vocab_size = source_tokens;
  config.target_vocab_size = target_tokens;
  config.d_model = flags.n_embd;
  config.n_encoder_layer = config.n_decoder_layer = flags.n_layer;
  config.n_head = flags.n_head;
  config.d_inner = flags.d_inner > 0 ? flags.d_inner : 4 * flags.n_embd;
  config.encoder_mixer = encoder.mixer(flags);
  config.decoder_mixer = decoder.mixer(flags);
  config.encoder_position = encoder.position;
  config.decoder_position = decoder.position;
  // Sinusoids are as large as 1, and would drown embeddings that are not (Vaswani et al., 3.4).
  config.embedding_scale = config.encoder_position == TokenPosition::sinusoid ||
                           config.decoder_position == TokenPosition::sinusoid;
  config.norm_first = config.final_norm = flags.norm_first;
  config.activation = shiftgrad::value_named<shiftgrad::Activation>(flags.activation);
  config.share_embedding = flags.share_embedding;
  config.tie_embedding = flags.tie_embedding;
  set_dropout(flags, config);
  return config;
}

}  // namespace seq2seq
