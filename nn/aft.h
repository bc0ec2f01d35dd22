#pragma once

// The Attention Free Transformer (Zhai et al. 2021, "An Attention Free Transformer"):
//
//     y_t = σ(q_t) ⊙ Σ_t' e^(k_t' + w_tt') v_t' / Σ_t' e^(k_t' + w_tt')          over t' that t may
//     see
//
//     full    w learned for each pair of positions, or factorised as a product of two thin tables
//     local   the same where |t - t'| < s, else 0: farther keys stay visible
//     simple  w = 0
//     conv    w depends on the head and on t - t' alone, s taps; k is one scalar a head. The taps
//     are
//             γ (kernel - mean)/std + β over a head's taps
//
// The paper's section 3 has the forms in this order. q, k, v are projections as in attention.

#include <optional>
#include <string>

#include "shiftgrad/nn/layer.h"
#include "shiftgrad/nn/linear.h"
#include "shiftgrad/ops/aft.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct Aft;

struct AftConfig {
  using Layer = Aft;
  static constexpr const char* type = "aft";
  int64_t d_model = 0;
  /// `full`, `local`, `simple` or `conv`.
  std::string form = "full";
  /// The length of the position table, for full and local.
  std::optional<int64_t> max_len{};
  /// s, for local and conv; a local one beyond max_len is max_len.
  std::optional<int64_t> window{};
  bool causal = true;
  bool bias = true;
  /// r of the factorised table, for full and local; 0 is a table of its own for each pair.
  std::optional<int64_t> factor_rank{};
  /// For conv.
  std::optional<int64_t> n_head{};

  template <class Fields>
  void fields(Fields& field) {
    field("d_model", d_model);
    field("form", form);
    field("max_len", max_len);
    field("window", window);
    field("causal", causal);
    field("bias", bias);
    field("factor_rank", factor_rank);
    field("n_head", n_head);
  }
};

struct Aft : Layer {
  enum class Form { full, local, simple, conv };
  Form form = Form::full;
  bool causal = true;
  int64_t d_model = 0, max_len = 0, window = 0, n_head = 0;
  Linear qkv;                                     // [3C, C]; conv has the three below instead
  Linear query, key, value;                       // [C, C], [H, C], [C, C]
  Linear output;                                  // [C, C]
  Tensor position_bias;                           // w [max_len, max_len] (query, key)
  Tensor position_bias_query, position_bias_key;  // [max_len, r], w their product
  Tensor kernel;                                  // [H, s]
  Tensor kernel_gain, kernel_offset;              // γ, β [H]

  /// Weights start at N(0, 0.02²), the kernel too; factors and w as well, w so that it is near 0;
  /// γ = β = 0, so that conv starts as simple. Throws when the config names no layer.
  Aft(const AftConfig& config, Random& random);

  Tensor forward(const Tensor& x, const Tensor& memory, Context& context) const override;
  /// Running sums of far keys in double and the keys and values of the last s tokens: constant cost
  /// a token, but for the full form, which keeps all max_len. Sums take no masks and no recorder.
  /// With a limit, the keys and values of that many tokens. Causal only.
  std::unique_ptr<State> start(int64_t limit = unlimited) const override;
  Tensor forward(const Tensor& x, State& state, Context& context) const override;
  int64_t longest() const override;
  void visit(Visitor& visitor) const override;

  /// σ(q) [B, T, C] of x, and k, v [B, K, C] of `source`.
  struct Projections {
    Tensor gate, key, value;
  };
  Projections project(const Tensor& x, const Tensor& source) const;

  /// The position biases of T queries behind M keys, as the band that aft_mix takes.
  AftBand band(int64_t M, int64_t T) const;

 private:
  /// y [B, T, C] of T queries over K keys, told to the recorder.
  Tensor mix(const Projections& projections, const AftBand& biases, const Visibility& visible,
             Context& context) const;
  Visibility visibility(const Context& context) const;
  void build_positions(const AftConfig& config, Random& random);
  AftBand table_band(int64_t M, int64_t T) const;
  AftBand conv_band(int64_t M, int64_t T) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
