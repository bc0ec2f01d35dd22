// Built once with each precision; both end up in one program.
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

double third() { return Tensor::full({}, Scalar{1} / 3).item(); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
