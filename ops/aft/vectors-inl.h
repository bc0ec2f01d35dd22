// Vectors of doubles for the kernel of AFT. They are the compiler's own, since Highway has no
// doubles where the machine is WebAssembly.
//
// A kernel includes this once for each instruction set, so there is no guard.

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/scalar.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::HWY_NAMESPACE {

constexpr int64_t bytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
/// The numbers in a vector, and the queries in a block.
constexpr int64_t lanes = bytes / sizeof(double);
using Vector [[gnu::vector_size(bytes)]] = double;
using Integers [[gnu::vector_size(bytes)]] = uint64_t;
template <class Number>
using Narrow [[gnu::vector_size(lanes * sizeof(Number))]] = Number;

/// Returns up to a vector of numbers, and 0 for those that are missing.
template <class Number>
HWY_INLINE Vector load(const Number* from, int64_t count) {
  Narrow<Number> x{};
  if (count < lanes) {
    std::memcpy(&x, from, static_cast<size_t>(count) * sizeof(Number));
    return __builtin_convertvector(x, Vector);
  }
  std::memcpy(&x, from, sizeof(x));
  return __builtin_convertvector(x, Vector);
}

template <class Number>
HWY_INLINE void store(Vector x, Number* to, int64_t count) {
  auto y = __builtin_convertvector(x, Narrow<Number>);
  if (count < lanes) {
    std::memcpy(to, &y, static_cast<size_t>(count) * sizeof(Number));
  } else {
    std::memcpy(to, &y, sizeof(y));
  }
}

/// How many rows ahead of its use a row is fetched. A strip is a part of each token's channels, and
/// CPUs do not foresee where the next row of it begins.
constexpr int64_t rows_ahead = 16;
template <class Number>
HWY_INLINE void prefetch(const Number* row, int64_t count) {
  constexpr int64_t line = 64 / sizeof(Number);
  for (int64_t c = 0; c < count; c += line) __builtin_prefetch(row + c);
}

/// 1/0!, 1/1!, 1/2!, …
constexpr auto inverse_factorials = [] {
  std::array<double, 14> list{};
  double factorial = 1;
  for (size_t n = 0; n < list.size(); factorial *= static_cast<double>(++n))
    list[n] = 1 / factorial;
  return list;
}();

/// e^x for x ≤ 700, as 2^n e^r with n an integer and |r| ≤ (ln 2)/2. Results below e^-700 are 0.
HWY_INLINE Vector exp(Vector x) {
  // What is left out is less than 1e-17, and less than 1e-9 where keys are floats.
  constexpr size_t degree = sizeof(Scalar) == sizeof(double) ? 13 : 8;
  // Adding this to a number rounds it to an integer, in the lowest bits.
  constexpr double rounding = 0x1.8p52;
  Vector bounded = x < -700.0 ? Vector{} - 700.0 : x;
  Vector rounded = bounded * 0x1.71547652b82fep0 + rounding, exponent = rounded - rounding;
  // ln 2 in two parts, of which the first has bits to spare, so that its product is exact
  Vector r = bounded - exponent * 0x1.62e42feep-1 - exponent * 0x1.a39ef35793c76p-33;
  Vector power = Vector{} + inverse_factorials[degree];
  for (size_t n = degree; n-- > 0;) power = power * r + inverse_factorials[n];
  // Bits from 52 on are a number's exponent.
  power = reinterpret_cast<Vector>(reinterpret_cast<Integers>(power) +
                                   (reinterpret_cast<Integers>(rounded) << 52));
  return x < -700.0 ? Vector{} : x == x ? power : x;
}

/// Returns x, but 0 where the weight is 0: such a key gives nothing, whatever it holds.
HWY_INLINE Vector chosen(Vector weight, Vector x) { return weight == 0 ? Vector{} : x; }

/// Adds each number at an even place of a and then b to its neighbour.
template <size_t... n>
HWY_INLINE Vector pair_sums(Vector a, Vector b, std::index_sequence<n...>) {
  return __builtin_shufflevector(a, b, static_cast<int>(2 * n)...) +
         __builtin_shufflevector(a, b, static_cast<int>(2 * n + 1)...);
}

/// Returns the sums of the lanes of `count` rows. Each step leaves half as many numbers of a row.
template <int64_t count = lanes>
HWY_INLINE Vector sums_of_lanes(const Vector* rows) {
  if constexpr (count > 1)
    return pair_sums(sums_of_lanes<count / 2>(rows), sums_of_lanes<count / 2>(rows + count / 2),
                     std::make_index_sequence<lanes>());
  return rows[0];
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
