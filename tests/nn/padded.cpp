#include "nn/padded.h"

#include "ops/shape.h"
#include "tests/support/arrangement.h"
#include "tests/support/mismatch.h"
#include "tests/support/random_values.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("pad puts sequences side by side, and says what is padding") {
  RandomValues random(5);
  for (const Dims& rest : {Dims{}, Dims{3}, Dims{2, 3}}) {
    std::vector<Tensor> sequences;
    for (int64_t length : {2, 4, 1}) {
      Dims shape = rest;
      shape.insert(0, length);
      sequences.push_back(random.tensor(shape));
    }
    Padded<Tensor> got = pad(sequences, 7);
    Dims expected = rest;
    expected.insert(0, 4);
    expected.insert(0, 3);
    REQUIRE(got.values.shape() == expected);
    CHECK(got.lengths() == std::vector<int64_t>{2, 4, 1});
    CHECK(got.mask->shape == Dims{3, 4});
    CHECK(got.mask->values == std::vector<uint8_t>{0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1});
    for (size_t n = 0; n < 3; ++n) {
      Tensor row = select(got.values, 0, static_cast<int64_t>(n));
      int64_t length = sequences[n].size(0);
      CHECK(same_bits(contiguous(slice(row, 0, 0, length)), sequences[n]));
      for (Scalar fill : slice(row, 0, length, 4).values()) CHECK(fill == 7);
    }
    Tensor weights = got.weights();
    Dims of_weights{3, 4};
    for (int64_t axis = 0; axis < rest.size(); ++axis) of_weights.push_back(1);
    CHECK(weights.shape() == of_weights);
    CHECK(weights.values() == std::vector<Scalar>{1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0});
  }
}

TEST_CASE("sequences of one length need no mask") {
  Padded<Tensor> got = pad({Tensor::full({2, 3}, 1), Tensor::full({2, 3}, 2)});
  CHECK_FALSE(got.mask);
  CHECK(got.lengths() == std::vector<int64_t>{2, 2});
  CHECK(got.weights().values() == std::vector<Scalar>(4, 1));
  CHECK_FALSE(pad({{1, 2}, {3, 4}}).mask);
}

TEST_CASE("pad takes views, and what it makes learns nothing") {
  Tensor x = RandomValues(5).tensor({3, 5}).require_gradient();
  Tape tape;
  Padded<Tensor> got = pad({transpose(x), slice(transpose(x), 0, 1, 3)});
  CHECK(got.values.shape() == Dims{2, 5, 3});
  CHECK_FALSE(got.values.requires_gradient());
  CHECK(same_bits(contiguous(select(got.values, 0, 0)), contiguous(transpose(x))));
}

TEST_CASE("pad of texts fills up to the longest, and to at least one token") {
  Padded<Tokens> ragged = pad({{1, 2}, {}, {3}}, 7);
  CHECK(ragged.values.shape == Dims{3, 2});
  CHECK(ragged.values.values == std::vector<int32_t>{1, 2, 7, 7, 3, 7});
  CHECK(ragged.mask->values == std::vector<uint8_t>{0, 0, 1, 1, 0, 1});
  CHECK(ragged.lengths() == std::vector<int64_t>{2, 0, 1});
  CHECK(ragged.weights().shape() == Dims{3, 2});
  CHECK(pad(std::vector<std::vector<int32_t>>(2)).values.shape == Dims{2, 1});
  CHECK(pad(std::vector<std::vector<int32_t>>{}).values.shape == Dims{0, 1});
}

TEST_CASE("pad refuses sequences that do not fit together") {
  Tensor one = Tensor::zeros({4, 2});
  auto refused = [&](const std::vector<Tensor>& sequences) {
    return refusal([&] { pad(sequences); });
  };
  CHECK(refused({}) == "pad: no sequence, expected at least 1");
  CHECK(refused({one, Tensor::zeros({3, 3})}) ==
        "pad: sequence 1 of shape [3, 3], expected [T, …] as sequence 0, [4, 2]");
  CHECK(refused({one, Tensor::zeros({3})}) ==
        "pad: sequence 1 of shape [3], expected [T, …] as sequence 0, [4, 2]");
  CHECK(refused({Tensor::zeros({})}) ==
        "pad: sequence 0 of shape [], expected [T, …] as sequence 0, []");
  CHECK(refused({one, Tensor()}) == "pad: sequence 1 is undefined");
  CHECK(refused({Tensor()}) == "pad: sequence 0 is undefined");
  CHECK(refused({one, Tensor::zeros({0, 2})}) ==
        "pad: sequence 1 is empty, expected at least 1 element");
}
