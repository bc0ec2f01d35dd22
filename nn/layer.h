#pragma once

// A layer over sequences. It is a mixer, which lets the tokens see each other (attention in any
// form, the attention free transformer, a local recurrent net), a net that works on each token
// alone, or a block of such parts. All are called in one way, y = layer(x, past, context), where
// the past is nothing or one of two ways to remember:
//
//   memory  the layer inputs of earlier tokens, a constant [B, M, C]. Keys and values are made from
//           it anew at each call, so it outlives an update of the weights: training uses it.
//   Cache   whatever a variant needs of earlier tokens under fixed weights: cached keys and values,
//           running sums, hidden states. Evaluation and generation use it.
//
// Either way, feeding a causal sequence in pieces gives the same result as one pass over it.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nn/cache.h"
#include "nn/context.h"
#include "ops/aft.h"
#include "ops/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How many tokens a layer or a model takes.
struct Limits {
  /// The largest number of tokens in a sequence, counted from its start. It is bounded where
  /// positions are absolute and learned.
  int64_t length = unlimited;
  /// The largest number of tokens that one pass may see, memory included. It is bounded where a
  /// learned table has a row for each position or distance.
  int64_t keys = length;

  /// Returns the limits of what has these and others.
  Limits with(const Limits& other) const {
    int64_t both = std::min(length, other.length);
    return {both, std::min({both, keys, other.keys})};
  }
};

/// Throws an error that names `layer` unless x is [B, T, C] and `memory` undefined or [B, M, C].
void check_input(std::string_view layer, const Tensor& x, const Tensor& memory, int64_t C);

/// The terms of an equation: attention's, AFT's, or none, where no softmax weighs single keys.
using LayerTerms = std::variant<std::monostate, RelativeAttention, AftTerms>;

/// A mixer, or a block around one. A layer of your own implements `forward` and `visit`. It works
/// with caches too, and one that can do with less than its inputs has a `make_cache` of its own.
struct Layer : StatefulModule {
  /// Returns `forward` of the same arguments; without a context, outside training and without
  /// masks. With a cache, throws on the cache of another layer and while a tape records. A call
  /// that throws leaves the cache as it was. PyTorch: module(x).
  Tensor operator()(const Tensor& x, const Past& past, Context& context) const;
  Tensor operator()(const Tensor& x, Context& context) const;
  Tensor operator()(const Tensor& x) const;

  /// Returns the output [B, T, C] for x [B, T, C] after the past. The masks of the context cover
  /// the M tokens of the past and x. A layer obeys the masks and the recorder, or throws. Throws on
  /// other shapes of x and memory, as `check_input` does.
  ///
  /// With a cache, which is of the type that `make_cache` of this layer makes, the output is that
  /// after the tokens in it, and x is added to it. The weights must not change between calls.
  /// `forward` works on a copy, of which nothing is kept if it throws. It sees no InputCache: the
  /// tokens of such a cache are its memory.
  virtual Tensor forward(const Tensor& x, const Past& past, Context& context) const = 0;

  /// Returns a cache that has seen nothing and will keep at most `limit` tokens. A call with it
  /// gives what `forward` gives with a memory of the last `limit` tokens fed before. Older tokens
  /// are forgotten, and positions count from the oldest token kept. (Rotary positions and chunks
  /// count from the start; the differences of positions are the same.) A layer keeps fewer tokens
  /// if it cannot see that far, and none if sums or hidden states stand for them. In a block, the
  /// limit holds for each layer that remembers.
  ///
  /// By default it is an InputCache, whose tokens each call gets as its memory, so that a token
  /// costs what it costs after a memory. A cache of sums or hidden states, which cannot forget,
  /// serves where there is no limit, and the default where there is one:
  ///
  ///     if (limit < unlimited) return Layer::make_cache(limit);
  ///     return …;  // the layer's own
  virtual std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const;

  /// Returns what `forward` returns, and changes a cache itself. It is for layers that are made of
  /// others, and whose own cache, which a call has copied, holds theirs.
  Tensor step(const Tensor& x, const Past& past, Context& context) const;

  /// Returns all terms from which `forward` computes its output for the same arguments, or none.
  /// What reads them works for any layer: tables of distances, worked examples, conversions.
  virtual LayerTerms terms(const Tensor&, const Past&, Context&) const { return {}; }

  /// How many tokens it takes. By default there is no limit.
  virtual Limits limits() const { return {}; }

  /// Whether outputs may depend on later tokens. What predicts the next token must have no such
  /// layer.
  virtual bool sees_ahead() const { return false; }

  /// The weights of the projections whose outputs a block adds to its residual stream. A norm-first
  /// model starts them smaller.
  virtual std::vector<Tensor> residual_projections() const { return {}; }

 protected:
  /// Returns the default cache for a layer that never sees more than `span` tokens back, which
  /// keeps no more.
  std::unique_ptr<Cache> make_input_cache(int64_t limit, int64_t span) const;
};

/// A layer at any depth of a module, such as the mixer "blocks.0.mixer" of a model.
struct NamedLayer {
  /// The name, from the module down.
  std::string name;
  /// The layer itself.
  const Layer& layer;
};

/// Returns all layers in a module, in the order in which it lists them. PyTorch: those among
/// module.named_modules().
std::vector<NamedLayer> layers(const Module& module);
std::vector<NamedLayer> layers(const Module&& module) = delete;  // they would end with it

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
