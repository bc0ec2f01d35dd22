#pragma once

#include <set>
#include <string>

#include "train_flags.h"

namespace char_lm {

/// The flags that may change when a run goes on, for they do not change its course.
const std::set<std::string>& free_flags();

/// The flags of the saved run with those of `asked` that were `given`. Throws, naming the flag,
/// when one of these differs that may not.
TrainFlags resumed_flags(const TrainFlags& saved, const TrainFlags& asked,
                         const std::set<std::string>& given, const std::string& source);

/// The flags of `asked` for a model that starts with saved weights: those of its shape and its
/// vocabulary are the saved ones. Throws, naming the flag, when another was `given`.
TrainFlags started_flags(const TrainFlags& saved, const TrainFlags& asked,
                         const std::set<std::string>& given, const std::string& source);

}  // namespace char_lm
