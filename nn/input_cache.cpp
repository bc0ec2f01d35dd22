#include "nn/input_cache.h"

#include <algorithm>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TokenRows::TokenRows(int64_t limit, int64_t span, int64_t first)
    : empty_(std::min(limit, span), first), cut_by_span_(span < limit) {}

std::vector<Tensor> TokenRows::append(const std::vector<Tensor>& rows) {
  parts_.resize(rows.size(), empty_);
  std::vector<Tensor> all;
  for (size_t n = 0; n < rows.size(); ++n) all.push_back(parts_[n].append(rows[n]));
  seen_ += rows.front().size(1);
  return all;
}

void TokenRows::forget_newest(int64_t count) {
  int64_t kept = parts_.empty() ? 0 : parts_.front().size();
  require(count == 0 || seen_ == kept || !cut_by_span_,
          "cache: cannot forget tokens when older ones have left the window");
  for (SlidingCache& part : parts_) part.forget_newest(count);
  seen_ -= count;
}

void TokenRows::reorder(const std::vector<int64_t>& members) {
  for (SlidingCache& part : parts_) part.reorder(members);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
