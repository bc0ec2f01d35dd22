#pragma once

// What a process may take from the machine: a container's limits are those of its cgroup, of which
// the system's own counts of CPUs and memory know nothing.

#include <cstdint>
#include <optional>
#include <string>

namespace shiftgrad {

/// The least limits of a cgroup and of those around it, as far as they are visible.
struct CgroupLimits {
  /// CPUs whose time may be used, such as 1.5; nothing without a quota.
  std::optional<double> cpus{};
  /// Bytes that may be held; nothing without a limit.
  std::optional<int64_t> memory{};
};

/// Reads the limits of this process from Linux' cgroups of version 1, 2 or both. It has none where
/// there are no cgroups. `root` is a folder with a proc and a sys of its own, for tests.
CgroupLimits cgroup_limits(const std::string& root = "");

/// The bytes that this process may hold at most without swap: the machine's memory, or the limit of
/// its cgroup if that is less. The greatest int64_t where nothing is known.
int64_t memory_limit();

/// The bytes of the machine's swap, to which memory may make way; 0 where nothing is known.
int64_t swap_space();

}  // namespace shiftgrad
