#include "nn/attention_cache.h"

#include <algorithm>

#include "core/errors.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

AttentionCache::AttentionCache(int64_t limit, int64_t span, int64_t first)
    : keys_(std::min(limit, span), first),
      values_(std::min(limit, span), first),
      span_(span),
      cut_by_span_(span < limit) {}

Heads AttentionCache::append(const Heads& heads) {
  auto appended = [](SlidingCache& cache, const Tensor& x) {
    return transpose(cache.append(transpose(x, 1, 2)), 1, 2);  // rows [B, T, H, D] in the cache
  };
  seen_ += heads.key.size(2);
  return {heads.query, appended(keys_, heads.key), appended(values_, heads.value)};
}

Tensor AttentionCache::positions(
    int64_t farthest, int64_t nearest,
    const std::function<Tensor(int64_t farthest, int64_t nearest)>& make) {
  if (table_farthest_ < farthest || table_nearest_ > nearest) {
    table_farthest_ = std::max(farthest, std::min(2 * farthest + 1, span_));
    table_nearest_ = std::min(nearest, table_nearest_);
    table_ = make(table_farthest_, table_nearest_);
  }
  if (!table_.defined()) return {};
  return slice(table_, 0, table_farthest_ - farthest, table_farthest_ - nearest + 1);
}

void AttentionCache::forget_newest(int64_t count) {
  bool whole = seen_ == keys_.size();
  require(count == 0 || whole || !cut_by_span_,
          "cache: cannot forget tokens when older ones have left the window");
  keys_.forget_newest(count);
  values_.forget_newest(count);
  seen_ -= count;
}

void AttentionCache::reorder(const std::vector<int64_t>& members) {
  keys_.reorder(members);
  values_.reorder(members);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
