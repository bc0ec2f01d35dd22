#include "models.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/errors.h"

namespace seq2seq {

using shiftgrad::EncoderDecoderConfig;
using shiftgrad::KnownMixer;
using shiftgrad::MixerConfig;
using shiftgrad::require;
using shiftgrad::TokenPosition;

namespace {

/// The mixers, by which the tokens of one side see each other: those of the library, and attention
/// with rotary positions.
const std::vector<KnownMixer>& mixers() {
  static const std::vector<KnownMixer> list = [] {
    std::vector<KnownMixer> all = shiftgrad::known_mixers();
    for (KnownMixer& known : all) {
      if (!known.knows_order) known.summary = "attention with sinusoids (Vaswani et al. 2017)";
      // Lines are shorter than texts.
      using Distance = std::optional<int64_t>;
      if (auto* distance = shiftgrad::find_field<Distance>(known.config, "max_distance"))
        *distance = 8;
    }
    all.push_back(
        {{"rope", "attention with rotary positions"},
         shiftgrad::MultiHeadAttentionConfig{.position = shiftgrad::AttentionPosition::rope}});
    return all;
  }();
  return list;
}

/// Returns what is known of the mixer that a side's flag names.
const KnownMixer& known_mixer(const std::string& name) {
  return *std::ranges::find(mixers(), name, &KnownMixer::name);
}

MixerConfig mixer_of(const std::string& name, const ModelFlags& flags) {
  MixerConfig config = known_mixer(name).config;
  flags.mixer.apply_to(config);
  fill_defaults(config, {flags.max_len, flags.max_len});
  return config;
}

/// Returns the positions that are added to embeddings before such a mixer.
TokenPosition position_of(const std::string& name) {
  return known_mixer(name).knows_order ? TokenPosition::none : TokenPosition::sinusoid;
}

void check(const ModelFlags& flags) {
  require(flags.n_embd % flags.n_head == 0, "--n_embd ", flags.n_embd,
          " is not divisible by --n_head ", flags.n_head);
}

}  // namespace

apps::FieldFlags ModelFlags::mixer_flags() {
  apps::FieldFlags flags;
  for (const KnownMixer& known : mixers())
    flags.add(known.name, known.config, {"causal", "position", "max_len"});
  return flags;
}

std::string ModelFlags::kinds(bool of_encoder) {
  std::string list;
  for (const KnownMixer& known : mixers())
    if (sees_both_ways(known.config) == of_encoder)
      list += shiftgrad::text(list.empty() ? "" : "; ", known.name, ": ", known.summary);
  return list;
}

std::string ModelFlags::kind_names(bool of_encoder) {
  std::string list;
  for (const KnownMixer& known : mixers())
    if (sees_both_ways(known.config) || !of_encoder)
      list += shiftgrad::text(list.empty() ? "" : "|", known.name);
  return list;
}

EncoderDecoderConfig model_config(const ModelFlags& flags, int64_t source_tokens,
                                  int64_t target_tokens) {
  check(flags);
  EncoderDecoderConfig config;
  config.source_vocab_size = source_tokens;
  config.target_vocab_size = target_tokens;
  config.d_model = flags.n_embd;
  config.n_encoder_layer = config.n_decoder_layer = flags.n_layer;
  config.n_head = flags.n_head;
  config.d_inner = flags.d_inner > 0 ? flags.d_inner : 4 * flags.n_embd;
  config.encoder_mixer = mixer_of(flags.encoder, flags);
  config.decoder_mixer = mixer_of(flags.decoder, flags);
  config.encoder_position = position_of(flags.encoder);
  config.decoder_position = position_of(flags.decoder);
  // Sinusoids are as large as 1, and would drown embeddings that are not (Vaswani et al., 3.4).
  config.embedding_scale = config.encoder_position == TokenPosition::sinusoid ||
                           config.decoder_position == TokenPosition::sinusoid;
  config.norm_first = config.final_norm = flags.norm_first;
  config.activation = flags.activation;
  config.share_embedding = flags.share_embedding;
  config.tie_embedding = flags.tie_embedding;
  config.dropout = config.attention_dropout = flags.dropout;
  return config;
}

}  // namespace seq2seq
