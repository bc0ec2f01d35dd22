#pragma once

#include <nlohmann/json_fwd.hpp>

namespace book {

/// Applies operations to a tensor, one to the result of the other, and tells where the elements of
/// each result lie. `study.h` has the request.
nlohmann::json views_of(const nlohmann::json& request);

}  // namespace book
