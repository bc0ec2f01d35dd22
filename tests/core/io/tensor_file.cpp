#include "core/io/tensor_file.h"

#include <cstring>
#include <limits>

#include "tests/support/refusal.h"

using namespace shiftgrad;

TEST_CASE("tensor file: tensors, tokens and masks there and back") {
  std::vector<Scalar> values{1, 2, 3, 4, 5, 6};
  Tensor tensor = Tensor::from({2, 3}, values);
  Tensor back = loaded_tensor("x", stored(tensor));
  CHECK(back.shape() == tensor.shape());
  CHECK(back.values() == values);

  Tensor transposed = tensor.view(tensor.layout().permute({1, 0}));
  CHECK(loaded_tensor("x", stored(transposed)).values() == std::vector<Scalar>{1, 4, 2, 5, 3, 6});

  Tokens tokens{{2, 1}, {-1, 1 << 30}};
  CHECK(stored(tokens).dtype == DType::i64);
  CHECK(loaded_tokens("tokens", stored(tokens)).values == tokens.values);
  Mask mask{{2}, {0, 1}};
  CHECK(stored(mask).dtype == DType::boolean);
  CHECK(loaded_mask("mask", stored(mask)).values == mask.values);
}

TEST_CASE("tensor file: another type is refused by the tensor's name") {
  bool single = sizeof(Scalar) == 4;
  StoredTensor other{single ? DType::f64 : DType::f32, {0}, {}};
  CHECK(refusal([&] { loaded_tensor("param.w", other); }) ==
        (single ? R"(tensor "param.w": F64, expected F32)"
                : R"(tensor "param.w": F32, expected F64)"));
  CHECK(refusal([&] {
          loaded_mask("m", {DType::u8, {0}, {}});
        }) == R"(tensor "m": U8, expected BOOL)");
  CHECK(refusal([&] {
          loaded_tokens("t", {DType::i32, {0}, {}});
        }) == R"(tensor "t": I32, expected I64)");
  CHECK(refusal([&] {
          loaded_mask("m", {DType::boolean, {3}, std::vector<std::byte>(4)});
        }) == R"(tensor "m": 4 bytes, expected 3)");
  CHECK(refusal([&] {
          loaded_tokens("t", {DType::i64, {1}, std::vector<std::byte>(13)});
        }) == R"(tensor "t": 13 bytes, expected 8)");
  StoredTensor large{DType::i64, {1}, std::vector<std::byte>(8, std::byte{0x7f})};
  CHECK(refusal([&] { loaded_tokens("t", large); }) ==
        R"(tensor "t": a token of 9187201950435737471, expected one of 32 bits)");
}

namespace {

template <class T>
StoredTensor stored_as(DType dtype, const std::vector<T>& values) {
  auto bytes = std::as_bytes(std::span(values));
  return {dtype, {std::ssize(values)}, std::vector(bytes.begin(), bytes.end())};
}

template <class T>
void check_converted(DType dtype, const std::vector<T>& values) {
  CAPTURE(dtype);
  Tensor got = converted_tensor("x", stored_as(dtype, values));
  CHECK(got.shape() == Dims{std::ssize(values)});
  CHECK(got.values() == std::vector<Scalar>(values.begin(), values.end()));
}

}  // namespace

TEST_CASE("tensor file: values of any type of numbers become Scalars") {
  check_converted<uint8_t>(DType::boolean, {0, 1, 1, 0});
  check_converted<uint8_t>(DType::u8, {0, 1, 255});
  check_converted<int8_t>(DType::i8, {-128, 0, 127});
  check_converted<int16_t>(DType::i16, {-32768, 32767});
  check_converted<uint16_t>(DType::u16, {0, 65535});
  check_converted<int32_t>(DType::i32, {-(1 << 24) + 1, (1 << 24) - 1});
  check_converted<uint32_t>(DType::u32, {0, (1 << 24) - 1});
  check_converted<int64_t>(DType::i64, {-(1 << 24) + 1, (1 << 24) - 1});
  check_converted<uint64_t>(DType::u64, {0, (1 << 24) - 1});
  check_converted<float>(DType::f32, {-0.5F, 1.25F, std::numeric_limits<float>::infinity()});
  check_converted<double>(DType::f64, {-0.5, 1.25, -std::numeric_limits<double>::infinity()});
  check_converted<uint8_t>(DType::u8, {});
  CHECK(converted_tensor("x", stored_as<uint16_t>(DType::bf16, {0x3f80, 0xc000})).values() ==
        std::vector<Scalar>{1, -2});
  CHECK(converted_tensor("x", stored_as<uint16_t>(DType::f16, {0x3c00, 0xc000})).values() ==
        std::vector<Scalar>{1, -2});
  // Several pieces.
  std::vector<uint8_t> many(200001);
  for (size_t n = 0; n < many.size(); ++n) many[n] = static_cast<uint8_t>(n % 251);
  check_converted(DType::u8, many);
}

TEST_CASE("tensor file: what no Scalar holds is not converted") {
  bool single = sizeof(Scalar) == 4;
  auto refused = [](const StoredTensor& stored) {
    return refusal([&] { converted_tensor("x", stored); });
  };
  CHECK(refused(stored_as<int64_t>(DType::i64, {int64_t{1} << 53})) ==
        (single ? R"(tensor "x": 9.0072e+15, beyond what F32 holds)"
                : R"(tensor "x": 9.0072e+15, beyond what F64 holds)"));
  if (single)
    CHECK(refused(stored_as<double>(DType::f64, {1e300})) ==
          R"(tensor "x": 1e+300, beyond what F32 holds)");
  CHECK(refused({DType::c64, {1}, std::vector<std::byte>(8)}) ==
        R"(tensor "x": C64, expected numbers)");
  CHECK(refused({DType::u8, {3}, std::vector<std::byte>(2)}) ==
        R"(tensor "x": 2 bytes, expected 3)");
}
