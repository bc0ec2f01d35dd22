#include "core/io/float_types.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/io/json.h"

namespace shiftgrad {

namespace {

bool is_real(DType type) {
  return type == DType::f16 || type == DType::bf16 || type == DType::f32 || type == DType::f64;
}

/// Returns the value of a number in IEEE's binary16: a sign, 5 bits of exponent, 10 of fraction.
double half_value(uint16_t bits) {
  int exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
  double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0x1F)
    size = fraction == 0 ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  return bits >> 15 ? -size : size;
}

template <class Bits>
Bits bits_at(const StoredTensor& tensor, size_t n) {
  Bits bits = 0;
  std::memcpy(&bits, tensor.bytes.data() + n * sizeof(Bits), sizeof(Bits));
  return bits;
}

size_t count(const StoredTensor& tensor) {
  return tensor.bytes.size() / static_cast<size_t>(size_of(tensor.dtype));
}

/// Returns value number n of a tensor of real numbers.
double value_at(const StoredTensor& tensor, size_t n) {
  if (tensor.dtype == DType::f16) return half_value(bits_at<uint16_t>(tensor, n));
  if (tensor.dtype == DType::f64) return std::bit_cast<double>(bits_at<uint64_t>(tensor, n));
  uint32_t bits = tensor.dtype == DType::f32 ? bits_at<uint32_t>(tensor, n)
                                             : uint32_t{bits_at<uint16_t>(tensor, n)} << 16;
  return std::bit_cast<float>(bits);
}

template <class To>
std::vector<std::byte> bytes_as(const std::string& name, const StoredTensor& tensor, DType type) {
  std::vector<std::byte> bytes(count(tensor) * sizeof(To));
  for (size_t n = 0; n < count(tensor); ++n) {
    double value = value_at(tensor, n);
    To rounded = static_cast<To>(value);
    require(std::isfinite(rounded) || !std::isfinite(value), "tensor ", shown(name), ": ", value,
            ", beyond the range of ", type);
    std::memcpy(bytes.data() + n * sizeof(To), &rounded, sizeof(To));
  }
  return bytes;
}

}  // namespace

bool is_finite(const StoredTensor& tensor) {
  for (size_t n = 0; is_real(tensor.dtype) && n < count(tensor); ++n)
    if (!std::isfinite(value_at(tensor, n))) return false;
  return true;
}

std::map<std::string, StoredTensor> with_type(std::map<std::string, StoredTensor> tensors,
                                              DType type) {
  for (auto& [name, tensor] : tensors) {
    if (!is_real(tensor.dtype) || tensor.dtype == type) continue;
    tensor.bytes = type == DType::f64 ? bytes_as<double>(name, tensor, type)
                                      : bytes_as<float>(name, tensor, type);
    tensor.dtype = type;
  }
  return tensors;
}

}  // namespace shiftgrad
