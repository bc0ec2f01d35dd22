#pragma once

// The Attention Free Transformer (Zhai et al. 2021, "An Attention Free Transformer").
//
//     y_t = σ(q_t) ⊙ Σ_t' e^(k_t' + w_tt') v_t' / Σ_t' e^(k_t' + w_tt')
//
// where t' runs over the positions that t may see, and w has one of these forms:
//
//     full    w learned for each pair of positions, or factorised as a product of two thin tables
//     local   the same where |t - t'| < s, else 0: farther keys stay visible
//     simple  w = 0
//     conv    w depends on the head and on t - t' alone; k is one scalar for each head.
//             The s taps of a head are γ (kernel - mean)/std + β
//
// The forms stand in the order of the paper's section 3. q, k and v are projections of x, as in
// attention.

#include <optional>
#include <string>

#include "core/named.h"
#include "nn/layer.h"
#include "nn/linear.h"
#include "nn/width.h"
#include "ops/aft.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Forms of the position biases w.
enum class AftForm { full, local, simple, conv };
constexpr auto names(AftForm) { return std::array{"full", "local", "simple", "conv"}; }

/// Config of an Aft.
struct AftConfig {
  using Layer = struct Aft;
  static constexpr const char* type = "aft";
  static constexpr KnownModel known{
      .name = "aft",
      .summary = "attention free, weighted sums of values",
      .sums_past = true,
      .forms = {"form=full", "form=local", "form=simple", "form=conv"}};
  /// Form of the position biases.
  AftForm form = AftForm::full;
  /// Length of the position table, for full and local.
  std::optional<int64_t> max_len{};
  /// s, the reach of the position biases, for local and conv. For local, a value above max_len
  /// means max_len.
  std::optional<int64_t> window{};
  bool causal = true;
  bool bias = true;
  /// r, the rank of the factorised table, for full and local. 0 stores one entry for each pair of
  /// positions.
  std::optional<int64_t> factor_rank{};

  void fields(auto&& field) {
    field(form, {"form", "position biases everywhere, in a window, none, or as a convolution"});
    field(max_len,
          {"max_len",
           "rows of the table of positions, for full and local; in models the length of a sequence",
           quantity::tokens});
    field(window,
          {"window", "reach of the position biases, for local and conv; in models 32, for conv 11",
           quantity::tokens});
    field(causal, fields::causal());
    field(bias, fields::bias());
    field(factor_rank, {"factor_rank",
                        "make the table of positions a product of two of this width, for full and "
                        "local; 0 for one table, in models 64",
                        {"CHANNELS", range::zero_or_more}});
  }

  /// Whether the form has a table of positions.
  bool has_table() const { return form == AftForm::full || form == AftForm::local; }
  /// Whether the form has a reach.
  bool has_window() const { return form == AftForm::local || form == AftForm::conv; }
  /// What a model has unless told otherwise.
  static AftConfig defaults() { return {.form = AftForm::local}; }
  /// Sets what the form needs and nobody has given: a table of all positions, factorised as the
  /// paper has it, and a reach of 32 or 11.
  void fill_defaults(const SequenceLengths& lengths) {
    if (!max_len && has_table()) max_len = lengths.sequence;
    if (!factor_rank && has_table()) factor_rank = 64;
    if (!window && has_window()) window = form == AftForm::local ? 32 : 11;
  }
};

/// Whether the form has heads: only conv does.
inline bool has_heads(const AftConfig& config) { return config.form == AftForm::conv; }
void width_fields(const AftConfig&, Width& width, auto&& field) {
  field(width.d_model, fields::d_model());
  field(width.n_head, fields::n_head());
}

/// An attention free layer, whose position biases have one of four forms.
struct Aft : Layer {
  AftConfig config;
  Width width;
  Linear qkv;                                     // [3C, C]; conv has the three below instead
  Linear query, key, value;                       // [C, C], [H, C], [C, C]
  Linear output;                                  // [C, C]
  Tensor position_bias;                           // w [max_len, max_len] (query, key)
  Tensor position_bias_query, position_bias_key;  // [max_len, r], w their product
  Tensor kernel;                                  // [H, s]
  Tensor kernel_gain, kernel_offset;              // γ, β [H]

  /// Draws weights, w, its factors and the kernel from N(0, 0.02²), so w starts near 0. γ and β
  /// start at 0, so conv starts as simple. Throws when the config describes no valid layer.
  Aft(const AftConfig& config, Width width, Init init);

  Tensor forward(const Tensor& x, const Past& past, Context& context) const override;
  /// Returns a cache that keeps running sums of the far keys in double, and the keys and values of
  /// the last s tokens. A token then costs the same however many came before. Sums accept no masks
  /// and no recorder, and have no terms. In the full form the cache keeps the keys and values of
  /// all max_len tokens instead, and with a limit those of that many. Only causal layers have a
  /// cache.
  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const override;
  LayerTerms terms(const Tensor& x, const Past& past, Context& context) const override;
  Limits limits() const override { return {.length = config.max_len.value_or(unlimited)}; }
  bool sees_ahead() const override { return !config.causal; }
  std::vector<Tensor> residual_projections() const override { return {output.weight}; }
  void visit(Visitor& visitor) const override;

  /// Returns the gate, made from x [B, T, C], and the keys and values, made from `memory` [B, M,
  /// C], which may be undefined, and x. The other terms are still to be filled in.
  AftTerms project(const Tensor& x, const Tensor& memory) const;

  /// Returns the position biases of T queries after M earlier keys, as the band that aft_mix takes.
  AftBand band(int64_t M, int64_t T) const;

 private:
  AftBand table_band(int64_t M, int64_t T) const;
  AftBand conv_band(int64_t M, int64_t T) const;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
