#pragma once

// What all attention layers share (Vaswani et al. 2017, section 3.2.2): one projection makes the
// heads, the variant's own equation works on them, and an output projection follows.
//
//     q, k, v = x W_qkvᵀ + b,    y = concat_h(Σ_j softmax_j(score_ij / √D) v_j) W_outputᵀ + b
//
// A variant lists the terms of its score. One kernel computes them all (ops/attention.h). With a
// recorder, plain ops compute them, as the papers write them. Each step is public, and a variant
// may have its own `heads`, `rotated`, `mix` and `project_output`.

#include <optional>

#include "nn/layer.h"
#include "nn/linear.h"
#include "nn/width.h"
#include "ops/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Queries of T tokens, and keys and values of K ≥ T tokens. The queries are the last T of the K,
/// or undefined, where any queries are to attend to the keys.
struct Heads {
  Tensor query;  // [B, H, T, D]
  Tensor key;    // [B, H or G, K, D], of G groups of heads
  Tensor value;  // [B, H or G, K, E]
  /// Whatever else the variant makes of each key's token, which a cache keeps with the keys, such
  /// as FoX's forget gates; undefined where there is nothing. Attention sets it to 0 for padding.
  Tensor extra{};  // [B, K, …]
};

/// Base of all attention: heads, the variant's equation, and an output projection.
struct Attention : Layer, Sight {
  Linear qkv;     // [3·H·D, C]: all of q, then k, then v, heads contiguous inside each
  Linear output;  // [C, H·D]
  /// The heads, and the width of each.
  int64_t n_head = 0, d_head = 0;
  double attention_dropout = 0;

  Tensor forward(const Tensor& x, const Past& past, Context& context) const override {
    return project_output(mix(std::get<RelativeAttention>(terms(x, past, context)), context), x);
  }
  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const override;
  LayerTerms terms(const Tensor& x, const Past& past, Context& context) const override;
  std::vector<Tensor> residual_projections() const override;
  void visit(Visitor& visitor) const override;

  /// Projects x [B, T, C] to q, and `memory` [B, M, C], which may be undefined, with x to k and v.
  /// A variant with projections of its own may have any shapes here from which its `equation` makes
  /// those of the terms: a cache keeps keys and values [B, any, K, any] as they are here.
  virtual Heads heads(const Tensor& x, const Tensor& memory) const;
  /// Returns all terms over these heads, the first key of which stands at position 0.
  RelativeAttention terms_of(const Heads& heads, Context& context) const;
  /// Returns what each head takes from the values, Σ_j p_ij v_j [B, H, T, E]. Passes the
  /// probabilities to the recorder.
  virtual Tensor mix(const RelativeAttention& terms, Context& context) const;
  /// Returns y [B, T, C] of what `mix` returned for the tokens x. A gate or a norm of each head
  /// comes before the output projection.
  virtual Tensor project_output(const Tensor& mixed, const Tensor& x) const;

  /// Returns the terms of the variant's score over these heads, before the factor: 1/√D, unless the
  /// equation sets its own. `positions` is what `position_table` returned for the distances between
  /// them. Masks in the `visibility` hide keys beside those of the call, and its spans narrow them,
  /// counted from the first key at hand. Which keys are seen by their places is up to the layer's
  /// own causal, window, chunk and always, by which its caches forget, and dropout to
  /// `attention_dropout`: an equation that sets those of its terms is refused.
  virtual RelativeAttention equation(const Heads& heads, const Tensor& positions) const = 0;

  /// Returns the heads, with positions rotated into them where the variant does that. The first
  /// query stands at position `query`, the first key at `key`.
  virtual Heads rotated(const Heads& heads, int64_t /*query*/, int64_t /*key*/) const {
    return heads;
  }

  /// Returns what depends on distances alone and is expensive to make: a table [n, …] with a row
  /// for each δ from `farthest` down to `nearest`, which is below 0 for a two-way layer. Undefined
  /// for variants without such a table. A cache makes the table once and then takes rows of it.
  virtual Tensor position_table(int64_t /*farthest*/, int64_t /*nearest*/, Context&) const {
    return {};
  }

  /// Whether the equation depends on how far keys are. If not, and the layer always sees its first
  /// keys beside a window, its cache keeps these and the newest alone, which masks then cover.
  virtual bool scores_distances() const { return true; }

  bool sees_ahead() const override { return Sight::sees_ahead(); }

  /// The largest number of earlier tokens that a query can see.
  virtual int64_t attention_span() const { return farthest(unlimited); }

 protected:
  /// Sets up the members, which the constructor of a variant has to call. Throws an error that
  /// names `layer` when the sizes do not divide into heads.
  void build(const char* layer, int64_t d_model, int64_t heads, std::optional<int64_t> head_size,
             bool with_bias, Init init);
  /// Sets up the members from a variant's config, after a check of its fields.
  template <class Config>
  void build_from(const Config& config, Width width, bool with_bias, Init init,
                  std::optional<int64_t> head_size = {}) {
    check_fields(config.type, Sized{config, width});
    build(config.type, width.d_model, width.n_head.value_or(0), head_size, with_bias, init);
    attention_dropout = config.attention_dropout;
    if constexpr (requires { config.sight; })
      static_cast<Sight&>(*this) = config.sight;
    else
      causal = config.causal;
  }

  /// C, the channels of a token. Throws where no constructor has called `build`.
  int64_t d_model() const;
  /// The least distance between T queries and their keys; 0 where there are no queries.
  int64_t nearest(int64_t T) const { return causal || T == 0 ? 0 : 1 - T; }
  /// Returns the terms of an equation over K tokens with the factor, the dropout of the call, and
  /// the keys that a query may attend to, by the layer's own rules and all masks.
  RelativeAttention with_mask_and_dropout(RelativeAttention terms, int64_t K, Context& context,
                                          int64_t first_position = 0) const;
  /// Projects x [B, T, C] to q [B, H, T, D].
  Tensor project_query(const Tensor& x) const { return project_parts(x, 0, 1); }
  /// Projects a source [B, S, C] to keys and values, without queries.
  Heads project_source(const Tensor& source) const;

 private:
  /// Projects x [B, T, C] to the n parts begin … end-1 of (q, k, v), as heads [B, nH, T, D].
  Tensor project_parts(const Tensor& x, int64_t begin, int64_t end) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
