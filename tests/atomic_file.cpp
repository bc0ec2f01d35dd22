#include "nn/atomic_file.h"

#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "refusal.h"
#include "temporary_folder.h"

using namespace shiftgrad;

namespace {

void write_atomically(const std::string& path, const std::string& text) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  std::span<const std::byte> pieces[] = {bytes.first(text.size() / 2),
                                         bytes.subspan(text.size() / 2)};
  write_file_atomically(path, pieces);
}

std::string refused(const std::string& path, const std::string& text = "new") {
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
  CHECK(refused(absent) == absent + ": its folder cannot be opened: No such file or directory");
  CHECK(refused(below) == below + ": its folder cannot be opened: Not a directory");
  CHECK(refused(folder.file("folder")) ==
        folder.file("folder") + ": exists and is not a regular file");
  CHECK(refused("/dev/full") == "/dev/full: exists and is not a regular file");
  CHECK(refused("") == ": cannot be replaced: No such file or directory");
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
    reason = refused(path, std::string(10'000, 'x'));
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
