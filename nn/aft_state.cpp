#include "shiftgrad/nn/aft_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The number of terms summed in Scalar before they join the sums in double.
constexpr int64_t run = 32;

/// Returns row j of the tokens [B, n, C], from the strip's first channel on.
const Scalar* token(const Tensor& x, int64_t b, int64_t j, int64_t channel) {
  const Dims& strides = x.layout().strides;
  return x.data() + b * strides[0] + j * strides[1] + channel;
}

}  // namespace

void AftState::start(int64_t count) {
  far_.maximum.assign(static_cast<size_t>(count), -std::numeric_limits<Scalar>::infinity());
  far_.numerator.assign(static_cast<size_t>(count), 0);
  far_.denominator.assign(static_cast<size_t>(count), 0);
}

/// Adds a token to the sums, once position biases no longer reach it. key and value are [B, 1, C].
void AftState::add_to_sums(const Tensor& key, const Tensor& value) {
  for (int64_t b = 0; b < key.size(0); ++b) {
    const Scalar *k = token(key, b, 0, 0), *v = token(value, b, 0, 0);
    Scalar *maximum = far_.maximum.data() + b * channels_, *weight = row(0);
    double* numerator = far_.numerator.data() + b * channels_;
    double* denominator = far_.denominator.data() + b * channels_;
    for (int64_t c = 0; c < channels_; ++c) {
      if (!(k[c] > maximum[c])) continue;
      double shrink = std::exp(static_cast<double>(maximum[c]) - static_cast<double>(k[c]));
      numerator[c] *= shrink;
      denominator[c] *= shrink;
      maximum[c] = k[c];
    }
    simd::zip(simd::Binary::subtract, k, maximum, weight, channels_);
    simd::map(simd::Unary::exp, weight, weight, channels_);
    for (int64_t c = 0; c < channels_; ++c) {
      numerator[c] += static_cast<double>(weight[c]) * static_cast<double>(v[c]);
      denominator[c] += static_cast<double>(weight[c]);
    }
  }
}

/// Writes the exponents of the keys begin … end-1, each as a row of the strip's width.
void AftState::exponents(const Near& near, int64_t begin, int64_t end) {
  Scalar* terms = row(4);
  for (int64_t j = begin; j < end; ++j, terms += near.width) {
    const Scalar* k = token(near.keys, near.b, j, near.channel);
    Scalar w = near.biases[j * near.bias_stride];
    for (int64_t c = 0; c < near.width; ++c) terms[c] = k[c] + w;
  }
}

/// Sets above_ and below_ to the far sums, relative to the greatest exponent of all.
void AftState::begin_sums(const Near& near, Scalar* greatest) {
  int64_t at = near.b * channels_ + near.channel, width = near.width;
  Scalar* factor = greatest + channels_;
  const Scalar* terms = row(4);
  std::copy_n(far_.maximum.data() + at, width, greatest);
  for (int64_t j = 0; j < near.keys.size(1); j += run) {
    int64_t end = std::min(j + run, near.keys.size(1));
    exponents(near, j, end);
    for (int64_t row = 0; row < end - j; ++row)
      simd::zip(simd::Binary::maximum, greatest, terms + row * width, greatest, width);
  }
  simd::zip(simd::Binary::subtract, far_.maximum.data() + at, greatest, factor, width);
  simd::map(simd::Unary::exp, factor, factor, width);
  const double* numerator = far_.numerator.data() + at;
  const double* denominator = far_.denominator.data() + at;
  for (int64_t c = 0; c < width; ++c) {
    above_[static_cast<size_t>(c)] = numerator[c] * static_cast<double>(factor[c]);
    below_[static_cast<size_t>(c)] = denominator[c] * static_cast<double>(factor[c]);
  }
}

