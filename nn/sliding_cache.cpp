#include "shiftgrad/nn/sliding_cache.h"

#include <algorithm>

#include "shiftgrad/core/accumulate.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

SlidingCache::SlidingCache(const SlidingCache& other)
    : begin_(other.begin_), end_(other.end_), limit_(other.limit_) {
  if (!other.buffer_.defined()) return;
  buffer_ = Tensor::empty(other.buffer_.shape());
  accumulate(0, slice(buffer_, 1, begin_, end_), slice(other.buffer_, 1, begin_, end_));
}

/// Makes room for `rows` after end_. A new buffer is twice as long as the rows in use, so each move
/// is followed by as many appended rows without a move.
void SlidingCache::make_room(const Tensor& rows) {
  int64_t needed = size() + rows.size(1);
  int64_t room = buffer_.defined() ? buffer_.size(1) : 0;
  if (end_ + rows.size(1) <= room) return;
  Dims shape = rows.shape();
  shape[1] = std::max(room, 2 * needed);
  Tensor moved = Tensor::empty(shape);
  if (size() > 0) accumulate(0, slice(moved, 1, 0, size()), slice(buffer_, 1, begin_, end_));
  buffer_ = moved;
  end_ = size();
  begin_ = 0;
}

Tensor SlidingCache::append(const Tensor& rows) {
  require(!buffer_.defined() || buffer_.size(0) == rows.size(0), "state: a batch of ", rows.size(0),
          " for a state of ", buffer_.defined() ? buffer_.size(0) : 0);
  make_room(rows);
  accumulate(0, slice(buffer_, 1, end_, end_ + rows.size(1)), rows);
  end_ += rows.size(1);
  Tensor all = slice(buffer_, 1, begin_, end_);
  begin_ = std::max(begin_, end_ - limit_);
  return all;
}

void SlidingCache::forget_newest(int64_t count) {
  require(0 <= count && count <= size(), "state: cannot forget ", count, " of ", size(), " tokens");
  end_ -= count;
}

void SlidingCache::reorder(const std::vector<int64_t>& members) {
  if (!buffer_.defined()) return;
  Dims shape = buffer_.shape();
  shape[0] = static_cast<int64_t>(members.size());
  Tensor reordered = Tensor::empty(shape);
  auto kept = [this](const Tensor& buffer, int64_t member) {
    return slice(select(buffer, 0, member), 0, begin_, end_);
  };
  for (size_t b = 0; b < members.size(); ++b)
    accumulate(0, kept(reordered, static_cast<int64_t>(b)), kept(buffer_, members[b]));
  buffer_ = reordered;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
