#pragma once

// Variants that are cases of another variant, and the maps of their parameters. They are read off
// the terms of a mixer (Layer::terms), so any mixer that has such terms can be converted.
//
// Attention whose terms depend on distances alone, in a window or clipped, is Transformer-XL's
// attention with learned distances:
//
//     here                   terms
//     u                      content_bias
//     E_δ                    position_rows[δ] + clipped_keys[c]
//     s_δ                    position_scores[δ] + position_bias·E_δ
//     window                 the distances that a query sees
//     biases of v            those of the layer, and a row of clipped_values for all distances
//
// Where labml refuses a longer text, the window forgets its beginning, as labml's state does. AFT's
// local form is the full one with w = 0 beyond its window, and thin tables are their product.

#include "nn/models/language_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns a layer with the same outputs, except for rounding, in a state and behind a memory too.
/// Throws, in the layer's name, when it does what Transformer-XL with learned distances cannot: it
/// sees the future, has embeddings of distances for values, has terms for any distance without a
/// window, or computes more than its terms by distance say, with rotated heads for example.
TransformerXLAttention to_transformer_xl(const Attention& layer);

/// Returns the model with each of its mixers converted as a layer is; they may be the program's
/// own. Throws when one of them cannot be converted.
LanguageModel to_transformer_xl(const LanguageModel& model);

/// Returns the full form, with one table, of a layer whose form is local or full. The outputs are
/// the same except for rounding. Throws for the other forms, which read texts of any length.
Aft to_aft_full(const Aft& layer);

/// Returns the model with each of its mixers converted by to_aft_full. Throws when that throws, or
/// when its mixers have no AftTerms.
LanguageModel to_aft_full(const LanguageModel& model);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
