#pragma once

// Tiny tasks on sequences, each made so that one mechanism is needed for it. A loss is in nats a
// token; guessing one of the 8 values costs ln 8 = 2.08.

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "core/array.h"
#include "core/random.h"

namespace shiftgrad::test {

inline constexpr int64_t values = 8;
inline constexpr int32_t no_answer = -1;

/// Tokens, and what is to be said after each of them.
struct Example {
  Tokens inputs, answers;  // [B, T]
};

struct LearningTask {
  int64_t vocabulary = 0, length = 0;
  /// Fills one sequence of tokens and its answers, all `no_answer` before.
  std::function<void(Random&, std::span<int32_t> tokens, std::span<int32_t> answers)> fill;

  Example draw(int64_t B, Random& random) const {
    auto size = static_cast<size_t>(B * length), T = static_cast<size_t>(length);
    Example example{{{B, length}, std::vector<int32_t>(size)},
                    {{B, length}, std::vector<int32_t>(size, no_answer)}};
    for (size_t at = 0; at < size; at += T)
      fill(random, std::span(example.inputs.values).subspan(at, T),
           std::span(example.answers.values).subspan(at, T));
    return example;
  }
};

inline int32_t any_value(Random& random) { return static_cast<int32_t>(random.below(values)); }

/// Say the token `distance` before this one: needs order.
inline LearningTask copy(size_t distance, int64_t length) {
  return {values, length, [distance](Random& random, auto tokens, auto answers) {
            for (size_t t = 0; t < tokens.size(); ++t) {
              tokens[t] = any_value(random);
              if (t >= distance) answers[t] = tokens[t - distance];
            }
          }};
}

/// Say the value of the newest token that is marked (a value + 8): needs recency.
inline LearningTask newest_marked(int64_t length) {
  return {2 * values, length, [](Random& random, auto tokens, auto answers) {
            int32_t newest = no_answer;
            for (size_t t = 0; t < tokens.size(); ++t) {
              int32_t value = any_value(random);
              bool marked = random.below(3) == 0;
              if (marked) newest = value;
              tokens[t] = marked ? value + static_cast<int32_t>(values) : value;
              if (t >= tokens.size() / 2) answers[t] = newest;
            }
          }};
}

/// Say the value of the newest marked token among the last `window`, where there is one: needs
/// their order.
inline LearningTask newest_marked_within(size_t window, int64_t length) {
  return {2 * values, length, [window](Random& random, auto tokens, auto answers) {
            size_t age = window;
            int32_t newest = no_answer;
            for (size_t t = 0; t < tokens.size(); ++t, ++age) {
              tokens[t] = any_value(random);
              if (random.below(5) == 0) {
                newest = tokens[t], age = 0;
                tokens[t] += static_cast<int32_t>(values);
              }
              if (age < window) answers[t] = newest;
            }
          }};
}

/// In the second half, say the value of the one marked token of the first quarter: needs no order,
/// but a long reach.
inline LearningTask old_marked(int64_t length) {
  return {2 * values, length, [](Random& random, auto tokens, auto answers) {
            for (int32_t& token : tokens) token = any_value(random);
            auto quarter = static_cast<int64_t>(tokens.size() / 4);
            int32_t& marked = tokens[static_cast<size_t>(random.below(quarter))];
            std::fill(answers.begin() + 2 * quarter, answers.end(), marked);
            marked += static_cast<int32_t>(values);
          }};
}

/// All values in some order, then all in another: say what followed this one in the first.
inline LearningTask induction() {
  auto shuffle = [](Random& random, std::span<int32_t> tokens) {
    std::iota(tokens.begin(), tokens.end(), 0);
    for (size_t n = tokens.size(); n > 1; --n)
      std::swap(tokens[n - 1], tokens[static_cast<size_t>(random.below(static_cast<int64_t>(n)))]);
  };
  return {values, 2 * values, [shuffle](Random& random, auto tokens, auto answers) {
            auto first = tokens.subspan(0, values), second = tokens.subspan(values);
            shuffle(random, first);
            shuffle(random, second);
            for (size_t t = 0; t < values; ++t) {
              auto before = std::find(first.begin(), first.end() - 1, second[t]);
              if (before != first.end() - 1) answers[values + t] = before[1];
            }
          }};
}

}  // namespace shiftgrad::test
