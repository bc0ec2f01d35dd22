#pragma once

#include "core/layout.h"
#include "core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// target = beta · target + alpha · source, summed along the axes on which `to` is broadcast. The
/// sums follow a tree fixed by the sizes alone.
void add_sums(Scalar beta, Scalar* target, const Layout& to, const Scalar* source,
              const Layout& from, Scalar alpha);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
