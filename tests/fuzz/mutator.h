#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fuzz {

/// The random choices of a mutation.
class Choices {
 public:
  explicit Choices(unsigned seed) : engine_(seed) {}

  /// One of 0 to count - 1.
  size_t below(size_t count) { return count == 0 ? 0 : engine_() % count; }
  /// True once in `times`.
  bool once_in(size_t times) { return below(times) == 0; }
  template <class List>
  const auto& of(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937_64 engine_;
};

/// What libFuzzer's own mutation makes of the bytes.
std::string mutated_bytes(const std::string& bytes, size_t longest);

/// Puts the input, cut to `longest` bytes, where a target's LLVMFuzzerCustomMutator leaves it, and
/// returns its size.
size_t put(const std::string& input, uint8_t* data, size_t longest);

}  // namespace fuzz

/// libFuzzer gives this to a target's LLVMFuzzerCustomMutator.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t longest);
