#pragma once

// How a module remembers the tokens that it has seen, and what the tokens of a call come after. A
// token is cached by two lines of a program:
//
//     std::unique_ptr<Cache> cache = layer.make_cache();  // has seen nothing
//     Tensor y = layer(x, *cache, context);               // forward(x, cache, context)
//
// The call (layer.cpp) goes through `advance`, which lets the cache `update` itself: `forward` adds
// x to a copy of the cache, and if it has not thrown, the cache becomes that copy.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What a layer or a model keeps of the tokens it has seen, for each member of the batch.
struct Cache {
  virtual ~Cache() = default;
  /// Returns step(next), where `next` is a copy of this cache, and becomes what `next` has become.
  /// A step that throws leaves it as it was.
  virtual Tensor update(const std::function<Tensor(Cache& next)>& step) = 0;
  /// Returns a cache that goes on from here by itself.
  virtual std::unique_ptr<Cache> clone() const = 0;
  /// Forgets the newest `count` tokens, as if they had not been fed. Throws if older tokens that
  /// would be visible again are gone. Tokens cut off by a limit stay cut off, without an error.
  virtual void forget_newest(int64_t count) = 0;
  /// Makes batch member b continue from what was member members[b] until now (for beam search).
  virtual void reorder(const std::vector<int64_t>& members) = 0;

  /// The `identity` of the module that made this cache. Copies keep it.
  int64_t owner = 0;
};

/// A cache that is copied as a value. Each step works on a copy, so the copy of a long past should
/// share it. A cache of your own derives from it:
///
///     struct Sums : CacheOf<Sums> { … };
template <class Own, class Base = Cache>
struct CacheOf : Base {
  /// Steps on a copy of this value.
  Tensor update(const std::function<Tensor(Cache& next)>& step) override {
    Own next = static_cast<const Own&>(*this);
    Tensor y = step(next);
    static_cast<Own&>(*this) = std::move(next);
    return y;
  }
  /// Returns a copy of this value.
  std::unique_ptr<Cache> clone() const override {
    return std::make_unique<Own>(static_cast<const Own&>(*this));
  }
};

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

/// A token limit that is no limit.
inline constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// A module that makes caches, and takes no others.
struct StatefulModule : Module {
  /// The module's name in errors, which is its type in configs.
  std::string name = "layer";

  /// Number that identifies this module. A copy has the same number, since it shares the
  /// parameters.
  int64_t identity() const { return identity_; }

 protected:
  /// Returns an Own made from `parts` and marked as this module's cache. `make_cache` returns this.
  template <class Own, class... Parts>
  std::unique_ptr<Own> new_cache(Parts&&... parts) const {
    auto cache = std::make_unique<Own>(std::forward<Parts>(parts)...);
    cache->owner = identity_;
    return cache;
  }

  /// Returns cache.update(step) for input x. Throws, in the module's name, on the cache of another
  /// module, and where a tape would record the parameters or x.
  Tensor advance(Cache& cache, const Tensor& x, const std::function<Tensor(Cache&)>& step) const;

 private:
  static inline std::atomic<int64_t> modules_ = 0;  // made so far

  int64_t identity_ = ++modules_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
