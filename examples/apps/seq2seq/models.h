#pragma once

#include <string>

#include "examples/apps/flags/field_flags.h"
#include "examples/apps/flags/flag_groups.h"
#include "nn/models/encoder_decoder.h"

namespace seq2seq {

using shiftgrad::Field;
namespace range = shiftgrad::range;
namespace fields = shiftgrad::fields;
namespace group = shiftgrad::group;
namespace quantity = shiftgrad::quantity;

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
  shiftgrad::Activation activation = shiftgrad::Activation::relu;
  bool norm_first = true;
  bool share_embedding = false;
  bool tie_embedding = false;
  /// The fields of the mixers, for the side or the sides that have such a mixer.
  apps::FieldFlags mixer = mixer_flags();

  /// Calls flag(value, field) for each flag. This is the only list of them.
  template <class Flag>
  void visit(Flag&& flag) {
    flag(encoder, {.name = "encoder",
                   .help = "how a source's tokens see each other: " + kinds(true),
                   .choices = kind_names(true)});
    flag(decoder,
         {.name = "decoder",
          .help = "how a target's tokens see the tokens before them: as an encoder's, or " +
                  kinds(false),
          .choices = kind_names(false)});
    flag(
        n_layer,
        {"n_layer", "blocks of the encoder, and blocks of the decoder", {"LAYERS", range::layers}});
    flag(n_head, {"n_head", "attention heads per block", {"HEADS", range::channels}});
    flag(n_embd, {"n_embd", "width of the model", {"CHANNELS", range::channels}});
    flag(d_inner, {"d_inner",
                   shiftgrad::text(fields::d_inner().help, ", 0 for 4 n_embd"),
                   {"CHANNELS", range::zero_or_more}});
    flag(dropout, {"dropout",
                   "share of activations and attention weights dropped in training",
                   {"PROBABILITY", range::less_than_one}});
    flag(max_len, {"max_len",
                   "greatest length of a source and of a target; tables of positions and of "
                   "distances have as many rows",
                   {"TOKENS", range::two_or_more}});
    flag(activation, fields::activation());
    flag(norm_first, fields::norm_first());
    flag(share_embedding, {"share_embedding",
                           "share one embedding, and one list of symbols, between sources and "
                           "targets"});
    flag(tie_embedding, fields::tie_embedding());
    mixer.visit(flag);
  }

 private:
  static apps::FieldFlags mixer_flags();
  static std::string kinds(bool of_encoder);
  static std::string kind_names(bool of_encoder);
};

/// Returns the config of the model that the flags describe. Each flag has been checked by itself.
/// Throws, naming the flag, when together they make no model.
shiftgrad::EncoderDecoderConfig model_config(const ModelFlags& flags, int64_t source_tokens,
                                             int64_t target_tokens);

}  // namespace seq2seq
