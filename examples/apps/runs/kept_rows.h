#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/io/safetensors.h"

namespace apps {

/// Copies the weights of a model into those of one that differs in that it knows more tokens. Row n
/// of a weight that has a row for each token becomes row place(n); all other weights have one shape
/// in both.
void keep_rows(const std::map<std::string, shiftgrad::StoredTensor>& before,
               const std::function<size_t(size_t)>& place,
               std::map<std::string, shiftgrad::StoredTensor>& after);

}  // namespace apps
