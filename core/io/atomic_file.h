#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace shiftgrad {

/// Makes `path` hold the pieces one after the other, or leaves it as it was: other processes, and
/// whoever finds the disk after a power cut, see the whole old file or the whole new one. The bytes
/// go to a temporary file in the same folder, under a name that cannot be guessed, which then takes
/// the old one's place, its mode, and its owner where that is allowed; a symbolic link stays a
/// link. Throws when anything fails, when `path` exists but is no regular file, and when it is a
/// link to nothing; the text begins with the path.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);

/// Removes the temporary files in the folder whose writers were killed. A writer holds a lock
/// (flock) on its file, so that one that lives is seen from other machines and containers too;
/// where the file system has no locks, nothing is removed.
void remove_abandoned_files(const std::string& folder);

}  // namespace shiftgrad
