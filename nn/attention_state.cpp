#include "nn/attention_state.h"

#include <algorithm>

#include "core/errors.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

AttentionState::AttentionState(int64_t limit, int64_t reach)
    : keys_(std::min(limit, reach)),
      values_(std::min(limit, reach)),
      reach_(reach),
      cut_by_reach_(reach < limit) {}

Heads AttentionState::append(const Heads& heads) {
  auto appended = [](SlidingCache& cache, const Tensor& x) {
    return transpose(cache.append(transpose(x, 1, 2)), 1, 2);  // rows [B, T, H, D] in the cache
  };
  seen_ += heads.key.size(2);
  return {heads.query, appended(keys_, heads.key), appended(values_, heads.value)};
}

Tensor AttentionState::positions(int64_t keys, const std::function<Tensor(int64_t keys)>& make) {
  int64_t made = table_.defined() ? table_.size(0) : 0;
  if (made < keys) {
    table_ = make(std::max(keys, std::min(2 * keys - 1, reach_) + 1));
    made = table_.defined() ? table_.size(0) : keys;
  }
  return table_.defined() ? slice(table_, 0, made - keys, made) : Tensor();
}

void AttentionState::forget_newest(int64_t count) {
  bool whole = seen_ == keys_.size();
  require(count == 0 || whole || !cut_by_reach_,
          "state: cannot forget tokens when older ones have left the window");
  keys_.forget_newest(count);
  values_.forget_newest(count);
  seen_ -= count;
}

void AttentionState::reorder(const std::vector<int64_t>& members) {
  keys_.reorder(members);
  values_.reorder(members);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
