#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/io/read_file.h"

namespace shiftgrad {

/// Bytes that nobody changes through this: a block of their own, values that lie elsewhere, or a
/// part of a file, which is read when somebody asks for it. Copies share them.
class Bytes {
 public:
  /// No bytes.
  Bytes() = default;
  /// Keeps these.
  Bytes(std::vector<std::byte> own);
  /// Views bytes that belong to `owner`, which is kept as long as a copy of this. Whoever changes
  /// them there changes these.
  Bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : data_(bytes.data()), size_(bytes.size()), owner_(std::move(owner)) {}
  /// Stands for the `size` bytes of a file from `begin` on.
  Bytes(std::shared_ptr<const RegularFile> file, uint64_t begin, uint64_t size);

  /// The number of bytes.
  size_t size() const { return size_; }
  /// Whether there are none.
  bool empty() const { return size_ == 0; }
  /// The first byte. The bytes of a file are read by the first call, and kept from then on. Throws
  /// the reason, without the path, when they cannot be read.
  const std::byte* data() const;
  /// The first byte, as `data` gives it.
  const std::byte* begin() const { return data(); }
  /// Behind the last byte.
  const std::byte* end() const { return data() + size(); }
  /// A byte, of those that there are.
  const std::byte& operator[](size_t n) const { return data()[n]; }
  /// Writes all bytes to `target`, those of a file without keeping them. Throws as `data` does.
  void copy_to(void* target) const;

  /// Whether both are the same bytes.
  bool operator==(const Bytes& other) const;

 private:
  struct Unread;

  /// Null for a part of a file.
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::shared_ptr<const void> owner_{};
  std::shared_ptr<Unread> unread_{};
};

}  // namespace shiftgrad
