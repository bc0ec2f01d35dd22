#pragma once

// Caches that are made of other caches, and what they need when the members of a batch change.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/array.h"
#include "core/errors.h"
#include "nn/cache.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

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

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
