#include "bfloat16_weights.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace char_lm {

using shiftgrad::DType;

namespace {

/// Returns the upper half of a float's bits after rounding. A carry may reach the exponent, which
/// then is right. NaN gets a bit that no carry can lose.
uint16_t upper_half(uint32_t bits) {
  bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  if (is_nan) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

uint32_t bits_of(uint16_t half) { return uint32_t{half} << 16; }

/// Returns the tensors of one type as those of another: convert gives an element's new bits.
template <class To, class From>
Weights with_type(Weights weights, DType from, DType to, To (*convert)(From)) {
  for (auto& [name, tensor] : weights) {
    if (tensor.dtype != from) continue;
    std::vector<From> values(tensor.bytes.size() / sizeof(From));
    std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(From));
    std::vector<To> results;
    for (From value : values) results.push_back(convert(value));
    tensor.bytes.resize(results.size() * sizeof(To));
    std::memcpy(tensor.bytes.data(), results.data(), tensor.bytes.size());
    tensor.dtype = to;
  }
  return weights;
}

}  // namespace

Weights in_bfloat16(Weights weights) {
  return with_type(std::move(weights), DType::f32, DType::bf16, upper_half);
}

Weights in_float32(Weights weights) {
  return with_type(std::move(weights), DType::bf16, DType::f32, bits_of);
}

}  // namespace char_lm
