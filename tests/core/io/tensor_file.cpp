#include "core/io/tensor_file.h"

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
