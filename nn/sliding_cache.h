#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The newest rows of a growing sequence [B, t, …], always dense in memory so that a matrix product
/// can read them in place. A limited cache has room for twice its limit. Rows are appended until
/// the buffer is full, then the newest are moved to its front. So the size is fixed, and a row
/// costs the same however many came before.
///
/// Copies share the buffer. The first of them to append goes on in it; the next to append behind
/// the same row moves to a buffer of its own. So a copy costs nothing, and copies may go on side by
/// side on several threads.
///
///     | forgotten | kept rows | free |   ->   | kept rows | free            |
class SlidingCache {
 public:
  /// Keeps at most `limit` rows. Throws when that is below 0.
  explicit SlidingCache(int64_t limit) : limit_(limit) {
    require(limit >= 0, "cache: a limit of ", limit, ", expected at least 0");
  }

  /// Appends rows [B, T, …] and returns all kept rows [B, K, …], including these, as a view that is
  /// valid until the next call. Afterwards at most `limit` of them are kept.
  Tensor append(const Tensor& rows);

  /// The rows kept [B, K, …], valid as those of `append` are; undefined where there are none.
  Tensor rows() const;
  /// The number of rows kept.
  int64_t size() const { return end_ - begin_; }
  /// Forgets the newest `count` rows.
  void forget_newest(int64_t count);
  /// Makes batch member b what was member members[b].
  void reorder(const std::vector<int64_t>& members);

 private:
  struct Room {
    Tensor rows;                  // [B, capacity, …]
    std::atomic<int64_t> filled;  // rows that one of the caches has written
  };
  bool claim(int64_t count);
  void make_room(const Tensor& rows);

  std::shared_ptr<Room> room_;
  int64_t begin_ = 0, end_ = 0;
  int64_t limit_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
