#include "core/io/float_types.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/errors.h"
#include "core/io/json.h"

namespace shiftgrad {

namespace {

/// Calls use(value) for each value of T.
template <class T, class Use>
void for_each_value(std::span<const std::byte> bytes, Use use) {
  for (size_t place = 0; place + sizeof(T) <= bytes.size(); place += sizeof(T)) {
    T value;
    std::memcpy(&value, &bytes[place], sizeof value);
    use(value);
  }
}

/// Returns the upper half of a float's bits after rounding. A carry may reach the exponent, which
/// then is right. NaN gets a bit that no carry can lose.
uint16_t to_bfloat16(uint32_t bits) {
  bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  if (is_nan) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

float from_bfloat16(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

/// F16 has a sign, 5 bits of an exponent with a bias of 15, and 10 bits of a mantissa (IEEE 754).
float from_float16(uint16_t half) {
  uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, mantissa = half & 0x3ffu;
  constexpr uint32_t bias = 127 - 15, largest = 255;
  uint32_t bits = (exponent == 31 ? largest : exponent + bias) << 23 | mantissa << 13;
  if (exponent == 0) bits = std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f);
  return std::bit_cast<float>(sign | bits);
}

float from_double(double value) { return static_cast<float>(value); }

/// Makes the tensor's values, which are of From, those that `convert` returns, of type `to`.
template <class From, class To>
void convert_values(StoredTensor& tensor, DType to, To (*convert)(From)) {
  std::vector<std::byte> results(tensor.bytes.size() / sizeof(From) * sizeof(To));
  std::byte* place = results.data();
  for_each_value<From>(tensor.bytes, [&](From value) {
    To result = convert(value);
    std::memcpy(place, &result, sizeof result);
    place += sizeof result;
  });
  tensor.bytes = std::move(results);
  tensor.dtype = to;
}

/// Returns the tensors, each after convert(tensor). Memory that runs out is an error that names the
/// tensor.
template <class Convert>
std::map<std::string, StoredTensor> each(std::map<std::string, StoredTensor> tensors,
                                         Convert convert) {
  for (auto& [name, tensor] : tensors)
    in_name_of("tensor " + shown(name), [&, &tensor = tensor] { convert(tensor); });
  return tensors;
}

}  // namespace

bool append_numbers(DType dtype, std::span<const std::byte> bytes, std::vector<double>& numbers) {
  auto append = [&]<class T>(T) {
    for_each_value<T>(bytes, [&](T value) { numbers.push_back(static_cast<double>(value)); });
    return true;
  };
  auto widen = [&](float (*widened)(uint16_t)) {
    for_each_value<uint16_t>(bytes, [&](uint16_t half) { numbers.push_back(widened(half)); });
    return true;
  };
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return append(uint8_t{});
    case DType::i8: return append(int8_t{});
    case DType::i16: return append(int16_t{});
    case DType::u16: return append(uint16_t{});
    case DType::f16: return widen(from_float16);
    case DType::bf16: return widen(from_bfloat16);
    case DType::i32: return append(int32_t{});
    case DType::u32: return append(uint32_t{});
    case DType::f32: return append(float{});
    case DType::f64: return append(double{});
    case DType::i64: return append(int64_t{});
    case DType::u64: return append(uint64_t{});
    default: return false;
  }
}

std::map<std::string, StoredTensor> in_bfloat16(std::map<std::string, StoredTensor> tensors) {
  return each(std::move(tensors), [](StoredTensor& tensor) {
    if (tensor.dtype == DType::f32) convert_values(tensor, DType::bf16, to_bfloat16);
  });
}

std::map<std::string, StoredTensor> in_float32(std::map<std::string, StoredTensor> tensors) {
  return each(std::move(tensors), [](StoredTensor& tensor) {
    if (tensor.dtype == DType::bf16) convert_values(tensor, DType::f32, from_bfloat16);
    if (tensor.dtype == DType::f16) convert_values(tensor, DType::f32, from_float16);
    if (tensor.dtype == DType::f64) convert_values(tensor, DType::f32, from_double);
  });
}

}  // namespace shiftgrad
