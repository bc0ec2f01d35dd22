#include "nn/aft_cache.h"

#include "core/errors.h"
#include "nn/caches.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor AftCache::feed(const Tensor& key, const Tensor& value, const AftBand& band) {
  if (sums_.values.empty()) sums_ = aft_no_sums(key.size(0), key.size(2));
  require(sums_.shape[0] == key.size(0), "cache: a batch of ", key.size(0), " for a cache of ",
          sums_.shape[0]);
  Tensor keys = keys_.append(key), values = values_.append(value);  // [B, held, C]
  position_ += key.size(1);
  int64_t summed = position_ - keys.size(1);
  return aft_step(keys, values, {band.bias, band.start - summed, band.step}, sums_);  // [B, T, C]
}

AftCache::KeysAndValues AftCache::append(const Tensor& key, const Tensor& value) {
  return {keys_.append(key), values_.append(value)};
}

void AftCache::forget_newest(int64_t count) {
  require(count == 0 || !sums(), "cache: aft cannot forget tokens, they are summed up");
  if (sums()) return;
  keys_.forget_newest(count);
  values_.forget_newest(count);
}

void AftCache::reorder(const std::vector<int64_t>& members) {
  if (members.empty()) return;
  if (!sums_.values.empty()) sums_ = members_of(sums_, members);
  keys_.reorder(members);
  values_.reorder(members);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
