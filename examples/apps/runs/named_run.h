#pragma once

#include <string>
#include <vector>

namespace apps {

// A run is named by its folder or by one of the files in it, or by a model's file of any name.

/// Returns the path of the run's checkpoint. In a folder it is the one called `name`, best or last,
/// or else the only safetensors file, of whatever name.
/// Throws when the run is a file and --checkpoint names another.
std::string checkpoint_of(const std::string& run, const std::string& name);

/// Returns the run's folder.
std::string folder_of(const std::string& run);

/// Returns the names of the runs for pictures and tables: the names of folders, or of files
/// that models of a program's own have, or whole paths where a name is shared.
std::vector<std::string> run_names(const std::vector<std::string>& runs);

}  // namespace apps
