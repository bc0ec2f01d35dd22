#pragma once

#include <set>
#include <string>

#include "train_flags.h"

namespace char_lm {

/// Sets the flags that were not `given` to what the file says, a JSON object of flags by name, and
/// returns the names in it. Throws, in the name of the path, at a key that is no flag and at a
/// value of another type.
std::set<std::string> read_config(const std::string& path, const std::set<std::string>& given,
                                  TrainFlags& flags);

}  // namespace char_lm
