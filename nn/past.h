#pragma once

#include "nn/cache.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What the tokens of a call come after: nothing, a memory or a cache. Either of them converts to a
/// past; an undefined memory is nothing.
class Past {
 public:
  Past() = default;
  /// Comes after a memory [B, M, C].
  Past(const Tensor& memory) : memory_(memory) {}
  /// Comes after what the cache has seen.
  Past(Cache& cache) : cache_(&cache) {}

  /// The memory [B, M, C], undefined if there is none.
  const Tensor& memory() const { return memory_; }
  /// The cache, null if there is none.
  Cache* cache() const { return cache_; }
  /// The cache as the type that the layer's `make_cache` made, null if there is none.
  template <class Own>
  Own* cache() const {
    return cache_ ? &dynamic_cast<Own&>(*cache_) : nullptr;
  }

 private:
  Tensor memory_{};
  Cache* cache_ = nullptr;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
