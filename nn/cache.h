#pragma once

// How a module remembers the tokens that it has seen.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/array.h"
#include "core/errors.h"
#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What a layer or a model keeps of the tokens it has seen, for each member of the batch.
struct Cache {
  virtual ~Cache() = default;
  /// Returns a cache that goes on from here by itself. Each step works on a clone, so a clone of a
  /// long past should share it.
  virtual std::unique_ptr<Cache> clone() const = 0;
  /// Becomes what a clone of this cache has become.
  virtual void assign(Cache&& other) = 0;
  /// Forgets the newest `count` tokens, as if they had not been fed. Throws if older tokens that
  /// would be visible again are gone. Tokens cut off by a limit stay cut off, without an error.
  virtual void forget_newest(int64_t count) = 0;
  /// Makes batch member b continue from what was member members[b] until now (for beam search).
  virtual void reorder(const std::vector<int64_t>& members) = 0;

  /// Identity of the module that started this cache (`StatefulModule::identity`). A clone must keep
  /// it, as a copy does.
  int64_t owner = 0;
};

/// A cache that is cloned by copying it. A cache of your own derives from it:
///
///     struct Sums : CacheOf<Sums> { … };
template <class Own, class Base = Cache>
struct CacheOf : Base {
  /// Returns a copy.
  std::unique_ptr<Cache> clone() const override {
    return std::make_unique<Own>(static_cast<const Own&>(*this));
  }
  /// Becomes the other.
  void assign(Cache&& other) override {
    static_cast<Own&>(*this) = static_cast<Own&&>(std::move(other));
  }
};

/// A cache as a value, or none: a copy is a clone. Caches made of other caches hold them so.
struct CacheValue : std::unique_ptr<Cache> {
  CacheValue() = default;
  /// Takes the cache.
  CacheValue(std::unique_ptr<Cache> cache) : unique_ptr(std::move(cache)) {}
  /// Clones the cache.
  CacheValue(const CacheValue& other) : unique_ptr(other ? other->clone() : nullptr) {}
  /// Takes the other's cache.
  CacheValue(CacheValue&&) = default;
  /// Becomes the other.
  CacheValue& operator=(CacheValue other) {
    swap(other);
    return *this;
  }
};

/// The caches of a module's parts, and the number of tokens fed to it.
struct Caches : CacheOf<Caches> {
  /// The caches of the parts, in the order of the module.
  std::vector<CacheValue> parts{};
  /// The number of tokens fed.
  int64_t position = 0;

  void forget_newest(int64_t count) override;
  void reorder(const std::vector<int64_t>& members) override;
};

/// Returns the members of a batch [B, …] in this order. An undefined x stays undefined.
Tensor members_of(const Tensor& x, const std::vector<int64_t>& members);
/// Returns the members of an array likewise. Throws when there is no such member.
template <class T>
Array<T> members_of(const Array<T>& x, const std::vector<int64_t>& members) {
  Array<T> chosen{x.shape, {}};
  chosen.shape[0] = static_cast<int64_t>(members.size());
  for (int64_t member : members) {
    require(0 <= member && member < x.shape[0], "reorder: member ", member, ", expected 0 to ",
            x.shape[0] - 1);
    std::ranges::copy(rows(x, member, member + 1).values, std::back_inserter(chosen.values));
  }
  return chosen;
}

/// A token limit that is no limit.
inline constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// A module that starts caches and later finds out whether a cache is its own.
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

  /// Returns step(next), where `next` is a clone of this module's own cache, and then makes the
  /// cache what `next` has become. So a step that throws leaves the cache as it was. Throws, in the
  /// module's name, on the cache of another module, and where a tape would record the parameters or
  /// x.
  Tensor advance(Cache& cache, const Tensor& x, const std::function<Tensor(Cache&)>& step) const;

 private:
  static inline std::atomic<int64_t> modules_ = 0;  // made so far

  int64_t identity_ = ++modules_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
