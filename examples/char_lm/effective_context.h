#pragma once

// The relative effective context length of a group of models (Dai et al. 2019, "Transformer-XL",
// section 4.4 and appendix C). With l_i(c, t) the loss of model i at position t when it sees the c
// tokens before it,
//
//     b(c, t) = min_i l_i(c, t)                                what the group makes of c tokens
//     f_i(c, c') = mean_t min(b(c, t), l_i(c', t))             over the share r of all t with the
//                                                              largest b(c, t)
//     g_i(c, c') = (exp f_i(c, c) - exp f_i(c, c')) / exp f_i(c, c)
//
// and it is the first c of a list of lengths from which the next, c', gains less than 0.01:
// g_i(c, c') < 0.01. The paper's lists have equal steps. All models have to improve on the same
// baseline, so that a weak one does not look as if it profited from far tokens.

#include <cstdint>
#include <vector>

namespace char_lm {

struct EffectiveContext {
  int64_t length = 0;
  /// No step of the list gains less, so it may be longer.
  bool at_least = false;
};

/// losses[n][k] is that of a model with the n-th length of context at the k-th position scored.
using ModelLosses = std::vector<std::vector<double>>;

/// Of each model, for the share 0 < r <= 1 of the positions. The lengths rise. A model that cannot
/// read so much stops earlier, after at least one length, and longer ones gain it nothing.
std::vector<EffectiveContext> effective_context(const std::vector<ModelLosses>& losses,
                                                const std::vector<int64_t>& lengths, double r);

}  // namespace char_lm
