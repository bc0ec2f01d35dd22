#include "core/io/float_types.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

using Weights = std::map<std::string, StoredTensor>;

template <class Value>
StoredTensor row_of(DType dtype, const std::vector<Value>& values) {
  auto bytes = std::as_bytes(std::span(values));
  return {dtype, {std::ssize(values)}, std::vector(bytes.begin(), bytes.end())};
}

}  // namespace

TEST_CASE("float types: the nearest, of two the even one; infinities and NaN stay") {
  std::vector<uint32_t> floats = {0x3f800000, 0x3f807fff, 0x3f808000, 0x3f808001, 0x3f818000,
                                  0xbf818000, 0x3fffffff, 0x7f7fffff, 0x7f800000, 0xff800000,
                                  0x7f800001, 0xffffffff, 0x80000000};
  std::vector<uint16_t> halves = {0x3f80, 0x3f80, 0x3f80, 0x3f81, 0x3f82, 0xbf82, 0x4000,
                                  0x7f80, 0x7f80, 0xff80, 0x7fc0, 0xffff, 0x8000};
  Weights rounded = in_bfloat16({{"w", row_of(DType::f32, floats)}});
  CHECK(rounded.at("w") == row_of(DType::bf16, halves));

  std::vector<uint32_t> wide;
  for (uint16_t half : halves) wide.push_back(uint32_t{half} << 16);
  Weights back = with_type(rounded, DType::f32);
  CHECK(back.at("w") == row_of(DType::f32, wide));
  CHECK(in_bfloat16(back) == rounded);
}

TEST_CASE("float types: F16 has all kinds of numbers, and F32 has all of F16") {
  std::vector<uint16_t> halves = {0x0000, 0x8000, 0x0001, 0x03ff, 0x8400, 0x3c00,
                                  0xc000, 0x3555, 0x7bff, 0x7c00, 0xfc00, 0x7e00};
  std::vector<uint32_t> wide = {0x00000000, 0x80000000, 0x33800000, 0x387fc000,
                                0xb8800000, 0x3f800000, 0xc0000000, 0x3eaaa000,
                                0x477fe000, 0x7f800000, 0xff800000, 0x7fc00000};
  CHECK(with_type({{"w", row_of(DType::f16, halves)}}, DType::f32).at("w") ==
        row_of(DType::f32, wide));
}

TEST_CASE("float types: F64 is rounded to nearest, ties to even") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<double> doubles = {0.1, 1 + 0x1p-24, 1 + 0x3p-24, -infinity, 0x1p-149, 0x1p-151};
  std::vector<float> floats = {0.1f, 1, 1 + 0x1p-22f, -infinity, 0x1p-149f, 0};
  CHECK(with_type({{"w", row_of(DType::f64, doubles)}}, DType::f32).at("w") ==
        row_of(DType::f32, floats));
}

TEST_CASE("float types: the numbers of each type that the library knows") {
  auto numbers = []<class T>(DType dtype, std::vector<T> values) {
    std::vector<double> result = {7};
    CHECK(append_numbers(dtype, row_of(dtype, values).bytes, result));
    return result;
  };
  using Numbers = std::vector<double>;
  CHECK(numbers(DType::boolean, std::vector<uint8_t>{0, 1}) == Numbers{7, 0, 1});
  CHECK(numbers(DType::u8, std::vector<uint8_t>{255}) == Numbers{7, 255});
  CHECK(numbers(DType::i8, std::vector<int8_t>{-128}) == Numbers{7, -128});
  CHECK(numbers(DType::u16, std::vector<uint16_t>{65535}) == Numbers{7, 65535});
  CHECK(numbers(DType::i16, std::vector<int16_t>{-2}) == Numbers{7, -2});
  CHECK(numbers(DType::f16, std::vector<uint16_t>{0x3555}) == Numbers{7, 0x1.554p-2});
  CHECK(numbers(DType::bf16, std::vector<uint16_t>{0xbf80}) == Numbers{7, -1});
  CHECK(numbers(DType::u32, std::vector<uint32_t>{0xffffffff}) == Numbers{7, 4294967295.0});
  CHECK(numbers(DType::i32, std::vector<int32_t>{-3}) == Numbers{7, -3});
  CHECK(numbers(DType::f32, std::vector<float>{0.5}) == Numbers{7, 0.5});
  CHECK(numbers(DType::u64, std::vector<uint64_t>{uint64_t{1} << 63}) == Numbers{7, 0x1p63});
  CHECK(numbers(DType::i64, std::vector<int64_t>{-4}) == Numbers{7, -4});
  CHECK(numbers(DType::f64, std::vector<double>{0.1}) == Numbers{7, 0.1});
  for (DType dtype : {DType::f4, DType::f6_e2m3, DType::f6_e3m2, DType::f8_e4m3, DType::f8_e5m2,
                      DType::f8_e8m0, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz, DType::c64}) {
    Numbers none;
    CHECK(!append_numbers(dtype, std::vector<std::byte>(24), none));
    CHECK(none.empty());
  }
}

TEST_CASE("float types: other types stay as they are") {
  Weights others = {{"tokens", row_of<int64_t>(DType::i64, {1, 2})},
                    {"eighths", row_of<uint8_t>(DType::f8_e4m3, {1, 2})}};
  CHECK(in_bfloat16(others) == others);
  CHECK(with_type(others, DType::f32) == others);
  Weights exact = {{"exact", row_of<double>(DType::f64, {0.1})}};
  CHECK(in_bfloat16(exact) == exact);
}

TEST_CASE("float types: a number beyond the range is refused, and F32 becomes F64") {
  Weights far = {{"w", row_of<double>(DType::f64, {1, -1e300})}};
  CHECK(refusal([&] { with_type(far, DType::f32); }) ==
        "tensor \"w\": -1e+300, beyond the range of F32");
  Weights near = {{"w", row_of<float>(DType::f32, {0.1f})}};
  CHECK(with_type(near, DType::f64).at("w") == row_of<double>(DType::f64, {double{0.1f}}));
}

TEST_CASE("float types: finite or not, in each type") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(is_finite(row_of<float>(DType::f32, {1, -2})));
  CHECK_FALSE(is_finite(row_of<float>(DType::f32, {1, infinity})));
  CHECK_FALSE(is_finite(row_of<double>(DType::f64, {-infinity})));
  CHECK_FALSE(is_finite(row_of<double>(DType::f64, {std::numeric_limits<double>::quiet_NaN()})));
  CHECK_FALSE(is_finite(row_of<uint16_t>(DType::bf16, {0x7f80})));
  CHECK_FALSE(is_finite(row_of<uint16_t>(DType::f16, {0x7e00})));
  CHECK(is_finite(row_of<uint16_t>(DType::u16, {0x7e00, 0x7f80})));
  CHECK(is_finite(row_of<float>(DType::f32, {})));
}
