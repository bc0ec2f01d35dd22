#pragma once

#include <string>
#include <vector>

namespace apps {

/// Remembers a file that was read, if a newer version of the library wrote it. Files of one folder
/// are remembered by the first of them.
void note_writer(const std::string& path, const std::string& version);

/// Returns a line for each file that was remembered, and forgets them.
std::vector<std::string> take_notes_on_writers();

}  // namespace apps
