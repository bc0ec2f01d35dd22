#include "nn/sliding_cache.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/checked.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Takes the next `count` rows of the buffer, if there are that many and no copy has taken them.
bool SlidingCache::claim(int64_t count) {
  int64_t free = end_;
  return room_ && count <= room_->rows.size(1) - end_ &&
         room_->filled.compare_exchange_strong(free, end_ + count);
}

/// Moves to a buffer of its own with room for `rows` after end_. It is twice as long as the rows in
/// use, so each move is followed by as many appended rows without a move.
void SlidingCache::make_room(const Tensor& rows) {
  int64_t needed = saturated_sum(size(), rows.size(1));
  Dims shape = rows.shape();
  shape[1] = std::max(room_ ? room_->rows.size(1) : 0, saturated_product(2, needed));
  std::shared_ptr<Room> moved(new Room{Tensor::empty(shape), needed});
  if (size() > 0) copy_into(slice(moved->rows, 1, 0, size()), slice(room_->rows, 1, begin_, end_));
  room_ = moved;
  end_ = size();
  begin_ = 0;
}

Tensor SlidingCache::append(const Tensor& rows) {
  require(!room_ || room_->rows.size(0) == rows.size(0), "cache: a batch of ", rows.size(0),
          " for a cache of ", room_ ? room_->rows.size(0) : 0);
  if (limit_ == 0) return contiguous(rows);
  if (!claim(rows.size(1))) make_room(rows);
  copy_into(slice(room_->rows, 1, end_, end_ + rows.size(1)), rows);
  end_ += rows.size(1);
  Tensor all = slice(room_->rows, 1, begin_, end_);
  begin_ = std::max(begin_, end_ - limit_);
  return all;
}

Tensor SlidingCache::rows() const {
  return size() > 0 ? slice(room_->rows, 1, begin_, end_) : Tensor();
}

void SlidingCache::forget_newest(int64_t count) {
  require(0 <= count && count <= size(), "cache: cannot forget ", count, " of ", size(), " tokens");
  end_ -= count;
}

void SlidingCache::reorder(const std::vector<int64_t>& members) {
  if (!room_) return;
  Dims shape = room_->rows.shape();
  shape[0] = static_cast<int64_t>(members.size());
  std::shared_ptr<Room> reordered(new Room{Tensor::empty(shape), end_});
  auto kept = [this](const Tensor& buffer, int64_t member) {
    return slice(select(buffer, 0, member), 0, begin_, end_);
  };
  parallel_each(std::ssize(members), 4, [&](int64_t b) {
    copy_into(kept(reordered->rows, b), kept(room_->rows, members[b]));
  });
  room_ = reordered;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
