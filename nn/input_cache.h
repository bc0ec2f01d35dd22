#pragma once

// The caches of layers that keep something of each single token, as rows.

#include <vector>

#include "nn/cache.h"
#include "nn/sliding_cache.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The newest rows of several growing tensors [B, t, …], which have one row each for every token.
class TokenRows {
 public:
  /// Keeps at most `limit` tokens, and none that lies more than `span` tokens before the next one,
  /// beside the `first` tokens of all. Each call copies those and the newest, which do not lie side
  /// by side.
  TokenRows(int64_t limit, int64_t span, int64_t first = 0);

  /// The number of tokens fed.
  int64_t seen() const { return seen_; }
  /// Appends rows [B, T, …] to each tensor, and returns all rows kept [B, K, …], these included, as
  /// `SlidingCache::append` does.
  std::vector<Tensor> append(const std::vector<Tensor>& rows);
  /// The rows that tensor n keeps, undefined where there are none.
  Tensor rows(size_t n) const { return n < parts_.size() ? parts_[n].rows() : Tensor(); }
  /// Forgets the newest `count` tokens. Throws if older tokens that would be visible again are
  /// gone.
  void forget_newest(int64_t count);
  /// Makes batch member b what was member members[b].
  void reorder(const std::vector<int64_t>& members);

 private:
  SlidingCache empty_;
  std::vector<SlidingCache> parts_{}, first_parts_{};
  int64_t seen_ = 0, first_;
  bool cut_by_span_;
};

/// The inputs of the newest tokens, which a layer without a cache of its own gets as its memory. A
/// token then costs what it costs after a memory.
class InputCache : public CacheOf<InputCache> {
 public:
  /// Keeps at most `limit` tokens. A layer that never sees more than `span` tokens back says so.
  explicit InputCache(int64_t limit, int64_t span = unlimited) : inputs_(limit, span) {}

  /// The tokens kept [B, M, C], undefined where M is 0.
  Tensor memory() const { return inputs_.rows(0); }
  /// Adds x [B, T, C].
  void append(const Tensor& x) { inputs_.append({x}); }

  void forget_newest(int64_t count) override { inputs_.forget_newest(count); }
  void reorder(const std::vector<int64_t>& members) override { inputs_.reorder(members); }

 private:
  TokenRows inputs_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
