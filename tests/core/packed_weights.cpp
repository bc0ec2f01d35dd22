#include "core/packed_weights.h"

#include <array>

#include "core/errors.h"
#include "core/machine/packed_product.h"
#include "core/random.h"
#include "core/tape.h"
#include "nn/models/generate.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "tests/support/in_bfloat16.h"
#include "tests/support/refusal.h"
#include "tests/support/small_trainings.h"

using namespace shiftgrad;

namespace {

Tensor normal_tensor(const Dims& shape, uint64_t seed) {
  Random random{seed};
  std::vector<Scalar> values(size_t(product(shape)));
  for (Scalar& value : values) value = Scalar(random.normal());
  return Tensor::from(shape, values);
}

/// The packed transpose for a product with so many rows, or null.
const Packed* packed(const Tensor& weight, int64_t rows = 1) {
  const int64_t P = weight.size(0), N = weight.size(1);
  return PackedWeights::transposed(ConstMatrix::row_major(nullptr, rows, N), weight,
                                   Matrix::row_major(nullptr, rows, P));
}

}  // namespace

TEST_CASE("packed weights: parameters and their views, where products round") {
  Tensor weight = normal_tensor({40, 24}, 1).require_gradient();
  CHECK(packed(weight) == nullptr);
  InBfloat16 rounds;
  CHECK(packed(weight) == nullptr);
  PackedWeights weights;
  const Packed* whole = packed(weight);
  CHECK(whole != nullptr);
  CHECK(packed(weight) == whole);
  const Packed* part = packed(slice(weight, 0, 0, 16));
  CHECK(part != nullptr);
  CHECK(part != whole);
  CHECK(packed(slice(weight, 0, 0, 16)) == part);
  CHECK(packed(normal_tensor({40, 24}, 1)) == nullptr);
  CHECK(packed(contiguous(transpose(weight))) == nullptr);
  set_product_precision(Precision::float32);
  CHECK(packed(weight) == nullptr);
}

TEST_CASE("packed weights: linear has the same bits with them, for any number of rows") {
  Tensor weight = normal_tensor({100, 70}, 1).require_gradient(), bias = normal_tensor({100}, 2);
  InBfloat16 rounds;
  for (int64_t rows : {1, 2, 12, 13, 60}) {
    Tensor x = normal_tensor({rows, 70}, 3);
    auto all = [&] {
      return std::array{linear(x, weight, bias).values(), linear(x, weight).values(),
                        linear(x, slice(weight, 0, 30, 60)).values()};
    };
    auto expected = all();
    PackedWeights weights;
    for (int time = 0; time < 2; ++time) CHECK(all() == expected);
  }
}

TEST_CASE("packed weights: floats where products take panels, with the bits of unpacked ones") {
  Tensor weight = normal_tensor({330, 300}, 1).require_gradient(), bias = normal_tensor({330}, 2);
  for (int64_t rows : {1, 8, 16, 17, 60}) {
    CAPTURE(rows);
    Tensor x = normal_tensor({rows, 300}, 3);
    auto both = [&] {
      return std::array{linear(x, weight, bias).values(),
                        linear(x, slice(weight, 0, 30, 330)).values()};
    };
    auto expected = both();
    PackedWeights weights;
    const bool packs = kernel_for({ConstMatrix::row_major(nullptr, rows, 300),
                                   ConstMatrix::row_major(nullptr, rows, 330)}) != nullptr;
    if (rows <= 8) CHECK_FALSE(packs);
    CHECK((packed(weight, rows) != nullptr) == packs);
    for (int time = 0; time < 2; ++time) CHECK(both() == expected);
    if (packs)
      CHECK(refusal([&] { weight.mutable_data(); }) ==
            "in-place write: a tensor of shape [330, 300] is kept by PackedWeights");
  }
}

TEST_CASE("packed weights: a kept weight cannot be written, and the outermost object counts") {
  Tensor weight = normal_tensor({4, 6}, 1).require_gradient(),
         other = normal_tensor({4, 6}, 1).require_gradient();
  InBfloat16 rounds;
  {
    PackedWeights outer;
    const Packed* kept = nullptr;
    {
      PackedWeights inner;
      kept = packed(weight);
    }
    CHECK(packed(weight) == kept);
    CHECK(refusal([&] { weight.mutable_data(); }) ==
          "in-place write: a tensor of shape [4, 6] is kept by PackedWeights");
    other.mutable_data()[0] = 1;
  }
  Tensor x = normal_tensor({1, 6}, 2);
  std::vector<Scalar> before = linear(x, weight).values();
  weight.mutable_data()[0] += 1;
  PackedWeights again;
  CHECK(linear(x, weight).values() != before);
}

TEST_CASE("packed weights: gradients are those without them") {
  Tensor x = normal_tensor({5, 6}, 1).require_gradient();
  InBfloat16 rounds;
  auto gradients = [&] {
    Tensor weight = normal_tensor({4, 6}, 2).require_gradient();
    x.zero_gradient();
    Tape tape;
    Tensor y = linear(x, weight);
    tape.backward(y, normal_tensor({5, 4}, 3));
    return std::array{x.gradient().values(), weight.gradient().values()};
  };
  auto expected = gradients();
  PackedWeights weights;
  CHECK(gradients() == expected);
}

TEST_CASE("packed weights: writing draws from the same logits as a model without them") {
  LanguageModel model = new_model(small_transformer_xl());
  InBfloat16 rounds;
  std::vector<int32_t> written = generate(model, {1, 2, 3}, {.length = 12, .mem_len = 8});
  std::unique_ptr<Cache> cache = model.make_cache(8);
  Context context;
  Tape::Pause constant;
  Random random{};
  std::vector<int32_t> text = {1, 2, 3};
  Tensor logits = model({{1, 3}, {1, 2, 3}}, *cache, context);  // [1, T, V]
  for (size_t n = 0; n < written.size(); ++n) {
    Tensor last = contiguous(select(select(logits, 0, 0), 0, logits.size(1) - 1));  // [V]
    std::span<const Scalar> row(last.data(), size_t(last.count()));
    text.push_back(sample(row, {}, random, text));
    CHECK(text.back() == written[n]);
    logits = model({{1, 1}, {text.back()}}, *cache, context);
  }
}
