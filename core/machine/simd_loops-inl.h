// Walks an array in vectors. The elements left over at its end go through the same vector
// arithmetic as the others, so that an element's bits do not depend on its place.
//
// This file is compiled once for each instruction set, hence the unusual guard.

#if defined(SHIFTGRAD_CORE_SIMD_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHIFTGRAD_CORE_SIMD_LOOPS_INL_H_
#undef SHIFTGRAD_CORE_SIMD_LOOPS_INL_H_
#else
#define SHIFTGRAD_CORE_SIMD_LOOPS_INL_H_
#endif

#include <cstring>

#include "core/machine/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE {

/// Access to as many elements as a vector holds.
struct Whole {
  HWY_INLINE Vector load(const Scalar* from) const { return hn::LoadU(Lanes(), from); }
  HWY_INLINE void store(Vector v, Scalar* to) const { hn::StoreU(v, Lanes(), to); }
  /// Returns v for the elements that exist, `other` for the rest.
  HWY_INLINE Vector keep(Vector v, Vector /*other*/) const { return v; }
};

/// Access to the last elements of an array, fewer than a vector holds, and to no memory behind
/// them.
struct Part {
  int64_t count;

  HWY_INLINE Vector load(const Scalar* from) const {
    if constexpr (HWY_MEM_OPS_MIGHT_FAULT) {
      HWY_ALIGN Scalar lanes[HWY_MAX_BYTES / sizeof(Scalar)] = {};
      std::memcpy(lanes, from, static_cast<size_t>(count) * sizeof(Scalar));
      return hn::Load(Lanes(), lanes);
    } else {
      return hn::MaskedLoad(mask(), Lanes(), from);
    }
  }
  HWY_INLINE void store(Vector v, Scalar* to) const {
    if constexpr (HWY_MEM_OPS_MIGHT_FAULT) {
      HWY_ALIGN Scalar lanes[HWY_MAX_BYTES / sizeof(Scalar)];
      hn::Store(v, Lanes(), lanes);
      std::memcpy(to, lanes, static_cast<size_t>(count) * sizeof(Scalar));
    } else {
      hn::BlendedStore(v, mask(), Lanes(), to);
    }
  }
  HWY_INLINE Vector keep(Vector v, Vector other) const { return hn::IfThenElse(mask(), v, other); }

 private:
  HWY_INLINE hn::Mask<Lanes> mask() const {
    return hn::FirstN(Lanes(), static_cast<size_t>(count));
  }
};

constexpr int64_t lanes = static_cast<int64_t>(hn::MaxLanes(Lanes()));

/// Calls body(access, i) for the vectors that begin at element i of 0 … n-1.
template <class Body>
HWY_INLINE void for_vectors(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(Whole{}, i);
  if (i < n) body(Part{n - i}, i);
}

/// Joins body(access, i, running value) over all vectors. It keeps four running values at a time,
/// so that an addition need not wait for the one before.
template <class Body, class Join>
HWY_INLINE Vector fold(int64_t n, Vector start, Body body, Join join) {
  Vector a = start, b = start, c = start, d = start;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = body(Whole{}, i, a);
    b = body(Whole{}, i + lanes, b);
    c = body(Whole{}, i + 2 * lanes, c);
    d = body(Whole{}, i + 3 * lanes, d);
  }
  for (; i + lanes <= n; i += lanes) a = body(Whole{}, i, a);
  if (i < n) {
    Part rest{n - i};
    b = rest.keep(body(rest, i, b), b);
  }
  return join(join(a, b), join(c, d));
}

/// Joins body(access, i, running value) by addition.
template <class Body>
HWY_INLINE Scalar add_up(int64_t n, Body body) {
  auto add = [](Vector a, Vector b) HWY_ATTR { return hn::Add(a, b); };
  return hn::GetLane(hn::SumOfLanes(Lanes(), fold(n, hn::Zero(Lanes()), body, add)));
}

/// row = alpha sums + beta row, for the first `count` lanes.
HWY_INLINE void store_sums(Scalar alpha, Vector sums, Scalar beta, Scalar* row, int64_t step,
                           int64_t count) {
  if (step == 1) {
    for_vectors(count, [&](auto access, int64_t) HWY_ATTR {
      Vector old = beta == 0 ? hn::Zero(Lanes()) : hn::Mul(constant(beta), access.load(row));
      access.store(hn::MulAdd(constant(alpha), sums, old), row);
    });
  } else {
    HWY_ALIGN Scalar stored[lanes];
    hn::Store(sums, Lanes(), stored);
    for (int64_t n = 0; n < count && n < lanes; ++n)
      row[n * step] = alpha * stored[n] + (beta == 0 ? 0 : beta * row[n * step]);
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif
