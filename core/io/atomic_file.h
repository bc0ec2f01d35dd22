#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace shiftgrad {

/// Writes the pieces one after the other to `path`, or leaves the file as it was. Other processes
/// see either the whole old file or the whole new one, and so does a reader after a power cut. The
/// bytes go to a temporary file in the same folder, under a name that cannot be guessed. That file
/// then takes the place of the old one, with its mode, and with its owner where that is allowed; a
/// symbolic link stays a link. Throws when anything fails, when `path` exists but is not a regular
/// file, and when it is a link to nothing; the text begins with the path.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);
/// Writes a text so.
void write_file_atomically(const std::string& path, std::string_view text);

/// Removes the temporary files in the folder whose writers were killed. A writer holds a lock
/// (flock) on its file, so that other machines and containers too can see that it is alive. Where
/// the file system has no locks, nothing is removed.
void remove_abandoned_files(const std::string& folder);

}  // namespace shiftgrad
