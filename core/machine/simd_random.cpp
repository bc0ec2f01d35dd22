// Random numbers in vectors. Philox4x32-10 for many indices at once: each 64-bit lane of a vector
// has one 32-bit word of one block, which leaves room for a product. This file is compiled once for
// each instruction set.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/machine/simd_random.cpp"
#include <hwy/foreach_target.h>
// Highway wants these below foreach_target.h.
#include <hwy/contrib/algo/transform-inl.h>
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/machine/dispatch.h"
#include "core/machine/simd_random.h"
#include "core/random.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::ScalableTag<uint64_t>;
using Words = hn::Vec<Lanes>;

HWY_INLINE Words same(uint64_t word) { return hn::Set(Lanes(), word); }
HWY_INLINE Words low(Words product) { return hn::And(product, same(0xFFFFFFFF)); }
HWY_INLINE Words high(Words product) { return hn::ShiftRight<32>(product); }

/// The lower halves of the words times a number.
HWY_INLINE Words multiply(Words words, uint32_t by) {
#if HWY_TARGET == HWY_SCALAR  // without vectors there are no halves of a lane
  return same(hn::GetLane(low(words)) * by);
#else
  const hn::Repartition<uint32_t, Lanes> halves;
  return hn::MulEven(hn::BitCast(halves, words), hn::Set(halves, by));
#endif
}

/// Stores the blocks index, index + 1, …, as many as a vector has lanes, two numbers each. The
/// words a to d are the lower halves of their lanes; the upper ones hold what multiply ignores.
HWY_INLINE void store_blocks(uint64_t seed, uint64_t stream, uint64_t index, uint64_t* to) {
  const Words counter = hn::Add(same(index), hn::Iota(Lanes(), 0));
  Words a = low(counter), b = high(counter), c = same(stream & 0xFFFFFFFF), d = same(stream >> 32);
  auto key_0 = static_cast<uint32_t>(seed), key_1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Words even = multiply(a, 0xD2511F53), odd = multiply(c, 0xCD9E8D57);
    a = hn::Xor(hn::Xor(high(odd), b), same(key_0));
    b = odd;
    c = hn::Xor(hn::Xor(high(even), d), same(key_1));
    d = even;
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  const Words first = hn::Or(low(a), hn::ShiftLeft<32>(b));
  const Words second = hn::Or(low(c), hn::ShiftLeft<32>(d));
  hn::StoreInterleaved2(first, second, Lanes(), to);
}

void philox_blocks(uint64_t seed, uint64_t stream, uint64_t first, std::span<PhiloxBlock> blocks) {
  HWY_ALIGN uint64_t numbers[2 * HWY_MAX_BYTES / sizeof(uint64_t)];
  const size_t lanes = hn::Lanes(Lanes());
  for (size_t n = 0; n < blocks.size(); n += lanes) {
    store_blocks(seed, stream, first + n, numbers);
    for (size_t block = 0; block < std::min(lanes, blocks.size() - n); ++block)
      std::memcpy(&blocks[n + block], &numbers[2 * block], sizeof(PhiloxBlock));  // little-endian
  }
}

#if HWY_HAVE_FLOAT64

void near_box_muller(std::span<const double> positives, const double* turns, double* numbers) {
  std::copy_n(turns, positives.size(), numbers);
  hn::Transform1(hn::ScalableTag<double>(), numbers, positives.size(), positives.data(),
                 [](auto lanes, auto turn, auto positive) HWY_ATTR {
                   auto root = hn::Sqrt(hn::Mul(hn::Set(lanes, -2), hn::Log(lanes, positive)));
                   auto angle = hn::Mul(hn::Set(lanes, 2 * std::numbers::pi), turn);
                   return hn::Mul(root, hn::Cos(lanes, angle));
                 });
}

#else  // vectors of WebAssembly have no doubles

void near_box_muller(std::span<const double> positives, const double* turns, double* numbers) {
  for (size_t n = 0; n < positives.size(); ++n)
    numbers[n] = std::sqrt(-2 * std::log(positives[n])) * std::cos(2 * std::numbers::pi * turns[n]);
}

#endif

}  // namespace shiftgrad::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace shiftgrad {

SHIFTGRAD_DISPATCH(philox_blocks);
SHIFTGRAD_DISPATCH(near_box_muller);

}  // namespace shiftgrad

#endif
