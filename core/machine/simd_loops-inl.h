// Walks an array in vectors. The elements left over at its end go through the same vector
// arithmetic as the others, so that an element's bits do not depend on its place.
//
// A kernel includes this once for each instruction set, so there is no guard.

#include <cstring>

#include "core/machine/matrix.h"
#include "core/machine/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE {

/// Turns doubles into floats, floats into doubles, and neither into what they are.
template <class D, class V>
HWY_INLINE hn::Vec<D> converted(D to, V v) {
  if constexpr (sizeof(hn::TFromD<D>) > sizeof(hn::TFromV<V>))
    return hn::PromoteTo(to, v);
  else if constexpr (sizeof(hn::TFromD<D>) < sizeof(hn::TFromV<V>))
    return hn::DemoteTo(to, v);
  else
    return v;
}

/// Access to as many numbers as a vector of D holds. In memory they may be of another type.
template <class D>
struct Whole {
  template <class Number>
  HWY_INLINE hn::Vec<D> load(const Number* from) const {
    return converted(D(), hn::LoadU(hn::Rebind<Number, D>(), from));
  }
  template <class Number>
  HWY_INLINE void store(hn::Vec<D> v, Number* to) const {
    const hn::Rebind<Number, D> stored;
    hn::StoreU(converted(stored, v), stored, to);
  }
  /// Returns v for the elements that exist, `other` for the rest.
  HWY_INLINE hn::Vec<D> keep(hn::Vec<D> v, hn::Vec<D> /*other*/) const { return v; }
};

/// Access to the last elements of an array, fewer than a vector holds, and to no memory behind
/// them.
template <class D>
struct Part {
  int64_t count;

  template <class Number>
  HWY_INLINE hn::Vec<D> load(const Number* from) const {
    const hn::Rebind<Number, D> stored;
    if constexpr (HWY_MEM_OPS_MIGHT_FAULT) {
      HWY_ALIGN Number elements[HWY_MAX_BYTES / sizeof(Number)] = {};
      std::memcpy(elements, from, static_cast<size_t>(count) * sizeof(Number));
      return converted(D(), hn::Load(stored, elements));
    } else {
      return converted(D(), hn::MaskedLoad(first(stored), stored, from));
    }
  }
  template <class Number>
  HWY_INLINE void store(hn::Vec<D> v, Number* to) const {
    const hn::Rebind<Number, D> stored;
    if constexpr (HWY_MEM_OPS_MIGHT_FAULT) {
      HWY_ALIGN Number elements[HWY_MAX_BYTES / sizeof(Number)];
      hn::Store(converted(stored, v), stored, elements);
      std::memcpy(to, elements, static_cast<size_t>(count) * sizeof(Number));
    } else {
      hn::BlendedStore(converted(stored, v), first(stored), stored, to);
    }
  }
  HWY_INLINE hn::Vec<D> keep(hn::Vec<D> v, hn::Vec<D> other) const {
    return hn::IfThenElse(first(D()), v, other);
  }

 private:
  template <class Tag>
  HWY_INLINE hn::Mask<Tag> first(Tag tag) const {
    return hn::FirstN(tag, static_cast<size_t>(count));
  }
};

/// The number of elements in a vector of D.
template <class D>
constexpr int64_t lanes_of = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t lanes = lanes_of<Lanes>;

/// Calls body(access, i) for the vectors of D that begin at element i of 0 … n-1.
template <class D = Lanes, class Body>
HWY_INLINE void for_vectors(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + lanes_of<D> <= n; i += lanes_of<D>) body(Whole<D>{}, i);
  if (i < n) body(Part<D>{n - i}, i);
}

/// Joins body(access, i, running value) over all vectors. It keeps four running values at a time,
/// so that an addition need not wait for the one before.
template <class Running, class Body, class Join>
HWY_INLINE Running fold(int64_t n, Running start, Body body, Join join) {
  Running a = start, b = start, c = start, d = start;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = body(Whole<Lanes>{}, i, a);
    b = body(Whole<Lanes>{}, i + lanes, b);
    c = body(Whole<Lanes>{}, i + 2 * lanes, c);
    d = body(Whole<Lanes>{}, i + 3 * lanes, d);
  }
  for (; i + lanes <= n; i += lanes) a = body(Whole<Lanes>{}, i, a);
  if (i < n) b = body(Part<Lanes>{n - i}, i, b);
  return join(join(a, b), join(c, d));
}

/// Joins body(access, i, running value) by addition.
template <class Body>
HWY_INLINE Scalar add_up(int64_t n, Body body) {
  auto add = [](Vector a, Vector b) HWY_ATTR { return hn::Add(a, b); };
  auto kept = [&](auto access, int64_t i, Vector total)
                  HWY_ATTR { return access.keep(body(access, i, total), total); };
  return hn::GetLane(hn::SumOfLanes(Lanes(), fold(n, hn::Zero(Lanes()), kept, add)));
}

/// row = alpha sums + beta old, for the first `count` lanes.
HWY_INLINE void store_dense_sums(Scalar alpha, Vector sums, Scalar beta, const Scalar* old,
                                 Scalar* row, int64_t count) {
  for_vectors(count, [&](auto access, int64_t) HWY_ATTR {
    Vector rest = beta == 0 ? hn::Zero(Lanes()) : hn::Mul(constant(beta), access.load(old));
    access.store(hn::MulAdd(constant(alpha), sums, rest), row);
  });
}

/// row = alpha sums + beta old at any strides, for no more columns than a vector has lanes.
HWY_INLINE void store_sums(Scalar alpha, Vector sums, Scalar beta, const ConstMatrix& old,
                           const Matrix& row) {
  if (row.column_stride == 1 && old.column_stride == 1)
    return store_dense_sums(alpha, sums, beta, old.data, row.data, row.columns);
  // Through a vector, since a compiler may round scalars in another order.
  HWY_ALIGN Scalar dense[lanes] = {};
  for (int64_t n = 0; beta != 0 && n < row.columns; ++n) dense[n] = old.at(0, n);
  store_dense_sums(alpha, sums, beta, dense, dense, lanes);
  for (int64_t n = 0; n < row.columns; ++n) row.at(0, n) = dense[n];
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
