// The sums of queries that come one after the other.
//
// A kernel includes this below `tiles-inl.h`, once for each instruction set.

#include "ops/zero_weights.h"

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

/// Sums over keys that come one by one, relative to the greatest so far.
template <Zeros zeros>
struct RunningSums {
  Vector greatest, den, num;

  HWY_INLINE void add(Vector key, Vector value) {
    Vector rise = key - greatest, ratio = exp(rise < 0 ? rise : -rise);
    Vector one = Vector{} + Number{1};
    Vector kept = rise > 0 ? ratio : one, weight = rise > 0 ? one : ratio;
    den = kept * den + weight;
    if constexpr (zeros == Zeros::select) num = chosen(kept, num), value = chosen(weight, value);
    num = kept * num + weight * value;
    greatest = rise > 0 ? key : greatest;
  }
};

/// A vector of the channels of each token.
struct Column {
  const Scalar* first;
  int64_t stride, left;

  Column(const Tensor& x, const AftStrip& strip, int64_t c)
      : first(x.data() + strip.b * x.layout().strides[0] + strip.channel + c),
        stride(x.layout().strides[1]),
        left(strip.width - c) {}

  HWY_INLINE Vector operator[](int64_t token) const { return load(first + token * stride, left); }
};

/// Computes y for a vector of channels, and adds their keys to the sums. Returns false, with the
/// sums as they were, if y is not finite by multiplying.
template <Zeros zeros>
bool step_channels(const AftProblem& p, const AftStrip& strip, int64_t c, AftSums& sums,
                   const Tensor& y) {
  const ConstMatrix biases = p.biases(strip.group);
  const Column key(p.key, strip, c), value(p.value, strip, c);
  double* past = sums.values.data() + 3 * strip.b * p.C + strip.channel + c;
  int64_t j = 0, left = key.left;
  RunningSums<zeros> far{load(past, left), load(past + p.C, left), load(past + 2 * p.C, left)};
  Scalar* to = y.mutable_data() + strip.b * p.T * p.C + strip.channel + c;
  Vector of_finite{};  // NaN where a result is not
  for (int64_t i = 0; i < p.T; ++i, to += p.C) {
    Interval band = p.biased(i);
    for (; j < band.begin; ++j) far.add(key[j], value[j]);
    RunningSums<zeros> all = far;
    for (int64_t n = band.begin; n < p.end(i); ++n) {
      double bias = n < band.end ? static_cast<double>(biases.at(i, n - p.first(i))) : 0;
      all.add(key[n] + bias, value[n]);
    }
    Vector result = all.num / all.den;
    of_finite += 0 * result;
    store(result, to, left);
  }
  for (int64_t lane = 0; zeros == Zeros::multiply && lane < lanes; ++lane)
    if (of_finite[lane] != 0) return false;
  store(far.greatest, past, left);
  store(far.den, past + p.C, left);
  store(far.num, past + 2 * p.C, left);
  return true;
}

void step(const AftProblem& p, const AftStrip& strip, AftSums& sums, const Tensor& y) {
  for (int64_t c = 0; c < strip.width; c += lanes)
    if (!step_channels<Zeros::multiply>(p, strip, c, sums, y))
      step_channels<Zeros::select>(p, strip, c, sums, y);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
