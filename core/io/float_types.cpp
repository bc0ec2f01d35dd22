#include "core/io/float_types.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/machine/parallel.h"

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

/// Calls use(number) for each value of a type of floats.
template <class Use>
void for_each_float(DType type, std::span<const std::byte> bytes, Use use) {
  if (type == DType::f16)
    for_each_value<uint16_t>(bytes, [&](uint16_t half) { use(double{from_float16(half)}); });
  if (type == DType::bf16)
    for_each_value<uint16_t>(bytes, [&](uint16_t half) { use(double{from_bfloat16(half)}); });
  if (type == DType::f32) for_each_value<float>(bytes, [&](float value) { use(double{value}); });
  if (type == DType::f64) for_each_value<double>(bytes, use);
}

/// Whether none of the words, which are floats, has an exponent of ones only.
template <class Word>
bool have_exponents_below(Word ones, std::span<const std::byte> bytes) {
  Word largest = 0;
  for_each_value<Word>(bytes, [&](Word word) { largest = std::max<Word>(largest, word & ones); });
  return largest < ones;
}

/// Whether no value of this type of floats is infinite or NaN.
bool are_finite(DType type, std::span<const std::byte> bytes) {
  if (type == DType::f16) return have_exponents_below<uint16_t>(0x7c00, bytes);
  if (type == DType::bf16) return have_exponents_below<uint16_t>(0x7f80, bytes);
  if (type == DType::f32) return have_exponents_below<uint32_t>(0x7f800000, bytes);
  return have_exponents_below<uint64_t>(uint64_t{0x7ff} << 52, bytes);
}

/// Makes the tensor's floats those that convert(number) returns, of type `to`.
template <class Convert>
void convert_floats(StoredTensor& tensor, DType to, Convert convert) {
  using To = decltype(convert(0.0));
  const size_t count = tensor.bytes.size() * 8 / static_cast<size_t>(bits_of(tensor.dtype));
  std::vector<std::byte> results(count * sizeof(To));
  std::byte* place = results.data();
  for_each_float(tensor.dtype, tensor.bytes, [&](double number) {
    To result = convert(number);
    std::memcpy(place, &result, sizeof result);
    place += sizeof result;
  });
  tensor.bytes = Bytes(std::move(results));
  tensor.dtype = to;
}

/// Returns the nearest float. Throws when a finite number is beyond its range.
float nearest_float(double number) {
  auto rounded = static_cast<float>(number);
  require(std::isfinite(rounded) || !std::isfinite(number), number, ", beyond the range of F32");
  return rounded;
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

bool is_float(DType type) {
  return type == DType::f16 || type == DType::bf16 || type == DType::f32 || type == DType::f64;
}

bool append_numbers(DType dtype, std::span<const std::byte> bytes, std::vector<double>& numbers) {
  auto append = [&]<class T>(T) {
    for_each_value<T>(bytes, [&](T value) { numbers.push_back(static_cast<double>(value)); });
    return true;
  };
  if (is_float(dtype)) {
    for_each_float(dtype, bytes, [&](double number) { numbers.push_back(number); });
    return true;
  }
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return append(uint8_t{});
    case DType::i8:
      return append(int8_t{});
    case DType::i16:
      return append(int16_t{});
    case DType::u16:
      return append(uint16_t{});
    case DType::i32:
      return append(int32_t{});
    case DType::u32:
      return append(uint32_t{});
    case DType::i64:
      return append(int64_t{});
    case DType::u64:
      return append(uint64_t{});
    default:
      return false;
  }
}

bool is_finite(const StoredTensor& tensor) {
  if (!is_float(tensor.dtype)) return true;
  std::atomic<bool> finite = true;
  std::span<const std::byte> bytes = tensor.bytes;
  constexpr int64_t piece = int64_t{1} << 20;
  parallel_ranges(std::ssize(bytes), piece, [&](int64_t begin, int64_t end) {
    if (!are_finite(tensor.dtype, bytes.subspan(begin, end - begin))) finite = false;
  });
  return finite;
}

std::map<std::string, StoredTensor> in_bfloat16(std::map<std::string, StoredTensor> tensors) {
  auto rounded = [](double number) {
    return to_bfloat16(std::bit_cast<uint32_t>(static_cast<float>(number)));
  };
  return each(std::move(tensors), [&](StoredTensor& tensor) {
    if (tensor.dtype == DType::f32) convert_floats(tensor, DType::bf16, rounded);
  });
}

std::map<std::string, StoredTensor> with_type(std::map<std::string, StoredTensor> tensors,
                                              DType type) {
  return each(std::move(tensors), [&](StoredTensor& tensor) {
    if (!is_float(tensor.dtype) || tensor.dtype == type) return;
    if (type == DType::f64)
      convert_floats(tensor, type, [](double number) { return number; });
    else
      convert_floats(tensor, type, nearest_float);
  });
}

}  // namespace shiftgrad
