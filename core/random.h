#pragma once

// Random numbers without hidden state: number `index` of stream `stream` is a hash of (seed,
// stream, index). So it does not matter who draws first or on which thread, and a generator is
// saved and resumed by writing down three integers.

#include <array>
#include <cstdint>
#include <span>

namespace shiftgrad {

/// The four random words of one index.
using PhiloxBlock = std::array<uint32_t, 4>;

/// Computes Philox4x32-10 for the indices first, first + 1, …. Each gives four random words, by a
/// bijection of the counter (index, stream) under the key `seed`. (Salmon et al. 2011, "Parallel
/// random numbers: as easy as 1, 2, 3"; it is also the generator behind torch.cuda's random
/// numbers.)
extern void (*const philox_blocks)(uint64_t seed, uint64_t stream, uint64_t first,
                                   std::span<PhiloxBlock> blocks);
/// Calls philox_blocks.
inline void philox(uint64_t seed, uint64_t stream, uint64_t first, std::span<PhiloxBlock> blocks) {
  philox_blocks(seed, stream, first, blocks);
}

/// Computes Philox4x32-10 for one index.
inline PhiloxBlock philox(uint64_t seed, uint64_t stream, uint64_t index) {
  PhiloxBlock block;
  philox(seed, stream, index, std::span(&block, 1));
  return block;
}

/// Maps the word to one of 2^32 evenly spaced numbers in [0, 1).
inline double unit_interval(uint32_t word) { return word * 0x1p-32; }

/// A sequence of random numbers; every draw takes the next index.
struct Random {
  /// The key of the hash.
  uint64_t seed = 0;
  /// The stream that is drawn from.
  uint64_t stream = 0;
  /// The index of the next draw.
  uint64_t counter = 0;

  /// Draws evenly from [0, 1), with 53 random bits.
  double uniform();
  /// Draws from the normal distribution with mean 0 and variance 1 (Box and Muller 1958).
  double normal();
  /// Draws as many as there is room for, the same numbers as by calls one by one.
  void uniform(std::span<double> numbers);
  /// Draws as many as there is room for, the numbers of calls one by one times `deviation`.
  void normal(std::span<double> numbers, double deviation = 1);
  /// Draws the same, each rounded to a float. It takes a fraction of the time, by vectors.
  void normal(std::span<float> numbers, double deviation = 1);
  /// Draws evenly from 0 … n-1, without bias. Throws an Error if n is less than 1.
  int64_t below(int64_t n);
  /// Returns the number of a new stream, for many numbers to be drawn by index with `philox`: the
  /// mask of one dropout call, the start of one parameter.
  uint64_t next_stream();

  bool operator==(const Random&) const = default;
};

}  // namespace shiftgrad
