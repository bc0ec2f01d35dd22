#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace shiftgrad {

/// Makes `path` hold the pieces one after the other, or leaves it as it was: other processes, and
/// whoever finds the disk after a power cut, see the whole old file or the whole new one. The bytes
/// go to a temporary file in the same folder, which then takes the old one's place; a symbolic link
/// stays a link. Throws when anything fails, and when `path` exists but is no regular file; the
/// text begins with the path.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);

/// Removes the temporary files in the folder whose writers, processes of this machine, were killed.
void remove_abandoned_files(const std::string& folder);

}  // namespace shiftgrad
