#include "weights.h"

#include "core/errors.h"
#include "core/io/float_types.h"
#include "core/io/tensor_file.h"

namespace apps {

void check_weights(const shiftgrad::Module& model, std::string_view place) {
  for (const auto& [name, weight, decay] : parameters(model))
    shiftgrad::require(is_finite(stored_view(weight)), place, ": ", name, " is not finite");
}

}  // namespace apps
