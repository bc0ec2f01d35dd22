#include "nn/cache.h"

#include <algorithm>

#include "core/tape.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void Caches::forget_newest(int64_t count) {
  for (auto& part : parts) part->forget_newest(count);
  position -= count;
}

void Caches::reorder(const std::vector<int64_t>& members) {
  for (auto& part : parts) part->reorder(members);
}

Tensor members_of(const Tensor& x, const std::vector<int64_t>& members) {
  if (!x.defined() || members.empty()) return x;
  std::vector<Tensor> chosen;
  for (int64_t member : members) chosen.push_back(slice(x, 0, member, member + 1));
  return concat(chosen, 0);
}

Tensor StatefulModule::advance(Cache& cache, const Tensor& x,
                               const std::function<Tensor(Cache&)>& step) const {
  require(cache.owner == identity_, name,
          ": a State of another module; use the one that start() of this module gave");
  auto trained = [](const Parameter& parameter) { return parameter.value.requires_gradient(); };
  bool records = Tape::current() && ((x.defined() && x.requires_gradient()) ||
                                     std::ranges::any_of(parameters(*this), trained));
  require(!records, name, ": a State is for fixed weights; not for recording");
  std::unique_ptr<Cache> next = cache.clone();
  Tensor y = step(*next);
  cache.assign(std::move(*next));
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
