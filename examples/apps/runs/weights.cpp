#include "weights.h"

#include <cmath>

#include "core/errors.h"

namespace common {

void check_weights(const shiftgrad::Module& model, std::string_view place) {
  for (const auto& [name, weight, decay] : parameters(model))
    for (int64_t n = 0; n < weight.count(); ++n)
      shiftgrad::require(std::isfinite(weight.data()[n]), place, ": ", name, " is not finite");
}

}  // namespace common
