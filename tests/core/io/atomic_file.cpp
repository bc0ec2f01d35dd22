#include "core/io/atomic_file.h"

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <thread>
#include <vector>

#include "core/machine/sanitizer.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/write_atomically.h"

using namespace shiftgrad;

namespace {

std::string write_refused(const std::string& path, const std::string& text = "new") {
  return refusal([&] { write_atomically(path, text); });
}

/// While it lives, no file can grow beyond `bytes`: what a full disk does to a writer.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

enum class Ending { untraceable, killed, done };

/// Runs the action in a process of its own, which is killed when it enters or leaves a system call
/// for the n-th time.
template <class Action>
Ending killed_at(int n, Action action) {
  pid_t process = ::fork();
  if (process == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    ::raise(SIGSTOP);
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  if (!WIFSTOPPED(status)) return Ending::untraceable;
  for (int stop = 0; stop < n && WIFSTOPPED(status); ++stop) {
    ::ptrace(PTRACE_SYSCALL, process, nullptr, nullptr);
    ::waitpid(process, &status, 0);
  }
  if (!WIFSTOPPED(status)) return Ending::done;
  ::kill(process, SIGKILL);
  ::waitpid(process, &status, 0);
  return Ending::killed;
}

}  // namespace

TEST_CASE("write_file_atomically: a new file, and in the place of an old one") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  write_atomically(path, "some text");
  CHECK(read_text(path) == "some text");
  write_atomically(path, "");
  CHECK(read_text(path) == "");
  CHECK(folder.entries() == 1);
}

TEST_CASE("write_file_atomically: a path without a folder means the current one") {
  TemporaryFolder folder;
  auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.file(""));
  write_atomically("file", "here");
  std::filesystem::current_path(before);
  CHECK(read_text(folder.file("file")) == "here");
}

TEST_CASE("write_file_atomically: a symbolic link stays, its target changes") {
  TemporaryFolder folder;
  write_text(folder.file("target"), "old");
  std::filesystem::create_symlink("target", folder.file("link"));
  write_atomically(folder.file("link"), "new");
  CHECK(std::filesystem::is_symlink(folder.file("link")));
  CHECK(read_text(folder.file("target")) == "new");
}

TEST_CASE("write_file_atomically: what is in the way is named and stays") {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("folder"));
  write_text(folder.file("file"), "old");
  std::string absent = folder.file("absent/file"), below = folder.file("file/below");
  CHECK(write_refused(absent) ==
        absent + ": its folder cannot be opened: No such file or directory");
  CHECK(write_refused(below) == below + ": its folder cannot be opened: Not a directory");
  CHECK(write_refused(folder.file("folder")) ==
        folder.file("folder") + ": exists and is not a regular file");
  CHECK(write_refused("/dev/full") == "/dev/full: exists and is not a regular file");
  CHECK(write_refused("") == ": cannot be replaced: No such file or directory");
  CHECK(read_text(folder.file("file")) == "old");
  CHECK(folder.entries() == 2);
}

TEST_CASE("write_file_atomically: a disk without room keeps the old file and nothing else") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  write_text(path, "old");
  std::string reason;
  {
    FileSizeLimit limit(4096);
    reason = write_refused(path, std::string(10'000, 'x'));
  }
  CHECK(reason == path + ": cannot be written: File too large");
  CHECK(read_text(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("write_file_atomically: two writers at once leave one whole file") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  std::string texts[] = {std::string(100'000, 'a'), std::string(150'000, 'b')};
  std::thread writers[] = {std::thread([&] {
                             for (int i = 0; i < 20; ++i) write_atomically(path, texts[0]);
                           }),
                           std::thread([&] {
                             for (int i = 0; i < 20; ++i) write_atomically(path, texts[1]);
                           })};
  for (std::thread& writer : writers) writer.join();
  std::string result = read_text(path);
  CHECK((result == texts[0] || result == texts[1]));
  CHECK(folder.entries() == 1);
}

TEST_CASE(
    "write_file_atomically: killed at any system call, it leaves the old file or the new one") {
  // Sanitizers' processes make system calls of their own, and none that can be killed so.
  if (address_sanitizer || thread_sanitizer) return;
  TemporaryFolder folder;
  std::string path = folder.file("file");
  write_text(path, "old");
  Ending ending = Ending::killed;
  int olds = 0, news = 0;
  for (int n = 1; ending == Ending::killed; ++n) {
    ending = killed_at(n, [&] { write_atomically(path, "new text"); });
    if (ending == Ending::untraceable) return;
    std::string found = read_text(path);
    if (found == "new text" && ending == Ending::killed) {
      ++news;
      write_text(path, "old");
    } else if (ending == Ending::killed) {
      CHECK(found == "old");
      ++olds;
    }
  }
  CHECK(read_text(path) == "new text");
  CHECK(olds >= 10);
  CHECK(news >= 2);

  CHECK(folder.entries() > 1);
  remove_abandoned_files(folder.file(""));
  CHECK(folder.entries() == 1);
}

TEST_CASE("write_file_atomically: the mode of a replaced file stays, a new one has the usual") {
  TemporaryFolder folder;
  auto mode = [&](const std::string& name) {
    struct stat status {};
    REQUIRE(::stat(folder.file(name).c_str(), &status) == 0);
    return status.st_mode & 07777;
  };
  mode_t mask = ::umask(027);
  for (mode_t old : {0600, 0640, 0666, 0444, 0755}) {
    write_text(folder.file("old"), "old");
    REQUIRE(::chmod(folder.file("old").c_str(), old) == 0);
    write_atomically(folder.file("old"), "new");
    CHECK(mode("old") == old);
    CHECK(read_text(folder.file("old")) == "new");
    std::filesystem::remove(folder.file("old"));
  }
  write_atomically(folder.file("new"), "new");
  CHECK(mode("new") == 0640);
  ::umask(mask);
}

TEST_CASE("write_file_atomically: a link to nothing stays, as does a chain of links") {
  TemporaryFolder folder;
  std::string link = folder.file("link"), chain = folder.file("chain"),
              round = folder.file("round");
  std::filesystem::create_symlink("absent", link);
  std::filesystem::create_symlink("link", chain);
  std::filesystem::create_symlink("round", round);
  CHECK(write_refused(link) == link + ": a symbolic link to a file that does not exist");
  CHECK(write_refused(chain) == chain + ": a symbolic link to a file that does not exist");
  CHECK(write_refused(round) == round + ": Too many levels of symbolic links");
  CHECK(std::filesystem::is_symlink(link));
  CHECK(folder.entries() == 3);
  write_text(folder.file("absent"), "old");
  write_atomically(chain, "new");
  CHECK(std::filesystem::is_symlink(chain));
  CHECK(read_text(folder.file("absent")) == "new");
}

namespace {

/// The names of the temporary files in a folder.
std::vector<std::string> temporaries(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("")))
    if (entry.path().filename().string().starts_with(".shiftgrad-"))
      names.push_back(entry.path().filename());
  return names;
}

/// A writer in a process of its own, stopped when it has written a part.
class HalfWriter {
 public:
  explicit HalfWriter(const std::string& path) : process_(::fork()) {
    if (process_ != 0) return;
    // The signal that says so stops the process in the middle.
    rlimit limit{2, RLIM_INFINITY};
    std::signal(SIGXFSZ, [](int) { ::raise(SIGSTOP); });
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_atomically(path, "new text");
    } catch (...) {
    }
    ::_exit(0);
  }
  ~HalfWriter() { end(); }
  void wait_until_stopped() const {
    int status = 0;
    ::waitpid(process_, &status, WUNTRACED);
  }
  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_;
};

}  // namespace

