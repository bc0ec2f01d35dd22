#include "nn/caches.h"

#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void Caches::forget_newest(int64_t count) {
  require(count >= 0, "cache: cannot forget ", count, " tokens");
  for (auto& part : parts) part->forget_newest(count);
  position -= count;
}

void Caches::reorder(const std::vector<int64_t>& members) {
  for (auto& part : parts) part->reorder(members);
}

Tensor members_of(const Tensor& x, const std::vector<int64_t>& members) {
  if (!x.defined() || members.empty()) return x;
  std::vector<Tensor> chosen;
  for (int64_t member : members) {
    require(0 <= member && member < x.size(0), "reorder: member ", member, ", expected 0 to ",
            x.size(0) - 1);
    chosen.push_back(slice(x, 0, member, member + 1));
  }
  return concat(chosen, 0);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
