#include "ops/embedding.h"

#include "core/machine/parallel.h"
#include "ops/arithmetic.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

struct Case {
  Dims weight;
  Tokens tokens;
};

const std::vector<Case> cases = {
    {{4, 3}, {{}, {2}}},
    {{4, 3}, {{5}, {0, 3, 1, 2, 0}}},
    {{5, 2}, {{2, 3}, {1, 1, 1, 4, 1, 0}}},  // repeated, and two that are never used
    {{1, 1}, {{3}, {0, 0, 0}}},
    {{3, 0}, {{2}, {0, 1}}},
    {{3, 2}, {{2, 0}, {}}},
};

std::vector<OpRow> embedding_rows() {
  std::vector<OpRow> rows;
  for (const auto& [weight, tokens] : cases)
    rows.push_back(
        {text("embedding of ", tokens.shape),
         {weight},
         [tokens = tokens](const std::vector<Tensor>& in) { return embedding(in[0], tokens); },
         [tokens = tokens](const std::vector<Numbers>& in) {
           // y[…, c] = weight[tokens[…], c]
           Dims shape = tokens.shape;
           shape.push_back(in[0].shape[1]);
           Numbers y(shape);
           for (size_t n = 0; n < tokens.values.size(); ++n)
             for (int64_t c = 0; c < in[0].shape[1]; ++c)
               y.values[n * static_cast<size_t>(in[0].shape[1]) + static_cast<size_t>(c)] =
                   in[0](tokens.values[n], c);
           return y;
         }});
  return rows;
}

}  // namespace

TEST_CASE("embedding: values and gradients") { check_rows(embedding_rows()); }

TEST_CASE("embedding: a repeated token gathers all its gradients, an unused one gets 0") {
  Tensor weight = Tensor::zeros({3, 2}).require_gradient();
  Tape tape;
  Tensor y = embedding(weight, {{4}, {2, 0, 2, 2}});
  tape.backward(y, Tensor::from({4, 2}, std::vector<Scalar>{1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(weight.gradient().values() == std::vector<Scalar>{3, 4, 0, 0, 13, 16});
}

TEST_CASE("embedding: a table that is frozen after the forward pass gets no gradient") {
  Tensor weight = Tensor::zeros({3, 2}).require_gradient();
  Tensor x = Tensor::zeros({2}).require_gradient();
  Tape tape;
  Tensor y = embedding(weight, {{2}, {2, 0}}) + x;
  weight.require_gradient(false);
  tape.backward(y, Tensor::full({2, 2}, 1));
  CHECK_FALSE(weight.gradient().defined());
  CHECK(x.gradient().values() == std::vector<Scalar>{2, 2});
}

TEST_CASE("embedding has the same gradient bits whatever the number of threads") {
  RandomValues random(5);
  Tensor weight = random.tensor({100, 7}).require_gradient();
  Tokens tokens{{4000}, {}};
  for (int64_t n = 0; n < 4000; ++n) tokens.values.push_back(static_cast<int32_t>(n * n % 97));
  Tensor cotangent = random.tensor({4000, 7});
  std::vector<Scalar> alone;
  for (int threads : {1, 2, 4}) {
    ThreadLimit limit(threads);
    weight.zero_gradient();
    Tape tape;
    tape.backward(embedding(weight, tokens), cotangent);
    if (threads == 1) alone = weight.gradient().values();
    CHECK(same_bits(weight.gradient().values(), alone));
  }
}

TEST_CASE("embedding refuses what it cannot look up, by name") {
  Tensor weight = Tensor::zeros({4, 3});
  CHECK(refusal([&] {
          embedding(weight, {{2}, {1, 4}});
        }) == "embedding: token 4, expected 0 to 3");
  CHECK(refusal([&] {
          embedding(weight, {{2}, {-1, 1}});
        }) == "embedding: token -1, expected 0 to 3");
  CHECK(refusal([&] {
          embedding(Tensor::zeros({4}), {{1}, {0}});
        }) == "embedding: a weight of [4], expected [V, C]");
  CHECK(refusal([&] {
          embedding(weight, {{2, 3}, {0, 1, 2}});
        }) == "embedding: tokens: 3 values for the shape [2, 3]");
}
