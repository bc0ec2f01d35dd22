#pragma once

#include <cstdint>
#include <vector>

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The newest rows of a growing sequence [B, t, …], always dense in memory so that a matrix product
/// can read them in place. A limited cache has room for twice its limit: rows are appended until
/// the end of the buffer, then the newest are moved to its front, so one row costs the same however
/// many came before, and the size is fixed.
///
///     | forgotten | kept rows | free |   ->   | kept rows | free            |
class SlidingCache {
 public:
  explicit SlidingCache(int64_t limit) : limit_(limit) {}
  /// A copy of the rows, not a second handle on them.
  SlidingCache(const SlidingCache& other);

  /// Appends rows [B, T, …] and gives all kept rows, these among them, [B, K, …]: a view that is
  /// valid until the next call. Afterwards at most `limit` of them are kept.
  Tensor append(const Tensor& rows);

  int64_t size() const { return end_ - begin_; }
  void forget_newest(int64_t count);
  void reorder(const std::vector<int64_t>& members);

 private:
  void make_room(const Tensor& rows);

  Tensor buffer_;  // [B, capacity, …]
  int64_t begin_ = 0, end_ = 0;
  int64_t limit_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
