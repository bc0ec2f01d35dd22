#include "core/machine/limits.h"

#ifdef __linux__
#include <sys/sysinfo.h>
#endif

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

namespace shiftgrad {

namespace {

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Returns the whole number at the start of a text: none in `max`, or where there is no text.
std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

/// Returns a path of mountinfo, where \040 stands for a space.
std::string unescaped(const std::string& path) {
  std::string result;
  for (size_t n = 0; n < path.size(); ++n) {
    int byte = 0;
    const char* digits = path.data() + n + 1;
    bool escaped = path[n] == '\\' && n + 3 < path.size() &&
                   std::from_chars(digits, digits + 3, byte, 8).ptr == digits + 3;
    result += escaped ? static_cast<char>(byte) : path[n];
    if (escaped) n += 3;
  }
  return result;
}

/// A hierarchy of cgroups as it is seen at a folder: that of version 1 with this controller, or,
/// with none, that of version 2.
struct Hierarchy {
  std::string root;
  std::string controller;

  /// Whether a list such as `cpu,cpuacct` names the controller.
  bool is_among(const std::string& controllers) const {
    return std::ranges::count(parts_of(controllers, ','), controller) > 0;
  }

  /// Returns the path of this process' cgroup, from lines such as `4:cpu,cpuacct:/path` and
  /// `0::/path`.
  std::optional<std::string> own_path() const {
    for (const std::string& line : lines_of(root + "/proc/self/cgroup")) {
      size_t first = line.find(':'), second = line.find(':', first + 1);
      if (second == line.npos) continue;
      std::string controllers = line.substr(first + 1, second - first - 1);
      bool is_meant = controller.empty() ? line.starts_with("0::") : is_among(controllers);
      if (is_meant) return line.substr(second + 1);
    }
    return std::nullopt;
  }

  struct Mount {
    std::string begin;  ///< the cgroup that is seen at the folder
    std::string folder;
  };
  std::vector<Mount> mounts() const {
    std::vector<Mount> result;
    for (const std::string& line : lines_of(root + "/proc/self/mountinfo")) {
      // number, parent, device, begin, folder, options …, " - ", type, source, options
      size_t middle = line.find(" - ");
      if (middle == line.npos) continue;
      std::vector<std::string> place = parts_of(line.substr(0, middle), ' ');
      std::vector<std::string> system = parts_of(line.substr(middle + 3), ' ');
      if (place.size() < 5 || system.size() < 3) continue;
      bool is_meant = controller.empty() ? system[0] == "cgroup2"
                                         : system[0] == "cgroup" && is_among(system[2]);
      if (is_meant) result.push_back({unescaped(place[3]), root + unescaped(place[4])});
    }
    return result;
  }

  /// Returns the folders of this process' cgroup and of those around it.
  std::vector<std::string> folders() const {
    std::vector<std::string> found, beginnings;
    std::optional<std::string> own = own_path();
    for (const auto& [begin, folder] : mounts()) {
      beginnings.push_back(folder);
      std::string inside = begin == "/" ? "" : begin;
      bool is_below = own && (*own + '/').starts_with(inside + '/') && !own->starts_with("/..");
      if (!is_below) continue;
      std::string rest = own->substr(inside.size());
      for (; rest.size() > 1; rest.resize(rest.rfind('/'))) found.push_back(folder + rest);
      found.push_back(folder);
    }
    // A container may see its own cgroup alone, under the path that the machine knows.
    return found.empty() ? beginnings : found;
  }
};

template <class Number>
void lower(std::optional<Number>& least, const std::optional<Number>& limit) {
  if (limit && (!least || *limit < *least)) least = limit;
}

std::optional<double> share(std::optional<int64_t> quota, std::optional<int64_t> period) {
  if (!quota || *quota <= 0 || !period || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

/// Returns the first line of a file, empty where there is none.
std::string line_in(const std::string& path) {
  std::vector<std::string> lines = lines_of(path);
  return lines.empty() ? "" : lines[0];
}

}  // namespace

CgroupLimits cgroup_limits(const std::string& root) {
  CgroupLimits least;
  for (const std::string& folder : Hierarchy{root, ""}.folders()) {
    std::string limit = line_in(folder + "/cpu.max");  // such as `150000 100000`
    lower(least.cpus, share(number_in(limit), number_in(limit.substr(limit.find(' ') + 1))));
    lower(least.memory, number_in(line_in(folder + "/memory.max")));
  }
  for (const std::string& folder : Hierarchy{root, "cpu"}.folders())
    lower(least.cpus, share(number_in(line_in(folder + "/cpu.cfs_quota_us")),
                            number_in(line_in(folder + "/cpu.cfs_period_us"))));
  for (const std::string& folder : Hierarchy{root, "memory"}.folders())
    lower(least.memory, number_in(line_in(folder + "/memory.limit_in_bytes")));
  return least;
}

namespace {

#ifdef __linux__
struct sysinfo machine() {
  struct sysinfo info = {};
  sysinfo(&info);
  return info;
}
#endif

int64_t machine_memory() {
#ifdef __linux__
  const auto info = machine();
  if (info.totalram > 0) return static_cast<int64_t>(info.totalram) * info.mem_unit;
#endif
  return std::numeric_limits<int64_t>::max();
}

}  // namespace

int64_t memory_limit() {
  // Threads that ask at once all look: a lock could be held at a fork.
  constinit static std::atomic<int64_t> known = 0;
  if (known == 0)
    known = std::min(machine_memory(), cgroup_limits().memory.value_or(machine_memory()));
  return known;
}

int64_t swap_space() {
#ifdef __linux__
  const auto info = machine();
  return static_cast<int64_t>(info.totalswap) * info.mem_unit;
#else
  return 0;
#endif
}

}  // namespace shiftgrad
