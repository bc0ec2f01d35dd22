#pragma once

// The relative effective context length of a group of models (Dai et al. 2019, "Transformer-XL",
// appendix C). With l_i(c, t) the loss of model i at position t when it sees the c
// tokens before it,
//
//     b(c, t) = min_i l_i(c, t)                                what the group makes of c tokens
//     f_i(c, c') = mean_t min(b(c, t), l_i(c', t))             over the share r of all t with the
//                                                              largest b(c, t)
//     g_i(c, c') = (exp f_i(c, c) - exp f_i(c, c')) / exp f_i(c, c)
//
// Let c' be the next length after c in a list. The effective length is the first c for which c'
// gains less than 0.01: g_i(c, c') < 0.01. The paper's lists have equal steps. All models have to
// improve on the same baseline, so that a weak model does not seem to profit from far tokens.

#include <cstdint>
#include <vector>

namespace char_lm {

struct EffectiveContext {
  int64_t length = 0;
  /// Whether the length may be greater, because every step of the list gains at least 0.01.
  bool at_least = false;
};

/// Losses of one model. losses[n][k] is the loss with the n-th context length at the k-th scored
/// position.
using ModelLosses = std::vector<std::vector<double>>;

/// Returns the effective context of each model, for the share 0 < r <= 1 of the positions. The
/// lengths rise. The losses of a model that cannot read all lengths stop earlier, after at least
/// one length; longer ones gain it nothing.
std::vector<EffectiveContext> effective_context(const std::vector<ModelLosses>& losses,
                                                const std::vector<int64_t>& lengths, double r);

}  // namespace char_lm
