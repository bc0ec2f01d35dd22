#include "core/io/bytes.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/errors.h"

namespace shiftgrad {

/// A part of a file, and its bytes once somebody has asked for them.
struct Bytes::Unread {
  std::shared_ptr<const RegularFile> file;
  uint64_t begin;
  std::mutex mutex{};
  std::vector<std::byte> read{};
};

Bytes::Bytes(std::vector<std::byte> own) {
  auto kept = std::make_shared<const std::vector<std::byte>>(std::move(own));
  data_ = kept->data();
  size_ = kept->size();
  owner_ = std::move(kept);
}

Bytes::Bytes(std::shared_ptr<const RegularFile> file, uint64_t begin, uint64_t size)
    : size_(static_cast<size_t>(size)), unread_(new Unread{std::move(file), begin}) {}

const std::byte* Bytes::data() const {
  if (!unread_) return data_;
  // Not std::call_once: where a file cannot be read, not every system's lets the next call try.
  std::lock_guard lock(unread_->mutex);
  if (unread_->read.size() != size()) {
    std::vector<std::byte> bytes(size());
    unread_->file->read_at(unread_->begin, bytes.data(), bytes.size());
    unread_->read = std::move(bytes);
  }
  return unread_->read.data();
}

void Bytes::copy_to(void* target) const {
  if (unread_) return unread_->file->read_at(unread_->begin, target, size());
  if (!empty()) std::memcpy(target, data_, size());
}

bool Bytes::operator==(const Bytes& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

}  // namespace shiftgrad
