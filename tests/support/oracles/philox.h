#pragma once

// Salmon et al. 2011, section 4.3, word by word: a round multiplies two of the four words and
// exchanges the halves of the products; the key moves on by a constant.

#include <array>
#include <cstdint>

namespace shiftgrad::test {

inline std::array<uint32_t, 4> philox_oracle(uint64_t seed, uint64_t stream, uint64_t index) {
  auto high = [](uint64_t number) { return static_cast<uint32_t>(number >> 32); };
  auto low = [](uint64_t number) { return static_cast<uint32_t>(number); };
  std::array<uint32_t, 4> x = {low(index), high(index), low(stream), high(stream)};
  uint32_t k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    uint64_t left = uint64_t{0xD2511F53} * x[0], right = uint64_t{0xCD9E8D57} * x[2];
    x = {high(right) ^ x[1] ^ k0, low(right), high(left) ^ x[3] ^ k1, low(left)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

}  // namespace shiftgrad::test
