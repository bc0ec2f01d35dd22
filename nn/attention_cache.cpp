#include "nn/attention_cache.h"

#include <algorithm>

#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Heads AttentionCache::append(const Heads& heads) {
  // [B, H, T, D] outside, rows [B, T, H, D] in the cache
  std::vector<Tensor> rows{transpose(heads.key, 1, 2), transpose(heads.value, 1, 2)};
  if (heads.extra.defined()) rows.push_back(heads.extra);
  rows = tokens_.append(rows);
  return {heads.query, transpose(rows[0], 1, 2), transpose(rows[1], 1, 2),
          heads.extra.defined() ? rows[2] : Tensor()};
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

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
