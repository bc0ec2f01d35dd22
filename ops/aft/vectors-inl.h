// Vectors of a kernel's Number, double or float. They are the compiler's own, since Highway has no
// doubles where the machine is WebAssembly.
//
// A kernel includes this once for each instruction set, so there is no guard.

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/scalar.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

constexpr int64_t bytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
/// The numbers in a vector, and the queries in a block.
constexpr int64_t lanes = bytes / sizeof(Number);
using Vector [[gnu::vector_size(bytes)]] = Number;
constexpr bool is_wide = sizeof(Number) == sizeof(double);
using Integers [[gnu::vector_size(bytes)]] = std::conditional_t<is_wide, uint64_t, uint32_t>;
template <class Element>
using Narrow [[gnu::vector_size(lanes * sizeof(Element))]] = Element;

/// Returns up to a vector of numbers, and 0 for those that are missing.
template <class Element>
HWY_INLINE Vector load(const Element* from, int64_t count) {
  Narrow<Element> x{};
  if (count < lanes) {
    std::memcpy(&x, from, static_cast<size_t>(count) * sizeof(Element));
    return __builtin_convertvector(x, Vector);
  }
  std::memcpy(&x, from, sizeof(x));
  return __builtin_convertvector(x, Vector);
}

template <class Element>
HWY_INLINE void store(Vector x, Element* to, int64_t count) {
  auto y = __builtin_convertvector(x, Narrow<Element>);
  if (count < lanes) {
    std::memcpy(to, &y, static_cast<size_t>(count) * sizeof(Element));
  } else {
    std::memcpy(to, &y, sizeof(y));
  }
}

/// How many rows ahead of its use a row is fetched. A strip is a part of each token's channels, and
/// CPUs do not foresee where the next row of it begins.
constexpr int64_t rows_ahead = 16;
template <class Element>
HWY_INLINE void prefetch(const Element* row, int64_t count) {
  constexpr int64_t line = 64 / sizeof(Element);
  for (int64_t c = 0; c < count; c += line) __builtin_prefetch(row + c);
}

/// 1/0!, 1/1!, 1/2!, …
constexpr auto inverse_factorials = [] {
  std::array<Number, 14> list{};
  double factorial = 1;
  for (size_t n = 0; n < list.size(); factorial *= static_cast<double>(++n))
    list[n] = static_cast<Number>(1 / factorial);
  return list;
}();

/// e^x for x ≤ 700, or x ≤ 87 in floats, as 2^n e^r with n an integer and |r| ≤ (ln 2)/2. Results
/// below e^-700 or e^-87 are 0.
HWY_INLINE Vector exp(Vector x) {
  // What is left out is less than 1e-17, less than 1e-9 where keys are floats, and less than 1e-8
  // in vectors of floats.
  constexpr size_t degree = sizeof(Scalar) == sizeof(double) ? 13 : is_wide ? 8 : 7;
  constexpr Number least = is_wide ? -700 : -87, inverse_log = 0x1.71547652b82fep0;
  // Adding this to a number rounds it to an integer, in the lowest bits.
  constexpr Number rounding = is_wide ? 0x1.8p52 : 0x1.8p23;
  // Bits from here on are a number's exponent.
  constexpr int fraction = is_wide ? 52 : 23;
  // ln 2 in two parts, of which the first has bits to spare, so that its product is exact
  constexpr Number log_of_two = is_wide ? 0x1.62e42feep-1 : 0x1.62e4p-1;
  constexpr Number rest_of_log = is_wide ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cf79abcap-20;
  Vector bounded = x < least ? Vector{} + least : x;
  Vector rounded = bounded * inverse_log + rounding, exponent = rounded - rounding;
  Vector r = bounded - exponent * log_of_two - exponent * rest_of_log;
  Vector power = Vector{} + inverse_factorials[degree];
  for (size_t n = degree; n-- > 0;) power = power * r + inverse_factorials[n];
  power = reinterpret_cast<Vector>(reinterpret_cast<Integers>(power) +
                                   (reinterpret_cast<Integers>(rounded) << fraction));
  return x < least ? Vector{} : x == x ? power : x;
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

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
