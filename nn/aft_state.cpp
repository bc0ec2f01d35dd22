#include "nn/aft_state.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/errors.h"
#include "core/machine/simd.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Adds tokens [B, n, C] to the sums, once position biases no longer reach them.
void AftState::add_to_sums(const Tensor& key, const Tensor& value) {
  auto token = [](const Tensor& x, int64_t b, int64_t j) {
    return x.data() + b * x.layout().strides[0] + j * x.layout().strides[1];
  };
  CachedVector<Scalar> weight(static_cast<size_t>(channels_));  // e^(k - m)
  for (int64_t b = 0; b < key.size(0); ++b)
    for (int64_t j = 0; j < key.size(1); ++j) {
      const Scalar *k = token(key, b, j), *v = token(value, b, j);
      Scalar* maximum = far_.maximum.data() + b * channels_;
      double* numerator = far_.numerator.data() + b * channels_;
      double* denominator = far_.denominator.data() + b * channels_;
      for (int64_t c = 0; c < channels_; ++c) {
        if (!(k[c] > maximum[c])) continue;
        double shrink = std::exp(static_cast<double>(maximum[c]) - static_cast<double>(k[c]));
        numerator[c] *= shrink;
        denominator[c] *= shrink;
        maximum[c] = k[c];
      }
      simd::zip(simd::Binary::subtract, k, maximum, weight.data(), channels_);
      simd::map(simd::Unary::exp, weight.data(), weight.data(), channels_);
      for (int64_t c = 0; c < channels_; ++c) {
        double term = static_cast<double>(weight[static_cast<size_t>(c)]);
        numerator[c] += term * static_cast<double>(v[c]);
        denominator[c] += term;
      }
    }
}

AftState::KeysAndValues AftState::far_token() const {
  int64_t count = static_cast<int64_t>(far_.maximum.size());
  Tensor key = Tensor::empty({count / channels_, 1, channels_}), value = Tensor::empty(key.shape());
  Scalar *k = key.mutable_data(), *v = value.mutable_data();
  for (int64_t n = 0; n < count; ++n) {
    size_t at = static_cast<size_t>(n);
    k[n] = static_cast<Scalar>(far_.denominator[at]);
    v[n] = static_cast<Scalar>(far_.numerator[at] / far_.denominator[at]);
  }
  simd::map(simd::Unary::log, k, k, count);
  simd::zip(simd::Binary::add, far_.maximum.data(), k, k, count);
  return {key, value};
}

Tensor AftState::feed(const Tensor& key, const Tensor& value, const AftBand& band) {
  int64_t B = key.size(0), T = key.size(1);
  channels_ = key.size(2);
  size_t count = static_cast<size_t>(B * channels_);
  if (far_.maximum.empty())
    far_ = {CachedVector<Scalar>(count, -std::numeric_limits<Scalar>::infinity()),
            CachedVector<double>(count), CachedVector<double>(count)};
  require(far_.maximum.size() == count, "state: a batch of ", B, " for a state of ",
          static_cast<int64_t>(far_.maximum.size()) / channels_);
  Tensor keys = keys_.append(key), values = values_.append(value);  // [B, held, C]
  position_ += T;
  int64_t held = keys.size(1), summed = position_ - held;
  AftBand biases{band.bias.detach(), band.start - summed, band.step};
  Tensor all_keys = keys, all_values = values;
  if (summed > 0) {
    auto [far_key, far_value] = far_token();
    all_keys = concat({far_key, keys}, 1);        // [B, 1 + held, C]
    all_values = concat({far_value, values}, 1);  // [B, 1 + held, C]
    biases.start += 1;
  }
  Tensor y = aft_mix(all_keys, all_values, biases, {true, 0, nullptr, nullptr});  // [B, T, C]
  int64_t leaving = held - keys_.size();
  add_to_sums(slice(keys, 1, 0, leaving), slice(values, 1, 0, leaving));
  return y;
}

AftState::KeysAndValues AftState::append(const Tensor& key, const Tensor& value) {
  KeysAndValues all{keys_.append(key), values_.append(value)};
  position_ += key.size(1);
  return all;
}

void AftState::forget_newest(int64_t count) {
  require(count == 0 || !sums(), "state: aft cannot forget tokens, they are summed up");
  if (sums()) return;
  keys_.forget_newest(count);
  values_.forget_newest(count);
}

void AftState::reorder(const std::vector<int64_t>& members) {
  if (members.empty()) return;
  int64_t batch = far_.maximum.empty() ? 0 : std::ssize(far_.maximum) / channels_;
  for (int64_t member : members)
    require(batch == 0 || (0 <= member && member < batch), "reorder: member ", member,
            ", expected 0 to ", batch - 1);
  keys_.reorder(members);
  values_.reorder(members);
  if (batch == 0) return;
  auto chosen = [&](const auto& all) {
    std::remove_cvref_t<decltype(all)> result;
    for (int64_t member : members)
      result.insert(result.end(), all.begin() + member * channels_,
                    all.begin() + (member + 1) * channels_);
    return result;
  };
  far_ = {chosen(far_.maximum), chosen(far_.numerator), chosen(far_.denominator)};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
