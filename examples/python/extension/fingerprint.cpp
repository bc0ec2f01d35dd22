#include "fingerprint.h"

#include <array>
#include <bit>
#include <cstring>

namespace shiftgrad {

namespace {

/// Mixes a word into a sum. For a fixed word other sums give other results, and the other way round.
uint64_t mixed(uint64_t sum, uint64_t word) {
  return std::rotl((sum ^ word) * 0x9E3779B97F4A7C15, 29);
}

/// Sums that do not wait for each other: a multiplication takes longer than a word from memory.
using Sums = std::array<uint64_t, 8>;

void mix(Sums& sums, const unsigned char* block) {
  for (size_t n = 0; n < sums.size(); ++n) {
    uint64_t word = 0;
    std::memcpy(&word, block + n * sizeof(word), sizeof(word));
    sums[n] = mixed(sums[n], word);
  }
}

}  // namespace

uint64_t fingerprint(const void* data, size_t bytes) {
  const auto* next = static_cast<const unsigned char*>(data);
  Sums sums{1, 2, 3, 4, 5, 6, 7, 8};
  size_t left = bytes;
  for (; left >= sizeof(Sums); left -= sizeof(Sums), next += sizeof(Sums)) mix(sums, next);
  std::array<unsigned char, sizeof(Sums)> end{};
  if (left > 0) std::memcpy(end.data(), next, left);
  mix(sums, end.data());
  uint64_t result = bytes;
  for (uint64_t sum : sums) result = mixed(result, sum);
  return result;
}

}  // namespace shiftgrad
