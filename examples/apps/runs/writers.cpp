#include "writers.h"

#include <map>
#include <utility>

#include "core/errors.h"
#include "named_run.h"
#include "nn/models/run_file.h"

namespace apps {

namespace {

std::map<std::string, std::string>& lines_by_folder() {
  static std::map<std::string, std::string> lines;
  return lines;
}

}  // namespace

void note_writer(const std::string& path, const std::string& version) {
  std::string newer = shiftgrad::newer_writer(version);
  if (newer.empty()) return;
  lines_by_folder().try_emplace(
      folder_of(path),
      shiftgrad::text(path, ": ", newer, "; what it shares with this one is read"));
}

std::vector<std::string> take_notes_on_writers() {
  std::vector<std::string> notes;
  for (const auto& [folder, line] : std::exchange(lines_by_folder(), {})) notes.push_back(line);
  return notes;
}

}  // namespace apps
