#pragma once

#include <set>
#include <string>

#include "train_flags.h"

namespace char_lm {

/// The flags of `asked` for a model that starts with saved weights: those of its shape and its
/// vocabulary are the saved ones. Throws, naming the flag, when another was `given`.
TrainFlags started_flags(const TrainFlags& saved, const TrainFlags& asked,
                         const std::set<std::string>& given, const std::string& source);

}  // namespace char_lm
