#include "examples/char_lm/bfloat16_weights.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using char_lm::Weights;
using shiftgrad::DType;
using shiftgrad::StoredTensor;

namespace {

template <class Value>
StoredTensor row_of(DType dtype, const std::vector<Value>& values) {
  StoredTensor tensor{dtype, {std::ssize(values)}, {}};
  tensor.bytes.resize(values.size() * sizeof(Value));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

}  // namespace

TEST_CASE("bfloat16 weights: the nearest, of two the even one; infinities and NaN stay") {
  std::vector<uint32_t> floats = {0x3f800000, 0x3f807fff, 0x3f808000, 0x3f808001, 0x3f818000,
                                  0xbf818000, 0x3fffffff, 0x7f7fffff, 0x7f800000, 0xff800000,
                                  0x7f800001, 0xffffffff, 0x80000000};
  std::vector<uint16_t> halves = {0x3f80, 0x3f80, 0x3f80, 0x3f81, 0x3f82, 0xbf82, 0x4000,
                                  0x7f80, 0x7f80, 0xff80, 0x7fc0, 0xffff, 0x8000};
  Weights rounded = char_lm::in_bfloat16({{"w", row_of(DType::f32, floats)}});
  CHECK(rounded.at("w") == row_of(DType::bf16, halves));

  std::vector<uint32_t> wide;
  for (uint16_t half : halves) wide.push_back(uint32_t{half} << 16);
  Weights back = char_lm::in_float32(rounded);
  CHECK(back.at("w") == row_of(DType::f32, wide));
  CHECK(char_lm::in_bfloat16(back) == rounded);
}

TEST_CASE("bfloat16 weights: other types stay as they are") {
  Weights others = {{"tokens", row_of<int64_t>(DType::i64, {1, 2})},
                    {"exact", row_of<double>(DType::f64, {0.1})}};
  CHECK(char_lm::in_bfloat16(others) == others);
  CHECK(char_lm::in_float32(others) == others);
}
