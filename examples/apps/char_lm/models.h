#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "examples/apps/flags/field_flags.h"
#include "examples/apps/flags/flag_groups.h"
#include "nn/models/language_model.h"

namespace char_lm {

using shiftgrad::Field;
namespace range = shiftgrad::range;
namespace fields = shiftgrad::fields;
namespace group = shiftgrad::group;
namespace quantity = shiftgrad::quantity;

/// The flags that shape a model. They have nanoGPT's names where nanoGPT has such a flag. Optional
/// flags belong to some kinds of model only; if one is not given, the kind sets the default.
struct ModelFlags {
  std::string model = "transformer_xl";
  int64_t n_layer = 4;
  int64_t n_head = 4;
  int64_t n_embd = 128;
  int64_t d_inner = 0;
  int64_t block_size = 64;
  double dropout = 0;
  std::optional<int64_t> mem_len;

  std::optional<double> dropatt;
  std::optional<std::string> position;
  std::optional<shiftgrad::Activation> activation;
  std::optional<bool> norm_first, final_norm, tie_embedding, embedding_scale, layer_positions,
      tie_position_biases;
  /// The fields of the mixers.
  apps::FieldFlags mixer = mixer_flags();

  double attention_dropout() const { return dropatt.value_or(dropout); }

  /// Calls flag(value, field) for each flag. This is the only list of them.
  template <class Flag>
  void visit(Flag&& flag) {
    flag(model, {.name = "model", .help = kinds(), .choices = kind_names()});
    flag(n_layer, {"n_layer", "blocks of the model", {"LAYERS", range::layers}});
    flag(n_head, {"n_head", "attention heads per block", {"HEADS", range::channels}});
    flag(n_embd, {"n_embd", "width of the model", {"CHANNELS", range::channels}});
    flag(d_inner, {"d_inner",
                   shiftgrad::text(fields::d_inner().help, ", 0 for 4 n_embd"),
                   {"CHANNELS", range::zero_or_more}});
    flag(dropout, {"dropout",
                   "share of activations dropped in training",
                   {"PROBABILITY", range::less_than_one}});
    flag(block_size, {"block_size", "tokens in a row of a batch", quantity::tokens});
    flag(
        mem_len,
        {"mem_len",
         "length of the memory of earlier tokens, 0 for none (default: block_size for a model that "
         "reads in order, else 0)",
         quantity::tokens_or_none});
    flag(activation, with_default(fields::activation(), "gelu"));
    flag(norm_first, with_default(fields::norm_first(), "true"));
    flag(final_norm, with_default(fields::final_norm(), "as norm_first"));
    flag(tie_embedding, with_default(fields::tie_embedding(), "true"));
    flag(embedding_scale, with_default(fields::embedding_scale(),
                                       "true with sinusoids added to the embeddings, else false"));
    visit_options(apps::in_group(group::options, flag));
  }

  /// Calls flag(…) for each flag that only some kinds have.
  template <class Flag>
  void visit_options(Flag&& flag) {
    flag(
        dropatt,
        {"dropatt",
         "models with attention: share of attention weights dropped in training (default: dropout)",
         {"PROBABILITY", range::less_than_one}});
    flag(position,
         {"position",
          "learned, sinusoid, none: what is added to the embeddings, or in transformer_xl stands "
          "for a distance; rope and alibi: of transformer alone (default: learned in transformer, "
          "sinusoid in transformer_xl, else none)",
          {"learned|sinusoid|none|rope|alibi"}});
    flag(layer_positions, with_default(fields::layer_positions(), "false"));
    flag(tie_position_biases, with_default(fields::tie_position_biases(), "false"));
    mixer.visit(flag);
  }

 private:
  static apps::FieldFlags mixer_flags();
  static std::string kinds();
  static std::string kind_names();
  static Field with_default(Field field, const std::string& value) {
    field.help += " (default: " + value + ")";
    return field;
  }
};

/// Makes a mixer of C channels that is a program's own.
using OwnMixer =
    std::function<std::unique_ptr<shiftgrad::Layer>(int64_t C, int64_t n_head, shiftgrad::Random&)>;

/// A kind of model that --model can name. One that reads in order remembers, unless --mem_len 0
/// forbids that. The other kinds see blocks from anywhere, unless --mem_len asks for memory. The
/// `forms` are flags, as `compare` takes them.
struct ModelKind : shiftgrad::KnownModel {
  /// The model without any flags.
  shiftgrad::LanguageModelConfig defaults;
  /// Makes the mixer where it is the program's own; else empty.
  OwnMixer own_mixer{};
};

/// The kinds: one for each mixer of the library, the R-Transformer, and the program's own.
const std::vector<ModelKind>& model_kinds();

/// Adds a kind whose mixer is the program's own and knows the order of tokens. A program calls it
/// before it makes its commands.
void add_model_kind(const char* name, const char* summary, const OwnMixer& mixer);

/// Returns the kind with this name. Throws, and lists the existing kinds, when there is none.
const ModelKind& model_kind(const std::string& name);

/// Whether the kind takes the option of this name.
bool takes_option(const ModelKind& kind, const std::string& name);

/// Returns --mem_len, or its default if it is not given.
int64_t memory_length(const ModelFlags& flags);

/// Returns the config of the model that the flags describe. Throws, naming the flag, when they make
/// no model.
shiftgrad::LanguageModelConfig model_config(const ModelFlags& flags, int64_t vocab_size);

/// Returns what makes the mixers of these flags, where the kind has a mixer of the program's own;
/// else an empty function.
shiftgrad::MixerMaker own_mixer(const ModelFlags& flags);

/// Returns a new model. Throws as model_config does.
shiftgrad::LanguageModel new_model(const ModelFlags& flags, int64_t vocab_size,
                                   shiftgrad::Init init);

}  // namespace char_lm
