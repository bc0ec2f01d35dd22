#include "nn/aft_state.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/errors.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void AftState::Far::add(double key, double value) {
  if (key > maximum) {
    double shrink = std::exp(maximum - key);
    numerator *= shrink;
    denominator *= shrink;
    maximum = key;
  }
  double weight = std::exp(key - maximum);
  numerator += weight * value;
  denominator += weight;
}

/// Adds tokens [B, n, C] to the sums, once position biases no longer reach them.
void AftState::add_to_sums(const Tensor& key, const Tensor& value) {
  int64_t C = key.size(2);
  auto token = [](const Tensor& x, int64_t b, int64_t j) {
    return x.data() + b * x.layout().strides[0] + j * x.layout().strides[1];
  };
  for (int64_t b = 0; b < key.size(0); ++b)
    for (int64_t j = 0; j < key.size(1); ++j) {
      const Scalar *k = token(key, b, j), *v = token(value, b, j);
      for (int64_t c = 0; c < C; ++c)
        far_.values[static_cast<size_t>(b * C + c)].add(static_cast<double>(k[c]),
                                                        static_cast<double>(v[c]));
    }
}

AftState::KeysAndValues AftState::far_token() const {
  Dims shape{far_.shape[0], 1, far_.shape[1]};
  Tensor key = Tensor::empty(shape), value = Tensor::empty(shape);
  Scalar *k = key.mutable_data(), *v = value.mutable_data();
  for (const auto& [maximum, numerator, denominator] : far_.values) {
    *k++ = static_cast<Scalar>(maximum + std::log(denominator));
    *v++ = static_cast<Scalar>(numerator / denominator);
  }
  return {key, value};
}

Tensor AftState::feed(const Tensor& key, const Tensor& value, const AftBand& band) {
  int64_t B = key.size(0), C = key.size(2);
  if (far_.values.empty()) far_ = {{B, C}, std::vector<Far>(static_cast<size_t>(B * C))};
  require(far_.shape[0] == B, "state: a batch of ", B, " for a state of ", far_.shape[0]);
  Tensor keys = keys_.append(key), values = values_.append(value);  // [B, held, C]
  position_ += key.size(1);
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
  return {keys_.append(key), values_.append(value)};
}

void AftState::forget_newest(int64_t count) {
  require(count == 0 || !sums(), "state: aft cannot forget tokens, they are summed up");
  if (sums()) return;
  keys_.forget_newest(count);
  values_.forget_newest(count);
}

void AftState::reorder(const std::vector<int64_t>& members) {
  if (members.empty()) return;
  if (!far_.values.empty()) {
    Array<Far> chosen{{std::ssize(members), far_.shape[1]}, {}};
    for (int64_t member : members) {
      require(0 <= member && member < far_.shape[0], "reorder: member ", member, ", expected 0 to ",
              far_.shape[0] - 1);
      std::ranges::copy(rows(far_, member, member + 1).values, std::back_inserter(chosen.values));
    }
    far_ = std::move(chosen);
  }
  keys_.reorder(members);
  values_.reorder(members);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
