#pragma once

// Transformer-XL's relative attention (Dai et al. 2019, section 3.3). With δ = M + i - j the
// distance from query i back to key j,
//
//     score_ij = (q_i·k_j  +  q_i·r_δ  +  u·k_j  +  v·r_δ) / √D        r_δ = W_r R_δ
//                  (a)          (b)         (c)        (d)
//              = ((q_i + u)·k_j  +  (q_i + v)·r_δ) / √D
//
// R_δ are sinusoids. The content bias u and the position bias v replace the query's own position.
// A two-way layer has δ < 0 for the keys after the query, with the same W_r, as XLNet (Yang et al.
// 2019) has it. With learned positions,
//
//     score_ij = ((q_i + u)·k_j + q_i·E_δ + s_δ) / √D
//
// and greater distances share the row of the farthest. The original code calls this attn_type 1.
// The paper does not have it.

#include <optional>
#include <string>

#include "core/named.h"
#include "nn/attention.h"
#include "nn/width.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What stands for a distance δ: a sinusoid R_δ, or learned E_δ and s_δ.
enum class DistancePositions { sinusoid, learned };
constexpr auto names(DistancePositions) { return std::array{"sinusoid", "learned"}; }

/// Config of a TransformerXLAttention.
struct TransformerXLAttentionConfig {
  using Layer = struct TransformerXLAttention;
  static constexpr const char* type = "transformer_xl_attention";
  static constexpr KnownModel known{.name = "transformer_xl",
                                    .summary = "relative positions, as sinusoids or learned",
                                    .in_order = true,
                                    .forms = {"", "position=learned"}};
  /// Width of a head. The default is d_model / n_head.
  std::optional<int64_t> d_head{};
  /// The distance beyond which all distances share one sinusoid, on either side; 0 = no clamp.
  std::optional<int64_t> clamp_len{};
  /// Which keys a query sees. The original's same_length is a window as long as the memory. Only
  /// sinusoids go on into the future.
  Sight sight{};
  /// What stands for a distance. Learned positions need max_positions, the number of distances that
  /// have rows of their own.
  DistancePositions positions = DistancePositions::sinusoid;
  std::optional<int64_t> max_positions{};
  /// Whether the score has the terms (c) and (d). With learned positions, (d) is s_δ.
  bool content_bias = true;
  bool position_bias = true;
  /// Whether the projections qkv and output have biases, which the original's do not have. JSON
  /// calls it projection_bias, too.
  bool bias = false;
  /// Dropout of the sinusoids R; attention_dropout is that of the probabilities.
  double dropout = 0;
  double attention_dropout = 0;

  void fields(auto&& field) {
    field(d_head, {"d_head", "width of a head, otherwise d_model / n_head", quantity::channels});
    field(clamp_len,
          {"clamp_len", "with sinusoid positions, treat greater distances as this one; 0 for none",
           quantity::tokens_or_none});
    sight.rules(field);
    field(sight.causal, fields::causal(), true);
    field(content_bias, {"content_bias", "add a bias to the queries of keys, u"}, true);
    field(position_bias, {"position_bias", "add a bias to the queries of distances, v"}, true);
    field(bias, {.name = "projection_bias", .help = fields::bias().help, .also = "bias"}, false);
    field(positions, {"positions", "what stands for a distance"});
    field(max_positions, {"max_positions",
                          "with learned positions, rows of the table of distances; in models as "
                          "many as sequences and memory need",
                          quantity::tokens});
    field(dropout, fields::dropout());
    field(attention_dropout, fields::attention_dropout());
  }

  /// Sets the size of the table of learned positions unless that is given.
  void fill_defaults(const SequenceLengths& lengths) {
    if (!max_positions && positions == DistancePositions::learned)
      max_positions = lengths.distances;
  }
};

/// Transformer-XL's attention, by content and by distance.
struct TransformerXLAttention : Attention {
  TransformerXLAttentionConfig config;
  Tensor content_bias;          // u [H, D], undefined without the term (c)
  Tensor position_bias;         // v [H, D], sinusoid only, undefined without the term (d)
  Linear position;              // W_r [H·D, C], sinusoid only
  Tensor position_embeddings;   // E [max_positions, H, D], learned only
  Tensor position_scalar_bias;  // s [max_positions, H], learned only, undefined without (d)

  /// Draws weights and E from N(0, 0.02²), as the original code does. All biases start at 0; the
  /// original draws u and v from N(0, 0.02²), too. Throws when the config describes no valid layer.
  TransformerXLAttention(const TransformerXLAttentionConfig& config, Width width, Init init);
  void visit(Visitor& visitor) const override;
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override;
  Tensor position_table(int64_t farthest, int64_t nearest, Context& context) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
