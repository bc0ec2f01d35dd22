#include "core/io/float_types.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

template <class Bits>
StoredTensor stored(DType type, const std::vector<Bits>& values) {
  StoredTensor tensor{type, {std::ssize(values)}, std::vector<std::byte>(values.size() * sizeof(Bits))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

std::vector<float> floats(const StoredTensor& tensor) {
  StoredTensor found = with_type({{"w", tensor}}, DType::f32).at("w");
  CHECK(found.dtype == DType::f32);
  CHECK(found.shape == tensor.shape);
  std::vector<float> values(found.bytes.size() / 4);
  std::memcpy(values.data(), found.bytes.data(), found.bytes.size());
  return values;
}

}  // namespace

TEST_CASE("float types: F16 by its definition") {
  using Bits = std::vector<uint16_t>;
  CHECK(floats(stored(DType::f16, Bits{0x3C00, 0xC000, 0x3555, 0x7BFF, 0x0400, 0x0001, 0x8001})) ==
        std::vector<float>{1, -2, 0.333251953125f, 65504, 0x1p-14f, 0x1p-24f, -0x1p-24f});
  std::vector<float> zeros = floats(stored(DType::f16, Bits{0x0000, 0x8000}));
  CHECK_FALSE(std::signbit(zeros[0]));
  CHECK(std::signbit(zeros[1]));
  std::vector<float> specials = floats(stored(DType::f16, Bits{0x7C00, 0xFC00, 0x7E00}));
  CHECK(specials[0] == std::numeric_limits<float>::infinity());
  CHECK(specials[1] == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(specials[2]));
}

TEST_CASE("float types: BF16 is the upper half of a float, and F64 is rounded") {
  CHECK(floats(stored(DType::bf16, std::vector<uint16_t>{0x3F80, 0xC049, 0x0001})) ==
        std::vector<float>{1, -3.140625f, std::bit_cast<float>(0x00010000u)});
  CHECK(floats(stored(DType::f64, std::vector<double>{0.1, -1e-60})) == std::vector<float>{0.1f, -0.f});
  CHECK(refusal([] { floats(stored(DType::f64, std::vector<double>{1, -1e300})); }) ==
        "tensor \"w\": -1e+300, beyond the range of F32");
}

TEST_CASE("float types: others stay, and F32 becomes F64") {
  StoredTensor whole = stored(DType::i64, std::vector<int64_t>{7});
  CHECK(with_type({{"n", whole}}, DType::f32).at("n") == whole);
  StoredTensor wide = with_type({{"w", stored(DType::f32, std::vector<float>{0.1f})}}, DType::f64).at("w");
  CHECK(wide == stored(DType::f64, std::vector<double>{double{0.1f}}));
}

TEST_CASE("float types: finite or not, in each type") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(is_finite(stored(DType::f32, std::vector<float>{1, -2})));
  CHECK_FALSE(is_finite(stored(DType::f32, std::vector<float>{1, infinity})));
  CHECK_FALSE(is_finite(stored(DType::f64, std::vector<double>{-infinity})));
  CHECK_FALSE(is_finite(stored(DType::f64, std::vector<double>{NAN})));
  CHECK_FALSE(is_finite(stored(DType::bf16, std::vector<uint16_t>{0x7F80})));
  CHECK_FALSE(is_finite(stored(DType::f16, std::vector<uint16_t>{0x7E00})));
  CHECK(is_finite(stored(DType::u16, std::vector<uint16_t>{0x7E00, 0x7F80})));
  CHECK(is_finite(stored(DType::f32, std::vector<float>{})));
}
