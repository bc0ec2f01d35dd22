#pragma once

#include <string>

namespace common {

// The titles below which `train --help` lists its flags.
inline const std::string texts_title = "Texts", run_title = "The run", model_title = "The model",
                         options_title = "Options of some models", batches_title = "Batches",
                         loss_title = "The loss", update_title = "Updates";

/// Returns the title of a flag of any training, or an empty string for a flag of the model.
std::string training_group(const std::string& flag);

}  // namespace common
