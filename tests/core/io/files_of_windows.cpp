// Files are replaced whole on Windows, too, and their bytes are never taken for text.

#include <windows.h>

#include <thread>

#include "core/io/atomic_file.h"
#include "core/io/path.h"
#include "core/io/read_file.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/write_atomically.h"

using namespace shiftgrad;

namespace {

/// A file that a program has open, as `sharing` lets others use it.
class Opened {
 public:
  Opened(const std::string& path, DWORD access, DWORD sharing)
      : file_(::CreateFileW(path_of(path).c_str(), access, sharing, nullptr, OPEN_EXISTING, 0,
                            nullptr)) {
    REQUIRE(file_ != INVALID_HANDLE_VALUE);
  }
  ~Opened() { ::CloseHandle(file_); }

 private:
  HANDLE file_;
};

const std::string every_mark = std::string("line\r\n\x1a\n\0\xff end", 13);

}  // namespace

TEST_CASE("files of Windows: each byte comes back, of a new file and of one in its place") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  for (const std::string& text : {every_mark, std::string(), std::string(200'000, '\n')}) {
    write_atomically(path, text);
    CHECK(read_file(path) == text);
    CHECK(read_regular_file(path) == text);
  }
  CHECK(folder.entries() == 1);
}

TEST_CASE("files of Windows: names are UTF-8") {
  TemporaryFolder folder;
  std::string name = folder.file("\xd0\xb0\xe2\x86\x92\xf0\x9f\x8e\xb5");
  write_atomically(name, "text");
  CHECK(read_file(name) == "text");
  CHECK(std::filesystem::exists(path_of(name)));
}

TEST_CASE("files of Windows: what is in the way stays") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  write_text(path, "old");
  CHECK(refusal([&] { write_atomically(folder.file(""), "new"); }) ==
        folder.file("") + ": exists and is not a regular file");
  std::string absent = folder.file("absent/file");
  CHECK(refusal([&] { write_atomically(absent, "new"); })
            .starts_with(absent + ": no temporary file can be made next to it: "));
  {
    Opened reader(path, GENERIC_READ, FILE_SHARE_READ);
    CHECK(refusal([&] { write_atomically(path, "new"); })
              .starts_with(path + ": cannot be replaced: "));
  }
  CHECK(read_text(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("files of Windows: what cannot be read is named with the reason") {
  TemporaryFolder folder;
  std::string absent = folder.file("absent"), here = folder.file("");
  CHECK(refusal([&] { read_file(absent); }) == absent + ": No such file or directory");
  CHECK(refusal([&] { read_file(here); }) == here + ": a folder, expected a file");
  CHECK(refusal([&] { read_regular_file(here); }) == here + ": is not a regular file");
}

TEST_CASE("files of Windows: sizes do not end with 32 bits") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  write_text(path, "");
  std::filesystem::resize_file(path_of(path), uint64_t{5} << 30);
  CHECK(RegularFile(path).size() == uint64_t{5} << 30);
}

TEST_CASE("files of Windows: two writers at once leave one whole file") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  std::string texts[] = {std::string(100'000, 'a'), std::string(150'000, 'b')};
  int done[] = {0, 0};
  auto write = [&](int writer) {
    // One may come while the other replaces the file, and is then refused.
    for (int n = 0; n < 20; ++n) try {
        write_atomically(path, texts[writer]);
        ++done[writer];
      } catch (const Error&) {
      }
  };
  std::thread first(write, 0), second(write, 1);
  first.join();
  second.join();
  CHECK(done[0] + done[1] > 0);
  std::string result = read_file(path);
  CHECK((result == texts[0] || result == texts[1]));
  CHECK(folder.entries() == 1);
}

TEST_CASE("files of Windows: a temporary file goes when nobody has it open") {
  TemporaryFolder folder;
  std::string written = folder.file(".shiftgrad-0123456789abcdef.tmp");
  write_text(written, "half");
  write_text(folder.file("other.tmp"), "kept");
  {
    Opened writer(written, GENERIC_WRITE, FILE_SHARE_DELETE);
    remove_abandoned_files(folder.file(""));
    CHECK(folder.entries() == 2);
  }
  remove_abandoned_files(folder.file(""));
  CHECK(folder.entries() == 1);
  remove_abandoned_files(folder.file("absent"));
}
