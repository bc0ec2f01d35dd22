#pragma once

// What writing a file whole takes from the system.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace shiftgrad {

/// Returns the name of a temporary file, which nobody can know beforehand.
std::string temporary_name();

/// Writes the pieces to a temporary file in the folder of `path`, which others see as locked while
/// it is written, and then puts it in the place of the file that is there. The path is no link.
/// Throws the reason, without the path.
void replace_file(const std::filesystem::path& path,
                  std::span<const std::span<const std::byte>> pieces);

/// Removes a temporary file unless it is locked, that is, unless somebody is writing it.
void remove_unless_locked(const std::filesystem::path& path);

}  // namespace shiftgrad
