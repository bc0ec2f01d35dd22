#pragma once

// A sequence model takes tokens and returns the logits of the next token. Whatever does that can be
// trained, scored, sampled, saved and resumed. A model of your own implements `traits`, `forward`
// and `visit`; the rest has defaults (examples/own_model.cpp).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/array.h"
#include "nn/cache.h"
#include "nn/context.h"
#include "nn/layer.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The inputs of each block for earlier tokens, each [B, M, C] and constant. Training carries them
/// from one segment to the next.
using Memory = std::vector<Tensor>;

/// Returns the last `length` tokens of `memory` followed by `inputs`, detached (Dai et al. 2019,
/// section 3.2). The last `fed_again` inputs are left out. `memory` may be empty.
Memory remember(const Memory& memory, const std::vector<Tensor>& inputs, int64_t length,
                int64_t fed_again = 0);

/// What programs need to know of a model.
struct ModelTraits {
  /// V, the tokens that there are.
  int64_t vocab_size = 0;
  /// Width of the model. The schedule noam divides by its root.
  int64_t d_model = 1;
  /// Number of blocks whose inputs the model returns. A model with 0 has no memory.
  int64_t n_layer = 0;
  /// Whether the logits depend on the positions of tokens as well as on the distances between them.
  bool absolute_positions = false;
  /// Whether a norm stands between the last block and the output.
  bool final_norm = false;
  /// Dropout rates before the output, and of attention.
  double dropout = 0, attention_dropout = 0;
};

/// What a model returns for tokens [B, T].
struct ModelOutput {
  /// Logits [B, T, V] of the token that follows each token.
  Tensor logits{};
  /// The input [B, T, C] of each block, for `remember`.
  std::vector<Tensor> block_inputs{};
  /// What the output layer reads of each token, [B, T, C]. Only auxiliary losses need it.
  Tensor features{};
};

/// A model of sequences, whatever lies between its tokens and its logits.
struct SequenceModel : StatefulModule {
  /// Returns `forward` or `step` of the same arguments. Throws, in the model's name, when `forward`
  /// does not keep to the shapes of ModelOutput. With a cache, also throws on the cache of another
  /// model and while a tape records. A step that throws leaves the cache as it was. PyTorch:
  /// module(x).
  ModelOutput operator()(const Tokens& tokens, const Memory& memory, Context& context) const;
  Tensor operator()(const Tokens& tokens, Cache& cache, Context& context) const;

  /// Returns the sizes of the model, which must not change.
  virtual ModelTraits traits() const = 0;

  /// Returns the logits for tokens [B, T] after the memory of each block, which may be empty. No
  /// logits may depend on later tokens.
  virtual ModelOutput forward(const Tokens& tokens, const Memory& memory,
                              Context& context) const = 0;

  /// Returns a cache that has seen nothing and keeps at most `limit` tokens. By default it keeps
  /// the tokens themselves.
  virtual std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const;
  /// Returns the logits [B, T, V] for tokens [B, T] after what the cache has seen, and adds them to
  /// the cache. By default it feeds the kept tokens again, with the new ones after them. It works
  /// on a copy, of which nothing is kept if it throws.
  virtual Tensor step(const Tokens& tokens, Cache& cache, Context& context) const;

  /// How many tokens it takes. By default there is no limit.
  virtual Limits limits() const { return {}; }

  /// Whether logits may depend on later tokens. By default, whether a layer in the model says so.
  virtual bool sees_ahead() const;

  /// The model's config as a JSON object, which is saved with the weights. Its content is up to the
  /// model.
  virtual std::string config_text() const { return "{}"; }
};

/// Throws an error that names `operation` if the model sees ahead. Whatever trains, scores or
/// continues a text asks: such a model would read each next token where it stands.
void require_causal(const char* operation, const SequenceModel& model);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
