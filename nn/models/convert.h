#pragma once

// Variants that are cases of another variant, and the maps of their parameters.
//
// Three variants are Transformer-XL's attention with learned distances:
//
//     here                   labml              Music Transformer     Shaw, keys alone
//     u                      query_pos_bias     –                     –
//     E_δ                    R_{P-δ}            E[max_seq-1-δ]        a[max(m-δ, 0)], for all heads
//     s_δ                    S_{P-δ}            past_bias             –
//     window                 P + 1              max_seq               –
//     biases of q, k, v      0, 0, value_bias   qkv.bias              qkv.bias
//
// Where labml refuses a longer text, the window forgets its beginning, as labml's state does. AFT's
// local form is the full one with w = 0 beyond its window, and thin tables are their product.

#include "shiftgrad/nn/models/language_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns a layer with the same outputs, except for rounding, in a state and behind a memory too.
/// Throws when the layer sees the future or has embeddings for values, since Transformer-XL with
/// learned distances cannot.
TransformerXLAttention to_transformer_xl(const RelativeMultiHeadAttention& layer);
TransformerXLAttention to_transformer_xl(const RelativeGlobalAttention& layer);
TransformerXLAttention to_transformer_xl(const ShawAttention& layer);

/// Returns the model with each of its mixers converted by the functions above. Throws when they
/// cannot convert its mixers.
LanguageModel to_transformer_xl(const LanguageModel& model);

/// Returns the full form, with one table, of a layer whose form is local or full. The outputs are
/// the same except for rounding. Throws for the other forms, which read texts of any length.
Aft to_aft_full(const Aft& layer);

/// Returns the model with each of its mixers converted by to_aft_full. Throws when that throws, or
/// when its mixers are not AFT.
LanguageModel to_aft_full(const LanguageModel& model);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
