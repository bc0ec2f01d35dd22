// What programs ask about OpenBLAS, in a build without it.

#include "core/machine/openblas.h"

namespace shiftgrad {

std::optional<std::string> openblas_complaint() { return std::nullopt; }

std::string openblas_core() { return "none"; }

}  // namespace shiftgrad
