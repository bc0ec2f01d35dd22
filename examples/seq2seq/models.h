#pragma once

#include <optional>
#include <string>

#include "core/range.h"
#include "nn/models/encoder_decoder.h"

namespace seq2seq {

namespace range = shiftgrad::range;

/// The flags that shape a model. They have char_lm's names where char_lm has such a flag.
struct ModelFlags {
  std::string encoder = "transformer";
  std::string decoder = "transformer";
  int64_t n_layer = 2;
  int64_t n_head = 4;
  int64_t n_embd = 96;
  int64_t d_inner = 0;
  double dropout = 0.1;
  int64_t max_len = 128;
  int64_t max_distance = 8;
  std::string form = "local";
  int64_t window = 0;
  std::string activation = "relu";
  bool norm_first = true;
  bool share_embedding = false;
  bool tie_embedding = false;

  /// Calls flag(name, value, unit, description) for each flag. This is the only list of them.
  template <class Flag>
  void visit(Flag&& flag) {
    flag("encoder", encoder, "NAME", "how a source's tokens see each other: " + kinds(true),
         kind_names(true));
    flag("decoder", decoder, "NAME",
         "how a target's tokens see the tokens before them: as an encoder's, or " + kinds(false),
         kind_names(false));
    flag("n_layer", n_layer, "LAYERS", "blocks of the encoder, and blocks of the decoder",
         range::layers);
    flag("n_head", n_head, "HEADS", "attention heads per block", range::channels);
    flag("n_embd", n_embd, "CHANNELS", "width of the model", range::channels);
    flag("d_inner", d_inner, "CHANNELS", "width of the feed-forward networks, 0 for 4 n_embd",
         range::zero_or_more);
    flag("dropout", dropout, "PROBABILITY",
         "share of activations and attention weights dropped in training", range::less_than_one);
    flag("max_len", max_len, "TOKENS",
         "greatest length of a source and of a target; aft's tables have this many rows, and "
         "music_transformer and labml reach this far",
         range::two_or_more);
    flag("max_distance", max_distance, "TOKENS", "shaw: treat greater distances as this one",
         range::zero_or_more);
    flag("form", form, shiftgrad::choices<shiftgrad::AftForm>(),
         "aft: position biases everywhere, in a window, none, or as a convolution");
    flag("window", window, "TOKENS",
         "aft local and conv: reach of the position biases, 0 for 32 and 11; local_rnn: 0 for 7",
         range::zero_or_more);
    flag("activation", activation, shiftgrad::choices<shiftgrad::Activation>(),
         "activation of the feed-forward networks");
    flag("norm_first", norm_first, "BOOL", "normalize before each layer instead of after it");
    flag("share_embedding", share_embedding, "BOOL",
         "share one embedding, and one list of symbols, between sources and targets");
    flag("tie_embedding", tie_embedding, "BOOL",
         "use the target embedding's weight as the output weight");
  }

 private:
  static std::string kinds(bool of_encoder);
  static std::string kind_names(bool of_encoder);
};

/// Returns the config of the model that the flags describe. Each flag has been checked by itself.
/// Throws, naming the flag, when together they make no model.
shiftgrad::EncoderDecoderConfig model_config(const ModelFlags& flags, int64_t source_tokens,
                                             int64_t target_tokens);

/// Sets the config's dropout from the flags. A config from a checkpoint has none.
void set_dropout(const ModelFlags& flags, shiftgrad::EncoderDecoderConfig& config);

}  // namespace seq2seq
