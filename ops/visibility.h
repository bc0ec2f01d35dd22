#pragma once

// Which keys a query may attend to. Query i of T stands at position M + i behind M = K - T earlier
// tokens, key j at position j, so their distance is δ = M + i - j.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/array.h"
#include "core/field.h"
#include "core/interval.h"

namespace shiftgrad {

/// The distances that a query sees: -right ≤ δ ≤ left. As a number w it means |δ| < w.
struct Window {
  /// The farthest distances seen in the past and in the future.
  int64_t left, right;

  /// Sees distances of less than `below` on both sides.
  constexpr Window(int64_t below = 1) : Window(reach(below), reach(below)) {}
  /// Sees `from_left` tokens back and `to_right` ahead.
  constexpr Window(int64_t from_left, int64_t to_right) : left(from_left), right(to_right) {}
  bool operator==(const Window&) const = default;
  /// The one or two numbers that it is made from.
  Dims numbers() const;

 private:
  static constexpr int64_t reach(int64_t below) { return below - (below > INT64_MIN ? 1 : 0); }
};

/// Tokens in chunks of `size`, counted from position 0: a query sees its own chunk and the
/// `left_chunks` before it (NVIDIA NeMo's chunked_limited).
struct Chunk {
  /// The tokens of a chunk, and the chunks before its own that a query sees.
  int64_t size = 1, left_chunks = 0;

  bool operator==(const Chunk&) const = default;
  /// The two numbers that it is made from.
  Dims numbers() const { return {size, left_chunks}; }
};

/// Returns a rule as errors name it, such as "a window of 3".
std::string rule_text(const std::string& name, const auto& rule) {
  return text(name[0] == 'a' ? "an " : "a ", name, " of ", rule);
}

/// Return what was expected of a number that is not allowed, such as ", expected at least 1";
/// otherwise an empty string. `sizes` are the windows of one number, and the chunks, that are.
std::string range_error(const Window& window, const Range& sizes);
std::string range_error(const Chunk& chunk, const Range& sizes);

/// What a query sees by the places of the keys: a key is visible when no rule hides it, or when
/// `always` shows it and it is not in the future of a causal query.
struct Sight {
  /// Whether keys at δ < 0 are hidden.
  bool causal = true;
  /// The distances that a query sees; absent, all.
  std::optional<Window> window{};
  /// The chunks that it sees; absent, all tokens are one.
  std::optional<Chunk> chunk{};
  /// How many of the first keys at hand no window and no chunks hide: attention sinks (Xiao et al.
  /// 2024, StreamingLLM); absent, none.
  std::optional<int64_t> always{};

  bool operator==(const Sight&) const = default;
  /// Calls field(value, description) for each rule that may be absent.
  void rules(auto&& field) {
    field(window, Field{"window", "attend to distances below it only", quantity::tokens});
    field(chunk,
          Field{"chunk", "[c, n]: attend to one's own chunk of c tokens, and to the n before it",
                quantity::tokens});
    field(always, Field{"always", "attend to so many first tokens beside the window and chunks",
                        quantity::tokens});
  }

  /// The greatest distance that a query may see, at most `none`.
  int64_t farthest(int64_t none) const;
  /// Whether a query may see a later token.
  bool sees_ahead() const;
  /// The number of tokens in multiples of which a sequence may be fed, 0 for all of them at once.
  int64_t chunk_size() const;
};

/// The rules and two masks together.
struct Visibility {
  /// The rules.
  Sight sight{.causal = false};
  /// A mask [B, K], true = padding.
  std::shared_ptr<const Mask> padding{};
  /// A mask [T, K] or [B, T, K], with 1 allowed for B or T, true = hidden.
  std::shared_ptr<const Mask> hidden{};
  /// The position of the first key, from which chunks are counted.
  int64_t first_position = 0;
  /// The first key that a query may see, and the one behind its last [B or 1, T, 2]: documents in
  /// one row, prefixes, windows of any form. The rules and masks hold beside it. Keys are counted
  /// from the first at hand.
  std::shared_ptr<const Tokens> spans{};

  /// Throws when a rule shows nothing, the first position is below 0, or masks or spans do not fit
  /// B batch members, T queries and K keys.
  void check(const char* operation, int64_t B, int64_t T, int64_t K) const;

  /// Returns the keys from the first to the last that the rules and the span leave to query i of T
  /// of batch member b; none where begin ≥ end.
  Interval range(int64_t b, int64_t i, int64_t T, int64_t K) const;
  /// Returns those of them that the rules hide: between the first keys, which `always` shows, and
  /// those of the window or the chunks.
  Interval gap(int64_t i, int64_t T, int64_t K) const;

  /// Whether there is a mask.
  bool has_masks() const { return padding || hidden; }
  /// The padding of batch member b [K], or null.
  const uint8_t* padding_row(int64_t b) const;
  /// What `hidden` holds for query i of batch member b [K], or null.
  const uint8_t* hidden_row(int64_t b, int64_t i) const;
};

/// Returns a mask of what at least one of two masks hides, either of which may be null. Shapes
/// broadcast; those that do not throw an error that names both.
std::shared_ptr<const Mask> hidden_by_either(const std::shared_ptr<const Mask>& a,
                                             const std::shared_ptr<const Mask>& b);

}  // namespace shiftgrad
