#include <windows.h>

#include <algorithm>
#include <system_error>

#include "core/errors.h"
#include "core/io/replaced_file.h"

namespace shiftgrad {

namespace {

void check_windows(bool success, const char* problem) {
  if (success) return;
  std::error_code reason(static_cast<int>(::GetLastError()), std::system_category());
  fail(problem, ": ", reason.message());
}

/// A new file, which disappears at the end of its scope unless it has become another. Nobody else
/// can read or write it while it is open, but it can be renamed.
class Temporary {
 public:
  explicit Temporary(const std::filesystem::path& folder)
      : path_(folder / temporary_name()),
        file_(::CreateFileW(path_.c_str(), GENERIC_WRITE, FILE_SHARE_DELETE, nullptr, CREATE_NEW,
                            FILE_ATTRIBUTE_NORMAL, nullptr)) {
    check_windows(file_ != INVALID_HANDLE_VALUE, "no temporary file can be made next to it");
  }
  ~Temporary() {
    ::CloseHandle(file_);
    if (!path_.empty()) ::DeleteFileW(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      auto count = static_cast<DWORD>(std::min<size_t>(bytes.size(), size_t{1} << 30));
      DWORD written = 0;
      check_windows(::WriteFile(file_, bytes.data(), count, &written, nullptr),
                    "cannot be written");
      require(written != 0, "cannot be written: the system takes no byte more");
      bytes = bytes.subspan(written);
    }
  }
  /// Takes the place of what is there.
  void become(const std::filesystem::path& path) {
    check_windows(::FlushFileBuffers(file_), "cannot be written");
    constexpr DWORD whole = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
    check_windows(::MoveFileExW(path_.c_str(), path.c_str(), whole), "cannot be replaced");
    path_.clear();
  }

 private:
  std::filesystem::path path_;
  HANDLE file_;
};

}  // namespace

void replace_file(const std::filesystem::path& path,
                  std::span<const std::span<const std::byte>> pieces) {
  Temporary file(path.has_parent_path() ? path.parent_path() : ".");
  for (std::span<const std::byte> piece : pieces) file.write(piece);
  file.become(path);
}

// A file that its writer has open cannot be opened for this.
void remove_unless_locked(const std::filesystem::path& path) {
  HANDLE file = ::CreateFileW(path.c_str(), DELETE, 0, nullptr, OPEN_EXISTING,
                              FILE_FLAG_DELETE_ON_CLOSE, nullptr);
  if (file != INVALID_HANDLE_VALUE) ::CloseHandle(file);
}

}  // namespace shiftgrad
