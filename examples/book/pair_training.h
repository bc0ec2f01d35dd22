#pragma once

#include "request.h"

namespace book {

/// Trains a new encoder and decoder on pairs of texts. `study.h` has the request.
Json train_pairs(const Json& request);

}  // namespace book
