#pragma once

// What all attention layers share: heads made by one projection, the variant's own equation over
// them, and an output projection.
//
//     q, k, v = x W_qkvᵀ + b,    y = concat_h(Σ_j softmax_j(score_ij / √D) v_j) W_outputᵀ + b
//
// A variant says what is in its score, term by term. One kernel computes it (ops/attention.h); with
// a recorder plain ops do, as the papers write it.
//
// Multi-head attention: Vaswani et al. 2017, section 3.2.2.

#include <optional>

#include "shiftgrad/nn/layer.h"
#include "shiftgrad/nn/linear.h"
#include "shiftgrad/ops/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Queries of T tokens against keys and values of K ≥ T, the queries being the last T of them.
struct Heads {
  Tensor query;  // [B, H, T, D]
  Tensor key;    // [B, H, K, D]
  Tensor value;  // [B, H, K, D]
};

/// Of S tokens that any number of queries attend to.
struct KeysAndValues {
  Tensor key;    // [B, H, S, D]
  Tensor value;  // [B, H, S, D]
};

struct Attention : Layer {
  Linear qkv;     // [3·H·D, C]: all of q, then k, then v, heads contiguous inside each
  Linear output;  // [C, H·D]
  int64_t n_head = 0, d_head = 0;
  bool causal = true;
  int64_t window = 0;  // keys with |δ| ≥ window are not attended; 0 is no window
  double attention_dropout = 0;

  Tensor forward(const Tensor& x, const Tensor& memory, Context& context) const override;
  std::unique_ptr<State> start(int64_t limit = unlimited) const override;
  Tensor forward(const Tensor& x, State& state, Context& context) const override;
  void visit(Visitor& visitor) const override;

 protected:
  /// Sets the members up. Throws in the name of `layer` on sizes that make no heads.
  void build(const char* layer, int64_t d_model, int64_t heads, std::optional<int64_t> head_size,
             bool with_bias, Random& random);
  void set_window(const char* layer, std::optional<int64_t> size);

  /// The variant's equation, before 1/√D: its terms over these heads. `positions` is what
  /// `position_table` gave for K keys.
  virtual RelativeAttention equation(const Heads& heads, const Tensor& positions) const = 0;

  /// The heads with positions rotated into them, where the variant does that: the first query
  /// stands at position `query`, the first key at `key`.
  virtual Heads rotated(const Heads& heads, int64_t query, int64_t key) const;

  /// What depends on the distances alone and is dear to make: a row for each of K keys, [K, H, D],
  /// row r for δ = K - 1 - r; undefined where there is no such thing. A state makes it once and
  /// takes the last K rows from then on.
  virtual Tensor position_table(int64_t keys, Context& context) const;

  /// How many earlier tokens a query can see at most.
  virtual int64_t reach() const;

  /// y [B, T, C] from an equation, with attention dropout; tells the recorder.
  Tensor attend(RelativeAttention terms, const Visibility& visible, Context& context) const;

  /// The keys a query may attend to: the layer's own rule and the masks of the call.
  Visibility visibility(const Context& context) const;

  /// q from x [B, T, C], k and v from `source` [B, K, C].
  Heads project(const Tensor& x, const Tensor& source) const;
  Tensor project_query(const Tensor& x) const;
  KeysAndValues project_source(const Tensor& source) const;

 private:
  /// Parts begin … end-1 of the projection's three for x [B, T, C], as heads [B, nH, T, D].
  Tensor project_parts(const Tensor& x, int64_t begin, int64_t end) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
