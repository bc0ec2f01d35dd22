#pragma once

#include <string>

namespace char_lm {

// A run as people name it: its folder, or one of the files in it.

/// The checkpoint that is meant: the one called `name`, best or last, where a folder is named.
/// Throws when a file is named beside another --checkpoint.
std::string checkpoint_of(const std::string& run, const std::string& name);

/// The run's folder.
std::string folder_of(const std::string& run);

}  // namespace char_lm
