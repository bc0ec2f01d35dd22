#pragma once

// The descriptions of fields that several configs have.

#include <array>

#include "core/field.h"

namespace shiftgrad {

namespace fields {

inline Field d_model() { return {"d_model", "width of the tokens", quantity::channels}; }
inline Field n_head() { return {"n_head", "heads", quantity::heads}; }
inline Field causal() { return {"causal", "let each token see the past alone"}; }
inline Field bias() { return {"bias", "add biases to the projections"}; }
inline Field cell() { return {"cell", "cell of the recurrent network"}; }
/// No weight depends on this window, so nothing else bounds it, and each of its tokens is a step of
/// the network.
inline Field rnn_window() {
  return {"window", "tokens that the recurrent network reads", {"TOKENS", Range{1, 65536}}};
}
inline Field rnn_layers() {
  return {"rnn_layers", "recurrent networks of a block, one above the other", quantity::layers};
}
inline Field d_inner() {
  return {"d_inner", "width of the feed-forward networks", quantity::channels};
}
inline Field activation() { return {"activation", "activation of the feed-forward networks"}; }
inline Field dropout() {
  return {.name = "dropout",
          .help = "share of activations dropped in training",
          .of = {"PROBABILITY", range::less_than_one},
          .saved = false};
}
inline Field attention_dropout() {
  return {.name = "attention_dropout",
          .help = "share of attention weights dropped in training",
          .of = {"PROBABILITY", range::less_than_one},
          .saved = false};
}
inline Field norm_first() {
  return {"norm_first", "normalize before each layer instead of after it"};
}
inline Field final_norm() { return {"final_norm", "normalize the last block's output"}; }
inline Field tie_embedding() {
  return {"tie_embedding", "use the embedding's weight as the output weight"};
}
inline Field embedding_scale() {
  return {"embedding_scale", "multiply embeddings by the square root of the width"};
}

inline Field layer_positions() {
  return {"layer_positions",
          "with learned positions added to the embedding: add others before each later block too"};
}
inline Field tie_position_biases() {
  return {"tie_position_biases",
          "transformer_xl: let all blocks share the content bias and the position bias"};
}

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