TEST_CASE("remove_abandoned_files: leaves what a living process writes, removes it afterwards") {
  TemporaryFolder folder;
  HalfWriter writer(folder.file("file"));
  writer.wait_until_stopped();
  REQUIRE(temporaries(folder).size() == 1);
  std::string name = temporaries(folder).front();
  CHECK(read_text(folder.file(name)) == "ne");
  remove_abandoned_files(folder.file(""));
  CHECK(temporaries(folder) == std::vector{name});
  // Nothing in the name says which process it was: that means nothing on another machine.
  writer.end();
  remove_abandoned_files(folder.file(""));
  CHECK(folder.entries() == 0);
}

TEST_CASE("write_file_atomically: the name of a temporary file cannot be guessed") {
  std::set<std::string> names;
  for (int n = 0; n < 3; ++n) {
    TemporaryFolder folder;
    HalfWriter writer(folder.file("file"));
    writer.wait_until_stopped();
    REQUIRE(temporaries(folder).size() == 1);
    names.insert(temporaries(folder).front());
  }
  CHECK(names.size() == 3);
}

TEST_CASE("remove_abandoned_files: leaves all that no writer has named, and what is no file") {
  TemporaryFolder folder;
  for (const char* name :
       {".shiftgrad-x-0.tmp", "file.tmp", ".shiftgrad-0123456789abcdef", ".shiftgrad-.tmp",
        ".shiftgrad-0123456789abcdeg.tmp", ".shiftgrad-0123456789abcdef0.tmp"})
    write_text(folder.file(name), "");
  write_text(folder.file("target"), "kept");
  std::filesystem::create_symlink("target", folder.file(".shiftgrad-00000000000000aa.tmp"));
  std::filesystem::create_directory(folder.file(".shiftgrad-00000000000000ab.tmp"));
  REQUIRE(::mkfifo(folder.file(".shiftgrad-00000000000000ac.tmp").c_str(), 0600) == 0);
  int64_t others = folder.entries();
  write_text(folder.file(".shiftgrad-0123456789abcdef.tmp"), "");
  remove_abandoned_files(folder.file(""));
  CHECK(folder.entries() == others);
  CHECK(read_text(folder.file("target")) == "kept");
  remove_abandoned_files(folder.file("absent"));
}

TEST_CASE("write_file_atomically: a path with a zero byte is not that of the file before it") {
  TemporaryFolder folder;
  std::string path = folder.file("old");
  write_text(path, "old");
  CHECK(write_refused(path + std::string("\0new", 4)) ==
        path + "\\0new: a zero byte, which no path can have");
  CHECK(refusal([&] { remove_abandoned_files(folder.file("") + '\0'); }) ==
        "a zero byte, which no path can have");
  CHECK(read_text(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("write_file_atomically: pages of zeros take no room, and are there") {
  TemporaryFolder folder;
  for (auto [begin, end] : {std::pair{100, 0}, {0, 0}, {5, 70'000}, {65'536, 1}}) {
    std::string text =
        std::string(begin, 'a') + std::string(10'000'000, '\0') + std::string(end, 'b');
    write_atomically(folder.file("file"), text);
    CHECK(read_text(folder.file("file")) == text);
    struct stat status {};
    REQUIRE(::stat(folder.file("file").c_str(), &status) == 0);
    CHECK(status.st_blocks * 512 < 1'000'000);
  }
}
