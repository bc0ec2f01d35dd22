#pragma once

// What all attention layers share: heads made by one projection, the variant's own `attend` over
// them, and an output projection.
//
//     q, k, v = x W_qkvᵀ + b,    y = concat_h(attend(q, k, v)) W_outputᵀ + b
//
// Multi-head attention: Vaswani et al. 2017, section 3.2.2.

#include <optional>

#include "nn/layer.h"
#include "nn/linear.h"
#include "ops/visibility.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// Queries of T tokens against keys and values of K ≥ T, the queries being the last T of them.
struct Heads {
  Tensor query;  // [B, H, T, D]
  Tensor key;    // [B, H, K, D]
  Tensor value;  // [B, H, K, D]
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

  /// The variant's equation: [B, H, T, D] from the heads. `positions` is what `position_table` gave
  /// for K keys.
  virtual Tensor attend(const Heads& heads, const Tensor& positions, Context& context) const = 0;

  /// What depends on the distances alone and is dear to make: a row for each of K keys, [K, H, D],
  /// row r for δ = K - 1 - r; undefined where there is no such thing. A state makes it once and
  /// takes the last K rows from then on.
  virtual Tensor position_table(int64_t keys, Context& context) const;

  /// How many earlier tokens a query can see at most.
  virtual int64_t reach() const;

  /// p_ij = softmax_j(factor · scores_ij) over the keys that `visible` leaves, [B, H, T, K].
  /// Applies attention dropout and tells the recorder.
  Tensor probabilities(const Tensor& scores, const Visibility& visible, Scalar factor,
                       Context& context) const;

  /// The keys a query may attend to: the layer's own rule and the masks of the call.
  Visibility visibility(const Context& context) const;

  /// 1/√D.
  Scalar scale() const;

  /// q from x [B, T, C], k and v from `source` [B, K, C].
  Heads project(const Tensor& x, const Tensor& source) const;
};

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
