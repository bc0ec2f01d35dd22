#include "core/io/atomic_file.h"

#include <cstdio>
#include <filesystem>
#include <random>
#include <string_view>

#include "core/errors.h"
#include "core/io/path.h"
#include "core/io/replaced_file.h"

namespace shiftgrad {

namespace {

bool is_temporary_name(const std::string& name) {
  constexpr std::string_view begin = ".shiftgrad-";
  size_t end = name.find_first_not_of("0123456789abcdef", begin.size());
  return name.starts_with(begin) && end == begin.size() + 16 && name.substr(end) == ".tmp";
}

/// Returns the file at the end of a path and its links. Throws where that is no file.
std::filesystem::path target_of(const std::filesystem::path& path) {
  auto status = std::filesystem::status(path);
  bool is_link = is_symlink(std::filesystem::symlink_status(path));
  require(exists(status) || !is_link, "a symbolic link to a file that does not exist");
  require(!exists(status) || is_regular_file(status), "exists and is not a regular file");
  return exists(status) ? canonical(path) : path;
}

}  // namespace

std::string temporary_name() {
  std::random_device random;
  char name[40];
  std::snprintf(name, sizeof name, ".shiftgrad-%08x%08x.tmp", random(), random());
  return name;
}

void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces) {
  in_name_of(path, [&] {
    try {
      replace_file(target_of(path_of(path)), pieces);
    } catch (const std::filesystem::filesystem_error& error) {
      fail(error.code().message());
    }
  });
}

void write_file_atomically(const std::string& path, std::string_view text) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(text.data(), text.size()));
  write_file_atomically(path, std::span(&bytes, 1));
}

void remove_abandoned_files(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_of(folder), ignored))
    if (is_temporary_name(entry.path().filename().string())) remove_unless_locked(entry.path());
}

}  // namespace shiftgrad
