#pragma once

// What attention asks of a variant's own parts, so that nothing they set is lost without a word.

#include <memory>
#include <string>

#include "nn/context.h"
#include "ops/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Throws an error that names the layer when an equation over K tokens sets what is up to the
/// layer, or has a key that a mask of the call does not cover.
void check_equation(const std::string& layer, const RelativeAttention& terms, int64_t K,
                    const Context& context);

/// Throws if terms depend on distances, which keys behind a gap have lost: those of a layer that
/// says its scores have none.
void check_no_distances(const std::string& layer, const RelativeAttention& terms);

/// Returns what a variant made of the newest tokens [B, T, …], with 0 for those that are padding.
/// Padding of another shape is left to the op, which refuses it.
Tensor without_padding(const Tensor& extra, const std::shared_ptr<const Mask>& padding);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
