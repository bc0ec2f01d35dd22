#pragma once

// The memory behind tensors: values, and the gradient that mirrors them.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/layout.h"
#include "core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The elements of storages: the library's own, or memory that another object owns.
class Elements {
 public:
  /// Takes an uninitialised block, 64-byte aligned, from the caching allocator.
  explicit Elements(int64_t count) : own_(count), data_(own_.data()), count_(count) {}
  /// Stands for `count` Scalars at `data` that belong to `owner`, which is kept as long as this.
  Elements(Scalar* data, int64_t count, std::shared_ptr<const void> owner)
      : data_(data), count_(count), owner_(std::move(owner)) {}

  /// The first element.
  Scalar* data() const { return data_; }
  /// The number of elements.
  int64_t count() const { return count_; }

  /// The number of entries of live tapes that made or read these values, through any storage and on
  /// any thread. While there are any, the values must not change.
  std::atomic<int> recorded = 0;
  /// The number of packed copies (core/packed_weights.h), on any thread. While there are any, the
  /// values must not change.
  std::atomic<int> packed = 0;

 private:
  Buffer own_{};
  Scalar* data_;
  int64_t count_;
  std::shared_ptr<const void> owner_{};
};

/// The values behind one tensor and all its views, and the gradient that mirrors them: the gradient
/// of a view lies at the view's layout in the gradient buffer, so no view needs backward code.
struct Storage {
  /// The values.
  std::shared_ptr<Elements> value;
  /// The gradient, of the same size; the first writer makes it.
  std::shared_ptr<Elements> gradient;
  /// Whether ops compute a gradient for the values, unless they are frozen.
  bool requires_gradient = false;
  /// The number of Frozen that live, on any thread. While there are any, ops compute no gradient.
  std::atomic<int> frozen = 0;
  /// Whether an op made the values from something that requires a gradient, on a tape or on none.
  /// PyTorch: not is_leaf.
  bool computed = false;
  /// The number of the tape that recorded how the values were computed; 0 for none.
  uint64_t tape = 0;
  /// Which parts of `gradient` were written. Where there are any, the rest is 0; where there are
  /// none, the first writer overwrites what is there.
  std::vector<Stretch> gradient_written{};
  /// The thread whose live tapes have read these values for a gradient, and in its lower half the
  /// number of their entries that did. Two threads at a time would mix their gradients.
  std::atomic<uint64_t> gradient_thread = 0;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
