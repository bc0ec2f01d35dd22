#pragma once

// The memory behind tensors: values, and the gradient that mirrors them.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/guards.h"
#include "core/interval.h"
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

  /// The readers of these values, which must not change while there are any.
  Readers readers{};

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
  /// Which parts of `gradient` were written. Where there are any, the rest is 0; where there are
  /// none, the first writer overwrites what is there.
  std::vector<Interval> gradient_written{};
  /// Whether ops compute a gradient for the values, unless they are frozen.
  bool requires_gradient = false;
  /// Where the values come from, and which thread trains them.
  Lineage lineage{};
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
