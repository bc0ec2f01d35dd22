#include "models.h"

#include "core/errors.h"
#include "examples/common/near_name.h"

namespace char_lm {

using common::check_choice;
using shiftgrad::AftForm;
using shiftgrad::BlockType;
using shiftgrad::DistancePositions;
using shiftgrad::LanguageModelConfig;
using shiftgrad::require;
using shiftgrad::TokenPosition;
using shiftgrad::value_named;

namespace {

/// Returns the number of rows of a table of distances that suffice for a block after its memory,
/// and for text written after a block.
int64_t distances(const ModelFlags& flags) {
  return 2 * std::max(flags.block_size, memory_length(flags));
}

/// Adds absolute positions to the embedding, and to each block's input if the flags say so.
void add_positions(LanguageModelConfig& config, const std::string& position,
                   const ModelFlags& flags) {
  config.position = value_named<TokenPosition>(position);
  if (config.position == TokenPosition::learned) config.max_len = flags.block_size;
  // Sinusoids are as large as 1, and would drown embeddings that are not (Vaswani et al., 3.4).
  config.embedding_scale = config.position == TokenPosition::sinusoid;
  config.layer_positions = flags.layer_positions.value_or(false);
}

/// The model of Al-Rfou et al. 2018, "Character-Level Language Modeling with Deeper
/// Self-Attention", but with GPT-2's block. Its auxiliary losses are flags of the training.
LanguageModelConfig transformer(const ModelFlags& flags) {
  LanguageModelConfig config;
  shiftgrad::MultiHeadAttentionConfig mixer{.window = flags.window};
  std::string position = flags.position.value_or("learned");
  if (position == "rope" || position == "alibi")
    mixer.position = value_named<shiftgrad::AttentionPosition>(position);
  else
    add_positions(config, position, flags);
  config.mixer = mixer;
  return config;
}

/// The model of Dai et al. 2019, "Transformer-XL". By default its norms come before the layers,
/// each block has biases of its own, and embeddings are not scaled; in the paper's code all three
/// differ.
LanguageModelConfig transformer_xl(const ModelFlags& flags) {
  LanguageModelConfig config;
  shiftgrad::TransformerXLAttentionConfig mixer{
      .d_head = flags.d_head,
      .clamp_len = flags.clamp_len,
      .window = flags.window,
      .positions = value_named<DistancePositions>(flags.position.value_or("sinusoid")),
      .max_positions = flags.max_positions,
      .content_bias = flags.content_bias.value_or(true),
      .position_bias = flags.position_bias.value_or(true),
      .projection_bias = flags.projection_bias.value_or(false),
  };
  if (mixer.positions == DistancePositions::learned && !mixer.max_positions)
    mixer.max_positions = distances(flags);
  config.mixer = mixer;
  config.tie_position_biases = flags.tie_position_biases.value_or(false);
  bool has_both = mixer.content_bias && mixer.position_bias;
  require(
      !config.tie_position_biases || (has_both && mixer.positions == DistancePositions::sinusoid),
      "--tie_position_biases: there are no two biases to share, expected --position sinusoid, "
      "--content_bias true and --position_bias true");
  return config;
}

/// A model with labml.ai's relative multi-headed attention.
LanguageModelConfig labml(const ModelFlags& flags) {
  LanguageModelConfig config;
  config.mixer = shiftgrad::RelativeMultiHeadAttentionConfig{
      .max_positions = flags.max_positions.value_or(distances(flags))};
  return config;
}

/// The model of Huang et al. 2018, "Music Transformer".
LanguageModelConfig music_transformer(const ModelFlags& flags) {
  LanguageModelConfig config;
  add_positions(config, flags.position.value_or("none"), flags);
  config.mixer =
      shiftgrad::RelativeGlobalAttentionConfig{.max_seq = flags.max_seq.value_or(distances(flags)),
                                               .relative_bias = flags.relative_bias.value_or(true)};
  return config;
}

/// The model of Shaw et al. 2018, "Self-Attention with Relative Position Representations".
LanguageModelConfig shaw(const ModelFlags& flags) {
  LanguageModelConfig config;
  config.mixer =
      shiftgrad::ShawAttentionConfig{.max_distance = flags.max_distance.value_or(16),
                                     .key_positions = flags.key_positions.value_or(true),
                                     .value_positions = flags.value_positions.value_or(true)};
  return config;
}

/// The model of Zhai et al. 2021, "An Attention Free Transformer".
LanguageModelConfig aft(const ModelFlags& flags) {
  LanguageModelConfig config;
  shiftgrad::AftConfig mixer{.form = value_named<AftForm>(flags.form.value_or("local")),
                             .max_len = flags.max_len,
                             .window = flags.window,
                             .factor_rank = flags.factor_rank};
  bool table = mixer.form == AftForm::full || mixer.form == AftForm::local;
  if (table && !mixer.max_len) mixer.max_len = flags.block_size;
  if (mixer.form == AftForm::local && !mixer.window) mixer.window = 32;
  if (mixer.form == AftForm::conv && !mixer.window) mixer.window = 11;
  add_positions(config, flags.position.value_or("none"), flags);
  config.mixer = mixer;
  return config;
}

shiftgrad::RecurrentCell cell(const ModelFlags& flags) {
  return value_named<shiftgrad::RecurrentCell>(flags.cell.value_or("gru"));
}

/// The recurrent net of Wang et al. 2019, "R-Transformer", alone in place of attention.
LanguageModelConfig local_rnn(const ModelFlags& flags) {
  LanguageModelConfig config;
  config.mixer = shiftgrad::LocalRnnConfig{.window = flags.window.value_or(7), .cell = cell(flags)};
  return config;
}

/// The whole R-Transformer of Wang et al. 2019.
LanguageModelConfig r_transformer(const ModelFlags& flags) {
  require(!flags.activation, "--activation: --model r_transformer has relu");
  require(!flags.norm_first, "--norm_first: --model r_transformer has its norms first");
  LanguageModelConfig config;
  config.block = BlockType::r_transformer_block;
  config.window = flags.window.value_or(7);
  config.cell = cell(flags);
  config.rnn_layers = flags.rnn_layers.value_or(1);
  return config;
}

void check(const ModelFlags& flags) {
  require(flags.d_head || flags.n_embd % flags.n_head == 0, "--n_embd ", flags.n_embd,
          " is not divisible by --n_head ", flags.n_head);
}

/// Throws when an option was given that this kind does not use.
void check_options(const ModelKind& kind, ModelFlags flags) {
  flags.visit_options([&](const std::string& name, const auto& value, auto...) {
    bool known = std::find(kind.options.begin(), kind.options.end(), name) != kind.options.end();
    require(known || !value, "--", name, ": --model ", kind.name, " has no such option");
  });
}

/// Whether a memory is of use to the model. It is not if tokens have absolute positions, if sums
/// cover the whole past, or if a recurrent net lies below attention.
bool can_remember(const LanguageModelConfig& config) {
  return config.position == TokenPosition::none && config.block == BlockType::transformer_block &&
         !std::holds_alternative<shiftgrad::AftConfig>(config.mixer);
}

/// Returns what gives a model of this kind a memory, if only its positions are in the way.
std::string how_to_remember(const ModelKind& kind, const LanguageModelConfig& config) {
  LanguageModelConfig relative = config;
  relative.position = TokenPosition::none;
  if (!can_remember(relative)) return "";
  bool rotates = std::holds_alternative<shiftgrad::MultiHeadAttentionConfig>(config.mixer);
  return shiftgrad::text(" with absolute positions; --model ", kind.name, " --position ",
                         rotates ? "rope" : "none", " has one");
}

std::string joined(const std::string& list, const std::string& next, const char* comma) {
  return list.empty() ? next : list + comma + next;
}

std::string names_of_kinds() {
  std::string list;
  for (const ModelKind& kind : model_kinds()) list = joined(list, kind.name, "|");
  return list;
}

}  // namespace

const std::vector<ModelKind>& model_kinds() {
  static const std::vector<ModelKind> kinds = {
      {"transformer",
       "absolute positions, rotary or ALiBi",
       false,
       {"dropatt", "position", "layer_positions", "window"},
       transformer},
      {"transformer_xl",
       "relative positions, memory of earlier blocks, reads in order",
       true,
       {"dropatt", "position", "window", "clamp_len", "max_positions", "d_head", "content_bias",
        "position_bias", "projection_bias", "tie_position_biases"},
       transformer_xl},
      {"labml",
       "like transformer_xl with learned tables of distances, reads in order",
       true,
       {"dropatt", "max_positions"},
       labml},
      {"music_transformer",
       "an embedding for each distance",
       false,
       {"dropatt", "position", "layer_positions", "max_seq", "relative_bias"},
       music_transformer},
      {"shaw",
       "clipped distances, for keys and values",
       false,
       {"dropatt", "max_distance", "key_positions", "value_positions"},
       shaw},
      {"aft",
       "attention free, weighted sums of values",
       false,
       {"position", "layer_positions", "form", "max_len", "window", "factor_rank"},
       aft},
      {"local_rnn", "a recurrent network over a window", false, {"window", "cell"}, local_rnn},
      {"r_transformer",
       "local_rnn below attention",
       false,
       {"dropatt", "window", "cell", "rnn_layers"},
       r_transformer},
  };
  return kinds;
}

const ModelKind& model_kind(const std::string& name) {
  check_choice("--model", name, names_of_kinds());
  return *std::ranges::find(model_kinds(), name, &ModelKind::name);
}

std::string ModelFlags::kinds() {
  std::string list;
  for (const ModelKind& kind : model_kinds())
    list = joined(list, kind.name + ": " + kind.description, "; ");
  return list;
}

std::string ModelFlags::kind_names() { return names_of_kinds(); }

int64_t memory_length(const ModelFlags& flags) {
  return flags.mem_len.value_or(model_kind(flags.model).in_order ? flags.block_size : 0);
}

void set_dropout(const ModelFlags& flags, LanguageModelConfig& config) {
  config.dropout = flags.dropout;
  config.attention_dropout = flags.dropatt.value_or(flags.dropout);
}

LanguageModelConfig model_config(const ModelFlags& flags, int64_t vocab_size) {
  const ModelKind& kind = model_kind(flags.model);
  check(flags);
  check_options(kind, flags);
  LanguageModelConfig config = kind.config(flags);
  require(!flags.layer_positions.value_or(false) || config.position == TokenPosition::learned,
          "--layer_positions: expected --position learned");
  require(memory_length(flags) == 0 || can_remember(config), "--mem_len ", memory_length(flags),
          ": this --model ", kind.name, " has no memory", how_to_remember(kind, config));
  config.vocab_size = vocab_size;
  config.d_model = flags.n_embd;
  config.n_layer = flags.n_layer;
  config.n_head = flags.n_head;
  config.d_inner = flags.d_inner > 0 ? flags.d_inner : 4 * flags.n_embd;
  config.activation = value_named<shiftgrad::Activation>(flags.activation.value_or("gelu"));
  config.norm_first = flags.norm_first.value_or(true);
  config.final_norm = flags.final_norm.value_or(config.norm_first);
  config.embedding_scale = flags.embedding_scale.value_or(config.embedding_scale);
  config.tie_embedding = flags.tie_embedding.value_or(true);
  set_dropout(flags, config);
  return config;
}

}  // namespace char_lm
