#include "models.h"

#include <algorithm>
#include <set>

#include "core/errors.h"
#include "examples/apps/flags/near_name.h"

namespace char_lm {

using apps::check_choice;
using shiftgrad::BlockType;
using shiftgrad::LanguageModelConfig;
using shiftgrad::MixerConfig;
using shiftgrad::MultiHeadAttentionConfig;
using shiftgrad::require;
using shiftgrad::RTransformerBlockConfig;
using shiftgrad::TokenPosition;
using shiftgrad::TransformerXLAttentionConfig;
using shiftgrad::value_named;

namespace {

/// Fields that have flags of another kind, or none: a language model is causal.
const std::set<std::string> without_flags = {"causal", "d_inner", "position", "positions"};

/// Returns the lengths of a block after its memory, and of the distances that it meets, also in
/// text written after it.
shiftgrad::SequenceLengths lengths(const ModelFlags& flags) {
  return {flags.block_size, 2 * std::max(flags.block_size, memory_length(flags))};
}

/// The kinds of model that are known by a mixer: Al-Rfou et al. 2018 with GPT-2's block, Dai et al.
/// 2019, and so on. The norms come before the layers, each block has biases of its own, and
/// embeddings are not scaled; in the paper's Transformer-XL all three differ.
ModelKind kind_of(const shiftgrad::KnownMixer& known) {
  LanguageModelConfig defaults;
  defaults.mixer = known.config;
  defaults.activation = shiftgrad::Activation::gelu;
  defaults.tie_embedding = true;
  if (!known.knows_order) defaults.position = TokenPosition::learned;
  return {known, defaults};
}

/// The whole R-Transformer of Wang et al. 2019, with the recurrent network of local_rnn.
ModelKind r_transformer() {
  auto rnn = shiftgrad::LocalRnnConfig::defaults();
  LanguageModelConfig defaults;
  defaults.block = BlockType::r_transformer_block;
  defaults.window = rnn.window;
  defaults.cell = rnn.cell;
  defaults.tie_embedding = true;
  return {RTransformerBlockConfig::known, defaults};
}

std::vector<ModelKind>& kinds() {
  static std::vector<ModelKind> list = [] {
    std::vector<ModelKind> known;
    for (const shiftgrad::KnownMixer& mixer : shiftgrad::known_mixers())
      known.push_back(kind_of(mixer));
    known.push_back(r_transformer());
    return known;
  }();
  return list;
}

/// Sets what --position says of the mixer's distances, or of positions added to the embedding.
void set_position(const ModelFlags& flags, const ModelKind& kind, LanguageModelConfig& config) {
  if (flags.position) {
    auto* attention =
        kind.own_mixer ? nullptr : std::get_if<MultiHeadAttentionConfig>(&config.mixer);
    auto* xl = std::get_if<TransformerXLAttentionConfig>(&config.mixer);
    bool rotates = attention && (flags.position == "rope" || flags.position == "alibi");
    config.position = TokenPosition::none;
    shiftgrad::in_name_of("--position", [&] {
      if (rotates)
        attention->position = value_named<shiftgrad::AttentionPosition>(*flags.position);
      else if (xl)
        xl->positions = value_named<shiftgrad::DistancePositions>(*flags.position);
      else
        config.position = value_named<TokenPosition>(*flags.position);
    });
  }
  if (config.position == TokenPosition::learned) config.max_len = flags.block_size;
  // Sinusoids are as large as 1, and would drown embeddings that are not (Vaswani et al., 3.4).
  config.embedding_scale = config.position == TokenPosition::sinusoid;
}

/// Throws when the flags contradict each other, or the kind.
void check(const ModelFlags& flags, const ModelKind& kind) {
  bool recurrent = kind.defaults.block == BlockType::r_transformer_block;
  require(!recurrent || !flags.activation, "--activation: --model ", kind.name, " has relu");
  require(!recurrent || !flags.norm_first, "--norm_first: --model ", kind.name,
          " has its norms first");
  require(flags.mixer.has("d_head") || flags.n_embd % flags.n_head == 0, "--n_embd ", flags.n_embd,
          " is not divisible by --n_head ", flags.n_head);
  ModelFlags(flags).visit_options([&](const auto& value, const Field& field) {
    require(!value || takes_option(kind, field.name), "--", field.name, ": --model ", kind.name,
            " has no such option");
  });
}

/// Throws when the biases are to be shared, but are not there.
void check_shared_biases(const LanguageModelConfig& config) {
  auto* xl = std::get_if<TransformerXLAttentionConfig>(&config.mixer);
  bool both = xl && xl->content_bias && xl->position_bias &&
              xl->positions == shiftgrad::DistancePositions::sinusoid;
  require(!config.tie_position_biases || both,
          "--tie_position_biases: there are no two biases to share, expected --position sinusoid, "
          "--content_bias true and --position_bias true");
}

/// Whether a memory is of use to the model. It is not if tokens have absolute positions, if sums
/// cover the whole past, or if a recurrent net lies below attention.
bool can_remember(const ModelKind& kind, const LanguageModelConfig& config) {
  return config.position == TokenPosition::none && config.block == BlockType::transformer_block &&
         !kind.sums_past;
}

/// Returns what gives a model of this kind a memory, if only its positions are in the way.
std::string how_to_remember(const ModelKind& kind, const LanguageModelConfig& config) {
  LanguageModelConfig relative = config;
  relative.position = TokenPosition::none;
  if (!can_remember(kind, relative)) return "";
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

const std::vector<ModelKind>& model_kinds() { return kinds(); }

void add_model_kind(const char* name, const char* summary, const OwnMixer& mixer) {
  ModelKind kind = kind_of({{.name = name, .summary = summary}, MultiHeadAttentionConfig{}});
  kind.own_mixer = mixer;
  kinds().push_back(kind);
}

bool takes_option(const ModelKind& kind, const std::string& name) {
  bool recurrent = kind.defaults.block == BlockType::r_transformer_block;
  bool distances = std::holds_alternative<TransformerXLAttentionConfig>(kind.defaults.mixer);
  if (name == "position") return true;
  if (name == "layer_positions") return !distances;
  if (name == "tie_position_biases") return distances;
  if (kind.own_mixer) return false;
  bool known = false;
  auto look = [&](auto config) {
    fields_of(config, [&](auto&, const Field& field, const auto&...) {
      known |= field.name == (name == "dropatt" ? "attention_dropout" : name);
    });
  };
  recurrent ? look(RTransformerBlockConfig()) : look(kind.defaults.mixer);
  return known;
}

apps::FieldFlags ModelFlags::mixer_flags() {
  apps::FieldFlags flags;
  for (const ModelKind& kind : model_kinds()) {
    if (kind.own_mixer) continue;
    auto add = [&](const auto& config) { flags.add(kind.name, config, without_flags); };
    const LanguageModelConfig& model = kind.defaults;
    if (model.block == BlockType::r_transformer_block)
      add(RTransformerBlockConfig{.window = model.window, .cell = model.cell});
    else
      add(model.mixer);
  }
  return flags;
}

const ModelKind& model_kind(const std::string& name) {
  check_choice("--model", name, names_of_kinds());
  return *std::ranges::find(model_kinds(), name, &ModelKind::name);
}

std::string ModelFlags::kinds() {
  std::string list;
  for (const ModelKind& kind : model_kinds())
    list = joined(
        list,
        shiftgrad::text(kind.name, ": ", kind.summary, kind.in_order ? ", reads in order" : ""),
        "; ");
  return list;
}

std::string ModelFlags::kind_names() { return names_of_kinds(); }

int64_t memory_length(const ModelFlags& flags) {
  return flags.mem_len.value_or(model_kind(flags.model).in_order ? flags.block_size : 0);
}

LanguageModelConfig model_config(const ModelFlags& flags, int64_t vocab_size) {
  const ModelKind& kind = model_kind(flags.model);
  check(flags, kind);
  LanguageModelConfig config = kind.defaults;
  set_position(flags, kind, config);
  if (config.block == BlockType::r_transformer_block)
    flags.mixer.apply_to(config);
  else
    flags.mixer.apply_to(config.mixer);
  fill_defaults(config.mixer, lengths(flags));
  config.layer_positions = flags.layer_positions.value_or(false);
  config.tie_position_biases = flags.tie_position_biases.value_or(false);
  check_shared_biases(config);
  require(!config.layer_positions || config.position == TokenPosition::learned,
          "--layer_positions: expected --position learned");
  require(memory_length(flags) == 0 || can_remember(kind, config), "--mem_len ",
          memory_length(flags), ": this --model ", kind.name, " has no memory",
          how_to_remember(kind, config));
  config.vocab_size = vocab_size;
  config.d_model = flags.n_embd;
  config.n_layer = flags.n_layer;
  config.n_head = flags.n_head;
  config.d_inner = flags.d_inner > 0 ? flags.d_inner : 4 * flags.n_embd;
  config.activation = flags.activation.value_or(config.activation);
  config.norm_first = flags.norm_first.value_or(true);
  config.final_norm = flags.final_norm.value_or(config.norm_first);
  config.embedding_scale = flags.embedding_scale.value_or(config.embedding_scale);
  config.tie_embedding = flags.tie_embedding.value_or(config.tie_embedding);
  config.dropout = flags.dropout;
  config.attention_dropout = flags.attention_dropout();
  return config;
}

shiftgrad::MixerMaker own_mixer(const ModelFlags& flags) {
  const ModelKind& kind = model_kind(flags.model);
  if (!kind.own_mixer) return {};
  return [=, &kind](shiftgrad::Random& random) {
    auto mixer = kind.own_mixer(flags.n_embd, flags.n_head, random);
    if (auto* attention = dynamic_cast<shiftgrad::Attention*>(mixer.get()))
      attention->attention_dropout = flags.attention_dropout();
    return mixer;
  };
}

shiftgrad::LanguageModel new_model(const ModelFlags& flags, int64_t vocab_size,
                                   shiftgrad::Init init) {
  return {model_config(flags, vocab_size), init, own_mixer(flags)};
}

}  // namespace char_lm
