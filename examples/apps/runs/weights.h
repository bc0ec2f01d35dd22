#pragma once

#include <string_view>

#include "nn/module.h"

namespace apps {

/// Throws unless all weights of the model are finite. The error begins with `place`, such as the
/// path of their file.
void check_weights(const shiftgrad::Module& model, std::string_view place);

}  // namespace apps
