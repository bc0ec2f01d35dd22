#include "tests/fuzz/working_folder.h"

#include <filesystem>

#include "core/machine/parallel.h"
#include "tests/support/temporary_folder.h"

namespace fuzz {

void start_in_empty_folder() {
  static TemporaryFolder folder;
  shiftgrad::initialize();
  std::filesystem::current_path(folder.file(""));
}

Files files() {
  Files found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(".")) {
    std::string path = entry.path().lexically_normal();
    if (entry.is_directory())
      found[path + '/'];
    else
      found[path] = read_text(path);
  }
  return found;
}

void restore(const Files& wanted) {
  Files there = files();
  for (const auto& [path, bytes] : there)
    if (!wanted.contains(path)) std::filesystem::remove_all(path);
  for (const auto& [path, bytes] : wanted) {
    auto found = there.find(path);
    if (found != there.end() && found->second == bytes) continue;
    if (path.ends_with('/'))
      std::filesystem::create_directories(path);
    else
      write_text(path, bytes);
  }
}

}  // namespace fuzz
