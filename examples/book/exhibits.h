#pragma once

// The mistakes of wrong_on_purpose, as requests name them.

#include <optional>

#include "examples/studies/wrong_on_purpose/training.h"
#include "nn/models/language_model.h"
#include "optim/trainer_config.h"
#include "request.h"

namespace book {

using wrong_on_purpose::Exhibit;

/// Answers with the mistakes that a training can be begun with.
Json exhibits_of(const Json& request);

/// Returns the exhibit that a request names, if it names one.
std::optional<Exhibit> exhibit_of(const Json& request);

/// Whether it is trained to fill in blanks.
bool fills_in(const std::optional<Exhibit>& exhibit);

/// Returns what wrong_on_purpose takes from the settings of a trainer. Throws when one of them is
/// out of range.
wrong_on_purpose::TrainingConfig exhibit_config(const shiftgrad::TrainerConfig& config);

}  // namespace book
