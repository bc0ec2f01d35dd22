#pragma once

// What an attention layer keeps of the tokens that it was fed.

#include <functional>
#include <vector>

#include "nn/attention.h"
#include "nn/input_cache.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The keys and values of earlier tokens [B, K, H, D], what else a variant keeps with them, and the
/// table of relative keys. Their size is bounded by the limit and the variant's span, if there are
/// any, else it is O(t). The `first` tokens are kept beside them; scores may not depend on
/// distances then, since keys behind a gap seem nearer to them.
class AttentionCache : public CacheOf<AttentionCache> {
 public:
  /// Keeps at most `limit` tokens, and none beyond the span, beside the first ones.
  AttentionCache(int64_t limit, int64_t span, int64_t first = 0)
      : tokens_(limit, span, first), span_(span) {}

  /// The number of tokens fed.
  int64_t seen() const { return tokens_.seen(); }

  /// Adds what heads keep of new tokens, and returns the queries with that of all tokens kept.
  Heads append(const Heads& heads);
  /// Returns the rows for the distances from `farthest` down to `nearest` of the table that `make`
  /// makes, which is undefined for variants without one. It is made for more distances than needed,
  /// once for many calls.
  Tensor positions(int64_t farthest, int64_t nearest,
                   const std::function<Tensor(int64_t farthest, int64_t nearest)>& make);

  void forget_newest(int64_t count) override { tokens_.forget_newest(count); }
  void reorder(const std::vector<int64_t>& members) override { tokens_.reorder(members); }

 private:
  TokenRows tokens_;
  Tensor table_;
  int64_t table_farthest_ = -2, table_nearest_ = 0;  // -1 is the farthest of no key
  int64_t span_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
