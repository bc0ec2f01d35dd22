#pragma once

// Which keys a query may attend to. Query i of T stands at position M + i behind M = K - T earlier
// tokens, key j at position j, so their distance is δ = M + i - j.

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "core/array.h"
#include "core/range.h"

namespace shiftgrad {

/// The distances that a query sees: -right ≤ δ ≤ left. As a number w it means |δ| < w.
struct Window {
  int64_t left, right;

  constexpr Window(int64_t below = 1) : Window(reach(below), reach(below)) {}
  constexpr Window(int64_t from_left, int64_t to_right) : left(from_left), right(to_right) {}
  bool operator==(const Window&) const = default;
  /// Whether it is printed, and kept in files, as the number w.
  bool is_number() const { return left == right && left < INT64_MAX; }

 private:
  static constexpr int64_t reach(int64_t below) { return below - (below > INT64_MIN ? 1 : 0); }
};

/// Tokens in chunks of `size`, counted from position 0: a query sees its own chunk and the
/// `left_chunks` before it (NVIDIA NeMo's chunked_limited).
struct Chunk {
  int64_t size = 1, left_chunks = 0;

  bool operator==(const Chunk&) const = default;
};

/// Return what was expected of a number that is not allowed, such as ", expected at least 1";
/// otherwise an empty string. `sizes` are the windows of one number, and the chunks, that are.
std::string complaint(const Window& window, const Range& sizes);
std::string complaint(const Chunk& chunk, const Range& sizes);

/// Print as the numbers that they are made from: `5` or `[4, 0]`, and `[8, 1]`.
std::ostream& operator<<(std::ostream& out, const Window& window);
std::ostream& operator<<(std::ostream& out, const Chunk& chunk);

/// The causal rule, a window, chunks and two masks together: a key is visible when nothing hides
/// it.
struct Visibility {
  /// Whether keys at δ < 0 are hidden.
  bool causal = false;
  std::optional<Window> window{};
  /// A mask [B, K], true = padding.
  std::shared_ptr<const Mask> padding{};
  /// A mask [T, K] or [B, T, K], with 1 allowed for B or T, true = hidden.
  std::shared_ptr<const Mask> hidden{};
  std::optional<Chunk> chunk{};
  /// The position of the first key, from which chunks are counted.
  int64_t first_position = 0;

  /// Throws when the window or the chunk is none, the first position is below 0, or a mask does not fit B batch members, T queries
  /// and K keys.
  void check(const char* operation, int64_t B, int64_t T, int64_t K) const;

  /// The keys begin … end-1 that the causal rule, the window and the chunks leave to query i; none
  /// where begin ≥ end.
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