/// Adds the terms of the keys begin … end-1.
void AftState::add_run(const Near& near, int64_t begin, int64_t end, const Scalar* greatest) {
  int64_t width = near.width;
  Scalar *numerator = row(2), *denominator = row(3), *terms = row(4);
  exponents(near, begin, end);
  std::fill_n(numerator, width, Scalar{0});
  std::fill_n(denominator, width, Scalar{0});
  for (int64_t row = 0; row < end - begin; ++row)
    simd::zip(simd::Binary::subtract, terms + row * width, greatest, terms + row * width, width);
  simd::map(simd::Unary::exp, terms, terms, (end - begin) * width);
  for (int64_t row = 0; row < end - begin; ++row) {
    const Scalar* v = token(near.values, near.b, begin + row, near.channel);
    simd::multiply_add(terms + row * width, v, numerator, width);
    simd::axpby(1, terms + row * width, 1, denominator, width);
  }
  for (int64_t c = 0; c < width; ++c) {
    above_[static_cast<size_t>(c)] += static_cast<double>(numerator[c]);
    below_[static_cast<size_t>(c)] += static_cast<double>(denominator[c]);
  }
}

void AftState::mix(const Near& near, Scalar* y) {
  Scalar* greatest = row(0);
  begin_sums(near, greatest);
  for (int64_t j = 0; j < near.keys.size(1); j += run)
    add_run(near, j, std::min(j + run, near.keys.size(1)), greatest);
  for (int64_t c = 0; c < near.width; ++c) {
    size_t at = static_cast<size_t>(c);
    y[c] = static_cast<Scalar>(above_[at] / below_[at]);
  }
}

/// Computes y[:, t] from the far sums and the near keys [B, n, C], the last of which is token t
/// itself.
void AftState::mix(const Tensor& keys, const Tensor& values, const AftBand& band, int64_t t,
                   const Tensor& y) {
  int64_t groups = band.bias.size(0), width = channels_ / groups;
  const Dims& strides = band.bias.layout().strides;
  // Entry of the band for the oldest near key.
  int64_t first = position_ + 1 - keys.size(1) - (band.start + band.step * t);
  for (int64_t b = 0; b < y.size(0); ++b)
    for (int64_t group = 0; group < groups; ++group) {
      const Scalar* biases =
          band.bias.data() + group * strides[0] + t * strides[1] + first * strides[2];
      mix({keys, values, biases, strides[2], b, group * width, width},
          y.mutable_data() + (b * y.size(1) + t) * channels_ + group * width);
    }
}

Tensor AftState::feed(const Tensor& key, const Tensor& value, const AftBand& band) {
  int64_t B = key.size(0), T = key.size(1), C = key.size(2);
  channels_ = C;
  if (far_.maximum.empty()) start(B * C);
  require(static_cast<int64_t>(far_.maximum.size()) == B * C, "state: a batch of ", B,
          " for a state of ", static_cast<int64_t>(far_.maximum.size()) / C);
  rows_ = Tensor::empty({run + 4, C});
  above_.resize(static_cast<size_t>(C));
  below_.resize(static_cast<size_t>(C));
  Tensor y = Tensor::empty({B, T, C});
  Tensor none = Tensor::empty({B, 0, C});
  for (int64_t t = 0; t < T; ++t, ++position_) {
    Tensor k = slice(key, 1, t, t + 1), v = slice(value, 1, t, t + 1);  // [B, 1, C]
    if (near_ == 0) {
      add_to_sums(k, v);
      mix(none, none, band, t, y);
      continue;
    }
    Tensor keys = keys_.append(k), values = values_.append(v);  // [B, held, C]
    int64_t held = keys.size(1);
    if (held > near_) add_to_sums(slice(keys, 1, 0, 1), slice(values, 1, 0, 1));
    int64_t begin = std::max<int64_t>(0, held - near_);
    mix(slice(keys, 1, begin, held), slice(values, 1, begin, held), band, t, y);
  }
  rows_ = {};
  above_ = CachedVector<double>();
  below_ = CachedVector<double>();
  return y;
}

AftState::KeysAndValues AftState::append(const Tensor& key, const Tensor& value) {
  KeysAndValues all{keys_.append(key), values_.append(value)};
  position_ += key.size(1);
  return all;
}

void AftState::forget_newest(int64_t count) {
  require(count == 0 || forgets(), "state: aft cannot forget tokens, they are summed up");
  if (!forgets()) return;
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
