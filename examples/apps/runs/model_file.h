#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nn/models/run_file.h"

namespace apps {

/// A file of any model, as far as its content says what it is.
struct ModelFile : shiftgrad::RunFile {
  std::string path;

  /// Returns the metadata of this name, or an empty string.
  std::string text(const std::string& name) const;
  /// Returns what the file has, such as "weights, config, run".
  std::string has() const;
};

/// Reads a file of tensors, of any program. Throws one line that begins with the path.
ModelFile read_model_file(const std::string& path);

/// Returns the settings in a JSON object by name, those of nested objects as in mixer.type, without
/// those that are null or nested too deep. A text that is no JSON object has none.
std::vector<std::pair<std::string, std::string>> settings_of(const std::string& json);

}  // namespace apps
