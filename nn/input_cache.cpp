#include "nn/input_cache.h"

#include <algorithm>

#include "core/errors.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TokenRows::TokenRows(int64_t limit, int64_t span, int64_t first)
    : empty_(std::min(limit, span)), first_(first), cut_by_span_(span < limit) {}

std::vector<Tensor> TokenRows::append(const std::vector<Tensor>& rows) {
  const int64_t T = rows.front().size(1), first = std::clamp<int64_t>(first_ - seen_, 0, T);
  parts_.resize(rows.size(), empty_);
  if (first_ > 0) first_parts_.resize(rows.size(), SlidingCache(first_));
  std::vector<Tensor> all;
  for (size_t n = 0; n < rows.size(); ++n) {
    all.push_back(parts_[n].append(slice(rows[n], 1, first, T)));
    if (first_ == 0) continue;
    Tensor firsts = first_parts_[n].append(slice(rows[n], 1, 0, first));
    all.back() = concat({firsts, all.back()}, 1);
  }
  seen_ += T;
  return all;
}

void TokenRows::forget_newest(int64_t count) {
  const int64_t newest = parts_.empty() ? 0 : parts_.front().size();
  const int64_t firsts = first_parts_.empty() ? 0 : first_parts_.front().size();
  require(count == 0 || seen_ == firsts + newest || !cut_by_span_,
          "cache: cannot forget tokens when older ones have left the window");
  require(0 <= count && count <= firsts + newest, "cache: cannot forget ", count, " of ",
          firsts + newest, " tokens");
  const int64_t of_newest = firsts > 0 ? std::min(count, newest) : count;
  for (SlidingCache& part : parts_) part.forget_newest(of_newest);
  for (SlidingCache& part : first_parts_) part.forget_newest(count - of_newest);
  seen_ -= count;
}

void TokenRows::reorder(const std::vector<int64_t>& members) {
  for (std::vector<SlidingCache>* parts : {&parts_, &first_parts_})
    for (SlidingCache& part : *parts) part.reorder(members);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
