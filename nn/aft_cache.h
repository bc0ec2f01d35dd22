#pragma once

#include <utility>
#include <vector>

#include "nn/layer.h"
#include "nn/sliding_cache.h"
#include "ops/aft.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What AFT keeps of the past: the keys and values of the last `near` tokens. Unless older tokens
/// are forgotten, three numbers for each channel stand for all of them (`AftSums`). They are in
/// double and are rescaled whenever the greatest key grows, so they stay exact over any number of
/// steps. Where older tokens are summed, `near` is how far position biases reach; a token costs
/// O(near · C), whatever came before. Where they are forgotten, `near` is the limit.
class AftCache : public CacheOf<AftCache> {
 public:
  enum class Older { summed, forgotten };
  AftCache(int64_t near, Older older) : older_(older), keys_(near), values_(near) {}

  /// Feeds key and value [B, T, C], with their position biases `band`, after all earlier tokens.
  /// Returns y [B, T, C]. Only for a cache that sums older tokens.
  Tensor feed(const Tensor& key, const Tensor& value, const AftBand& band);

  using KeysAndValues = std::pair<Tensor, Tensor>;  // [B, K, C] each
  /// Appends key and value [B, T, C] as `feed` does, but returns all that are kept, including
  /// these.
  KeysAndValues append(const Tensor& key, const Tensor& value);

  /// Position of the next token: the number of tokens fed so far, or of those still kept where
  /// older ones are forgotten.
  int64_t position() const { return sums() ? position_ : keys_.size(); }
  bool sums() const { return older_ == Older::summed; }

  /// Forgets the newest `count` tokens. Throws where older tokens are summed, since sums cannot be
  /// taken apart.
  void forget_newest(int64_t count) override;
  void reorder(const std::vector<int64_t>& members) override;

 private:
  int64_t position_ = 0;
  Older older_;
  SlidingCache keys_, values_;  // [B, near, C]
  AftSums sums_;                // of the older tokens
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
