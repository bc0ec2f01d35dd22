#pragma once

#include "request.h"

namespace book {

/// Answers the request "draw".
Json drawing_of(const Json& request);

}  // namespace book
