#pragma once

// The descriptions of fields that several configs have.

#include <array>

#include "core/field.h"

namespace shiftgrad {

namespace fields {

constexpr SharedField d_model{"d_model", "width of the tokens", quantity::channels};
constexpr SharedField n_head{"n_head", "heads", quantity::heads};
constexpr SharedField causal{"causal", "let each token see the past alone"};
constexpr SharedField bias{"bias", "add biases to the projections"};
constexpr SharedField cell{"cell", "cell of the recurrent network"};
/// No weight depends on this window, so nothing else bounds it, and each of its tokens is a step of
/// the network.
constexpr SharedField rnn_window{
    "window", "tokens that the recurrent network reads", {"TOKENS", Range{1, 65536}}};
constexpr SharedField rnn_layers{"rnn_layers", "recurrent networks of a block, one above the other",
                              quantity::layers};
constexpr SharedField d_inner{"d_inner", "width of the feed-forward networks", quantity::channels};
constexpr SharedField activation{"activation", "activation of the feed-forward networks"};
constexpr SharedField dropout{"dropout", "share of activations dropped in training",
                              {"PROBABILITY", range::less_than_one}, false};
constexpr SharedField attention_dropout{"attention_dropout",
                                        "share of attention weights dropped in training",
                                        {"PROBABILITY", range::less_than_one}, false};
constexpr SharedField norm_first{"norm_first", "normalize before each layer instead of after it"};
constexpr SharedField final_norm{"final_norm", "normalize the last block's output"};
constexpr SharedField tie_embedding{"tie_embedding",
                                 "use the embedding's weight as the output weight"};
constexpr SharedField embedding_scale{"embedding_scale",
                                   "multiply embeddings by the square root of the width"};

constexpr SharedField layer_positions{"layer_positions",
                                   "with learned positions added to the embedding: add others "
                                   "before each later block too"};
constexpr SharedField tie_position_biases{"tie_position_biases",
                                       "transformer_xl: let all blocks share the content bias and "
                                       "the position bias"};

}  // namespace fields

/// What programs know of the models that are named after a mixer.
struct KnownModel {
  /// Name of such a model, such as "aft".
  const char* name;
  /// What distinguishes it, in a few words.
  const char* summary;
  /// Whether it reads a text in order, with a memory of what came before.
  bool in_order = false;
  /// Whether the mixer knows the order of tokens; otherwise positions are added to the embeddings.
  bool knows_order = true;
  /// Whether sums stand for all of the past, so that no memory is of use.
  bool sums_past = false;
  /// The fields that make another model of it, "" for none.
  std::array<const char*, 4> forms{""};
};

/// The lengths of the sequences that a model is for.
struct SequenceLengths {
  /// Tokens in a sequence.
  int64_t sequence;
  /// Distances between two tokens.
  int64_t distances;
};

}  // namespace shiftgrad
