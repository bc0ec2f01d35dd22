#pragma once

// Which keys a query may attend to. Query i of T stands at position M + i behind M = K - T earlier
// tokens, key j at position j, so their distance is δ = M + i - j.

#include <cstdint>
#include <memory>

#include "core/array.h"

namespace shiftgrad {

/// The causal rule, a window and two masks together: a key is visible when nothing hides it.
struct Visibility {
  /// Whether keys at δ < 0 are hidden.
  bool causal = false;
  /// The window: keys with |δ| ≥ window are hidden; 0 is no window.
  int64_t window = 0;
  /// A mask [B, K], true = padding.
  std::shared_ptr<const Mask> padding;
  /// A mask [T, K] or [B, T, K], with 1 allowed for B or T, true = hidden.
  std::shared_ptr<const Mask> hidden;

  /// Throws when a mask does not fit B batch members, T queries and K keys.
  void check(const char* operation, int64_t B, int64_t T, int64_t K) const;

  /// The keys begin … end-1 that the causal rule and the window leave to query i.
  struct Range {
    int64_t begin, end;
  };
  Range range(int64_t i, int64_t T, int64_t K) const;

  bool has_masks() const { return padding || hidden; }
  /// The padding of batch member b, and what `hidden` holds for its query i: [K] each, or null.
  const uint8_t* padding_row(int64_t b) const;
  const uint8_t* hidden_row(int64_t b, int64_t i) const;
};

}  // namespace shiftgrad
