#include "nn/aft_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

void AftState::Sum::add(double k, double v) {
  if (k > maximum) {
    double shrink = std::exp(maximum - k);
    numerator *= shrink;
    denominator *= shrink;
    maximum = k;
  }
  double weight = std::exp(k - maximum);
  numerator += weight * v;
  denominator += weight;
}

/// A token that position biases reach no longer joins the sums; key and value [B, 1, C].
void AftState::let_go(const Tensor& key, const Tensor& value) {
  int64_t C = key.size(2);
  for (size_t n = 0; n < far_.size(); ++n) {
    int64_t b = static_cast<int64_t>(n) / C, c = static_cast<int64_t>(n) % C;
    far_[n].add(static_cast<double>(key.data()[b * key.layout().strides[0] + c]),
                static_cast<double>(value.data()[b * value.layout().strides[0] + c]));
  }
}

/// y[:, t] from the far sums and the near keys [B, n, C], the last of which is token t itself.
void AftState::mix(const Tensor& keys, const Tensor& values, const AftBand& band, int64_t t,
                   const Tensor& y) const {
  int64_t C = y.size(2), groups = band.bias.size(0), near = keys.size(1);
  const Layout& bias = band.bias.layout();
  // The band's entry for the oldest near key.
  int64_t first = position_ + 1 - near - (band.start + band.step * t);
  for (size_t n = 0; n < far_.size(); ++n) {
    int64_t b = static_cast<int64_t>(n) / C, c = static_cast<int64_t>(n) % C;
    const Scalar* w = band.bias.data() + c / (C / groups) * bias.strides[0] + t * bias.strides[1];
    const Scalar* k = keys.data() + b * keys.layout().strides[0] + c;
    const Scalar* v = values.data() + b * values.layout().strides[0] + c;
    Sum sum = far_[n];
    for (int64_t j = 0; j < near; ++j)
      sum.add(static_cast<double>(k[j * C]) + static_cast<double>(w[(first + j) * bias.strides[2]]),
              static_cast<double>(v[j * C]));
    y.mutable_data()[(b * y.size(1) + t) * C + c] =
        static_cast<Scalar>(sum.numerator / sum.denominator);
  }
}

Tensor AftState::feed(const Tensor& key, const Tensor& value, const AftBand& band) {
  int64_t B = key.size(0), T = key.size(1), C = key.size(2);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  channels_ = C;
  if (far_.empty()) far_.assign(B * C, {-infinity, 0, 0});
  require(static_cast<int64_t>(far_.size()) == B * C, "state: a batch of ", B, " for a state of ",
          static_cast<int64_t>(far_.size()) / C);
  Tensor y = Tensor::empty({B, T, C});
  Tensor none = Tensor::empty({B, 0, C});
  for (int64_t t = 0; t < T; ++t, ++position_) {
    Tensor k = slice(key, 1, t, t + 1), v = slice(value, 1, t, t + 1);
    if (near_ == 0) {
      let_go(k, v);
      mix(none, none, band, t, y);
      continue;
    }
    Tensor keys = keys_.append(k), values = values_.append(v);
    int64_t held = keys.size(1);
    if (held > near_) let_go(slice(keys, 1, 0, 1), slice(values, 1, 0, 1));
    int64_t begin = std::max<int64_t>(0, held - near_);
    mix(slice(keys, 1, begin, held), slice(values, 1, begin, held), band, t, y);
  }
  return y;
}

void AftState::forget_newest(int64_t count) {
  require(count == 0, "state: aft cannot forget tokens, they are summed up");
}

void AftState::reorder(const std::vector<int64_t>& members) {
  if (far_.empty() || members.empty()) return;
  keys_.reorder(members);
  values_.reorder(members);
  std::vector<Sum> reordered;
  for (int64_t member : members)
    reordered.insert(reordered.end(), far_.begin() + member * channels_,
                     far_.begin() + (member + 1) * channels_);
  far_ = std::move(reordered);
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
