#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/range.h"
#include "nn/models/language_model.h"

namespace char_lm {

namespace range = shiftgrad::range;

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
  std::optional<std::string> position, form, cell, activation;
  std::optional<int64_t> window, clamp_len, max_positions, d_head, max_seq, max_distance, max_len,
      factor_rank, rnn_layers;
  std::optional<bool> content_bias, position_bias, projection_bias, tie_position_biases,
      relative_bias, key_positions, value_positions, norm_first, final_norm, tie_embedding,
      embedding_scale, layer_positions;

  /// Calls flag(name, value, unit, description) for each flag. This is the only list of them.
  template <class Flag>
  void visit(Flag&& flag) {
    flag("model", model, "NAME", kinds(), kind_names());
    flag("n_layer", n_layer, "LAYERS", "blocks of the model", range::layers);
    flag("n_head", n_head, "HEADS", "attention heads per block", range::channels);
    flag("n_embd", n_embd, "CHANNELS", "width of the model", range::channels);
    flag("d_inner", d_inner, "CHANNELS", "width of the feed-forward networks, 0 for 4 n_embd",
         range::zero_or_more);
    flag("dropout", dropout, "PROBABILITY", "share of activations dropped in training",
         range::less_than_one);
    flag("block_size", block_size, "TOKENS", "tokens in a row of a batch", range::one_or_more);
    flag("mem_len", mem_len, "TOKENS",
         "length of the memory of earlier tokens, 0 for none (default: block_size for a model that "
         "reads in order, else 0)",
         range::zero_or_more);
    flag("activation", activation, shiftgrad::choices<shiftgrad::Activation>(),
         "activation of the feed-forward networks (default: gelu)");
    flag("norm_first", norm_first, "BOOL",
         "normalize before each layer instead of after it (default: true)");
    flag("final_norm", final_norm, "BOOL",
         "normalize the last block's output (default: as norm_first)");
    flag("tie_embedding", tie_embedding, "BOOL",
         "use the embedding's weight as the output weight (default: true)");
    flag("embedding_scale", embedding_scale, "BOOL",
         "multiply embeddings by the square root of n_embd (default: true with --position "
         "sinusoid of a model that adds positions to them, else false)");
    visit_options(flag);
  }

  /// Calls flag(…) for each flag that only some kinds have.
  template <class Flag>
  void visit_options(Flag&& flag) {
    flag("dropatt", dropatt, "PROBABILITY",
         "models with attention: share of attention weights dropped in training (default: dropout)",
         range::less_than_one);
    flag("position", position, "learned|sinusoid|none|rope|alibi",
         "transformer: any (default: learned); transformer_xl: sinusoid or learned (default: "
         "sinusoid); music_transformer and aft: none, sinusoid or learned (default: none)");
    flag("layer_positions", layer_positions, "BOOL",
         "with learned positions added to the embedding: add others before each later block too "
         "(default: false)");
    flag("window", window, "TOKENS",
         "transformer and transformer_xl: attend to distances below it only (default: all); aft: "
         "reach of the position biases (default: 32, conv 11); local_rnn and r_transformer: tokens "
         "that the recurrent network reads (default: 7)",
         range::one_or_more);
    flag("clamp_len", clamp_len, "TOKENS",
         "transformer_xl with sinusoid positions: treat greater distances as this one (default: 0, "
         "none)",
         range::zero_or_more);
    flag("max_positions", max_positions, "TOKENS",
         "labml, and transformer_xl with learned positions: rows of the table of distances "
         "(default: twice block_size or mem_len, whichever is more)",
         range::one_or_more);
    flag("d_head", d_head, "CHANNELS", "transformer_xl: width of a head (default: n_embd/n_head)",
         range::channels);
    flag("content_bias", content_bias, "BOOL",
         "transformer_xl: add a bias to the queries of keys, u (default: true)");
    flag("position_bias", position_bias, "BOOL",
         "transformer_xl: add a bias to the queries of distances, v (default: true)");
    flag("tie_position_biases", tie_position_biases, "BOOL",
         "transformer_xl: let all blocks share these two biases (default: false)");
    flag("projection_bias", projection_bias, "BOOL",
         "transformer_xl: add biases to queries, keys, values and outputs (default: false)");
    flag("max_seq", max_seq, "TOKENS",
         "music_transformer: attend to distances below it only (default: twice block_size or "
         "mem_len, whichever is more)",
         range::one_or_more);
    flag("relative_bias", relative_bias, "BOOL",
         "music_transformer: learn a bias for each distance besides its embedding (default: true)");
    flag("max_distance", max_distance, "TOKENS",
         "shaw: treat greater distances as this one (default: 16)", range::zero_or_more);
    flag("key_positions", key_positions, "BOOL",
         "shaw: learn an embedding of each distance for the keys (default: true)");
    flag("value_positions", value_positions, "BOOL",
         "shaw: learn an embedding of each distance for the values (default: true)");
    flag(
        "form", form, shiftgrad::choices<shiftgrad::AftForm>(),
        "aft: position biases everywhere, in a window, none, or as a convolution (default: local)");
    flag("max_len", max_len, "TOKENS",
         "aft full and local: rows of the table of positions (default: block_size)",
         range::one_or_more);
    flag("factor_rank", factor_rank, "CHANNELS",
         "aft full and local: make the table of positions a product of two of this width (default: "
         "0, one table)",
         range::zero_or_more);
    flag("cell", cell, shiftgrad::choices<shiftgrad::RecurrentCell>(),
         "local_rnn and r_transformer: cell of the recurrent network (default: gru)");
    flag("rnn_layers", rnn_layers, "LAYERS",
         "r_transformer: recurrent networks of a block, one above the other (default: 1)",
         range::layers);
  }

 private:
  static std::string kinds();
  static std::string kind_names();
};

/// A kind of model that --model can name.
struct ModelKind {
  std::string name;
  std::string description;
  /// Whether it reads the text in order and remembers, unless --mem_len 0 forbids that. The other
  /// kinds see blocks from anywhere, unless --mem_len asks for memory.
  bool in_order;
  /// Names of the options that it takes.
  std::vector<std::string> options;
  shiftgrad::LanguageModelConfig (*config)(const ModelFlags& flags);
};

const std::vector<ModelKind>& model_kinds();

/// Returns the kind with this name. Throws, and lists the existing kinds, when there is none.
const ModelKind& model_kind(const std::string& name);

/// Returns --mem_len, or its default if it is not given.
int64_t memory_length(const ModelFlags& flags);

/// Sets the config's dropout from the flags. A config from a checkpoint has none.
void set_dropout(const ModelFlags& flags, shiftgrad::LanguageModelConfig& config);

/// Returns the config of the model that the flags describe. Throws, naming the flag, when they make
/// no model.
shiftgrad::LanguageModelConfig model_config(const ModelFlags& flags, int64_t vocab_size);

}  // namespace char_lm
