#include "core/io/read_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <thread>

#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace shiftgrad;

TEST_CASE("read_file: every byte of a file, and of a pipe") {
  TemporaryFolder folder;
  std::string path = folder.file("file"), pipe = folder.file("pipe");
  std::string bytes("a\0\r\n\xFF", 5);
  for (int n = 0; n < 5; ++n) bytes += bytes + bytes;
  for (const std::string& content : {std::string(), bytes, std::string(1 << 20, 'x')}) {
    write_text(path, content);
    CHECK(read_file(path) == content);
    CHECK(read_regular_file(path) == content);
  }
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { write_text(pipe, bytes); });
  CHECK(read_file(pipe) == bytes);
  writer.join();
}

TEST_CASE("read_file: what cannot be read is named with the reason") {
  TemporaryFolder folder;
  std::string absent = folder.file("absent"), here = folder.file("");
  CHECK(refusal([&] { read_file(absent); }) == absent + ": No such file or directory");
  CHECK(refusal([&] { read_regular_file(absent); }) == absent + ": No such file or directory");
  CHECK(refusal([&] { read_file(here); }) == here + ": a folder, expected a file");
  // A file of Linux whose first bytes cannot be read.
  if (std::string mem = "/proc/self/mem"; std::filesystem::exists(mem)) {
    CHECK(refusal([&] { read_file(mem); }) == mem + ": cannot be read: Input/output error");
    CHECK(refusal([&] { read_regular_file(mem); }) == mem + ": cannot be read: Input/output error");
  }
  CHECK(refusal([] { read_to_end(-1, "input"); }) == "input: cannot be read: Bad file descriptor");
}

TEST_CASE("read_regular_file: nothing else is waited for") {
  TemporaryFolder folder;
  std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& other : {pipe, folder.file(""), std::string("/dev/zero")})
    CHECK(refusal([&] { read_regular_file(other); }) == other + ": is not a regular file");
}

TEST_CASE("RegularFile: piece after piece, never more than there is") {
  TemporaryFolder folder;
  write_text(folder.file("file"), "123456");
  RegularFile file(folder.file("file"));
  CHECK(file.size() == 6);
  char piece[4] = {};
  file.read(piece, 3);
  CHECK(std::string(piece) == "123");
  CHECK(refusal([&] { file.read(piece, 4); }) == "cannot be read to its end");
}

TEST_CASE("read_file: a path with a zero byte is not that of the file before it") {
  TemporaryFolder folder;
  write_text(folder.file("file"), "text");
  std::string path = folder.file("file") + std::string("\0 new", 5);
  std::string refused = folder.file("file") + "\\0 new: a zero byte, which no path can have";
  CHECK(refusal([&] { read_file(path); }) == refused);
  CHECK(refusal([&] { read_regular_file(path); }) == refused);
  CHECK(refusal([&] { Descriptor(path, O_RDONLY); }) == "a zero byte, which no path can have");
}
