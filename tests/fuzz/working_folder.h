#pragma once

#include <map>
#include <string>

namespace fuzz {

/// Starts the library in a working folder that is empty, and goes with the process.
void start_in_empty_folder();

/// The bytes of all files below the working folder by their paths, and its folders, whose paths end
/// with a slash.
using Files = std::map<std::string, std::string>;

Files files();

/// Makes the working folder hold these again, and nothing else.
void restore(const Files& files);

}  // namespace fuzz
