#include "core/machine/limits.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>

#include "tests/support/temporary_folder.h"

using namespace shiftgrad;

namespace {

using Files = std::map<std::string, std::string>;

/// Returns the limits that these files of /proc and /sys make.
CgroupLimits limits_of(const Files& files) {
  TemporaryFolder root;
  for (const auto& [name, content] : files) {
    std::filesystem::path path = root.file(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  return cgroup_limits(root.file(""));
}

const std::string fs = "/sys/fs/cgroup";
/// A line of mountinfo.
std::string mount(const std::string& begin, const std::string& folder, const std::string& system) {
  return "36 25 0:32 " + begin + ' ' + folder + " rw,nosuid shared:9 - " + system + '\n';
}
std::string mount2(const std::string& begin) { return mount(begin, fs, "cgroup2 cgroup2 rw"); }

}  // namespace

TEST_CASE("cgroup_limits: none without cgroups, or with files that nobody expects") {
  for (const Files& files :
       {Files{}, Files{{"proc/self/cgroup", ""}, {"proc/self/mountinfo", "\n - \nx y - z\n"}},
        Files{{"proc/self/cgroup", "0::/"},
              {"proc/self/mountinfo", mount2("/")},
              {"sys/fs/cgroup/cpu.max", "quick\n"},
              {"sys/fs/cgroup/memory.max", ""}}}) {
    CgroupLimits limits = limits_of(files);
    CHECK_FALSE(limits.cpus);
    CHECK_FALSE(limits.memory);
  }
}

TEST_CASE("cgroup_limits: version 2, the least of all around") {
  Files files = {{"proc/self/cgroup", "0::/a.slice/b/c\n"},
                 {"proc/self/mountinfo", mount("/", "/proc", "proc proc rw") + mount2("/")},
                 {"sys/fs/cgroup/a.slice/cpu.max", "250000 100000\n"},
                 {"sys/fs/cgroup/a.slice/b/cpu.max", "max 100000\n"},
                 {"sys/fs/cgroup/a.slice/b/c/cpu.max", "150000 50000\n"},
                 {"sys/fs/cgroup/a.slice/memory.max", "max\n"},
                 {"sys/fs/cgroup/a.slice/b/memory.max", "2147483648\n"},
                 {"sys/fs/cgroup/a.slice/b/c/memory.max", "4294967296\n"},
                 // A sibling's limits are no business of ours.
                 {"sys/fs/cgroup/a.slice/bb/cpu.max", "1000 100000\n"}};
  CHECK(limits_of(files).cpus == 2.5);
  CHECK(limits_of(files).memory == int64_t{1} << 31);
  files["sys/fs/cgroup/a.slice/cpu.max"] = "max 100000\n";
  CHECK(limits_of(files).cpus == 3);
  files["sys/fs/cgroup/cpu.max"] = "20000 100000\n";
  CHECK(limits_of(files).cpus == 0.2);
}

TEST_CASE("cgroup_limits: version 1, each controller in a hierarchy of its own") {
  Files files = {
      {"proc/self/cgroup",
       "12:memory:/docker/f:00\n4:cpuacct,cpu:/docker/f:00\n3:cpuset:/x\n1:name=systemd:/y\n"},
      {"proc/self/mountinfo", mount("/", fs + "/cpu,cpuacct", "cgroup cgroup rw,cpu,cpuacct") +
                                  mount("/", fs + "/cpuset", "cgroup cgroup rw,cpuset") +
                                  mount("/", fs + "/memory", "cgroup cgroup rw,memory")},
      {"sys/fs/cgroup/cpu,cpuacct/docker/f:00/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu,cpuacct/docker/f:00/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "400000\n"},
      {"sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
      {"sys/fs/cgroup/memory/docker/f:00/memory.limit_in_bytes", "1000000\n"}};
  CHECK(limits_of(files).cpus == 4);
  CHECK(limits_of(files).memory == 1000000);
  files["sys/fs/cgroup/cpu,cpuacct/docker/f:00/cpu.cfs_quota_us"] = "50000\n";
  CHECK(limits_of(files).cpus == 0.5);
}

TEST_CASE("cgroup_limits: both versions at once") {
  Files files = {{"proc/self/cgroup", "4:memory:/m\n2:cpuacct:/\n1:cpu:/c\n0::/u\n"},
                 {"proc/self/mountinfo", mount("/", fs, "tmpfs tmpfs rw,mode=755") +
                                             mount("/", fs + "/cpu", "cgroup cgroup rw,cpu") +
                                             mount("/", fs + "/memory", "cgroup cgroup rw,memory") +
                                             mount("/", fs + "/unified", "cgroup2 cgroup2 rw")},
                 {"sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "300000\n"},
                 {"sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n"},
                 {"sys/fs/cgroup/unified/u/memory.max", "5000000\n"}};
  CHECK(limits_of(files).cpus == 3);
  CHECK(limits_of(files).memory == 5000000);
}

TEST_CASE("cgroup_limits: in a container, where the mount begins at its own cgroup") {
  // The path is the machine's, and the mount shows what is below it.
  Files files = {{"proc/self/cgroup", "0::/kubepods/pod1/f00/inner\n"},
                 {"proc/self/mountinfo", mount2("/kubepods/pod1/f00")},
                 {"sys/fs/cgroup/cpu.max", "300000 100000\n"},
                 {"sys/fs/cgroup/inner/cpu.max", "200000 100000\n"},
                 {"sys/fs/cgroup/memory.max", "7000000\n"}};
  CHECK(limits_of(files).cpus == 2);
  CHECK(limits_of(files).memory == 7000000);
  // A namespace shows the container's cgroup as the root, or what is outside of it.
  for (const char* path : {"0::/\n", "0::/../other\n", "0::/kubepods/pod2/f00\n"}) {
    files["proc/self/cgroup"] = path;
    if (path == std::string("0::/\n")) files["proc/self/mountinfo"] = mount2("/");
    CHECK(limits_of(files).cpus == 3);
    files["proc/self/mountinfo"] = mount2("/kubepods/pod1/f00");
  }
  // A name that only begins alike is another cgroup, so the mount is all that is visible.
  files["proc/self/cgroup"] = "0::/kubepods/pod1/f00d/inner\n";
  CHECK(limits_of(files).cpus == 3);
}

TEST_CASE("cgroup_limits: a folder with a space") {
  Files files = {{"proc/self/cgroup", "0::/a b\n"},
                 {"proc/self/mountinfo", mount("/", "/cgroups\\040here", "cgroup2 none rw")},
                 {"cgroups here/a b/cpu.max", "100000 100000\n"}};
  CHECK(limits_of(files).cpus == 1);
}

TEST_CASE("memory_limit: at most the machine's memory") {
  CHECK(memory_limit() > int64_t{1} << 20);
  CHECK(memory_limit() <= cgroup_limits().memory.value_or(std::numeric_limits<int64_t>::max()));
  CHECK(swap_space() >= 0);
}
