// Dropout in layers, and the recorder of attention's probabilities.

#include <doctest/doctest.h>

#include "ops/shape.h"
#include "tests/support/mismatch.h"
#include "tests/support/models.h"
#include "tests/support/named_parameters.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

Tensor training_logits(const LanguageModel& model, const Tokens& tokens, uint64_t seed,
                       bool training = true) {
  Context context;
  context.training = training;
  context.random.seed = seed;
  return model(tokens, {}, context).logits;
}

}  // namespace

TEST_CASE("every attention layer tells the recorder its probabilities") {
  for (const ModelRow& row : model_rows()) {
    bool attends = row.json.find("attention\"") != std::string::npos || !row.takes_memory;
    if (!attends) continue;
    CAPTURE(row.json);
    RandomValues random(131);
    LanguageModel model = row.make(random);
    std::vector<Tensor> recorded;
    Context context;
    context.recorder = [&](const Tensor& p) { recorded.push_back(p); };
    model(random_tokens(3, 5, 7, 132), {}, context);
    REQUIRE(recorded.size() == 2);
    for (const Tensor& tensor : recorded) {
      CHECK(tensor.shape() == Dims{3, 2, 5, 5});
      Values p(tensor);
      for (int64_t row_at = 0; row_at < 3 * 2 * 5; ++row_at) {
        double total = 0;
        for (int64_t j = 0; j < 5; ++j) {
          double value = p.values[static_cast<size_t>(row_at * 5 + j)];
          CHECK((value > 0) == (j <= row_at % 5));
          total += value;
        }
        CHECK(total == doctest::Approx(1));
      }
    }
  }
}

TEST_CASE("attention dropout takes number ((b H + h) T + i) K + j for query i and key j") {
  // One channel a head, so that y_bhi = Σ_j p_ij · factor_ij · v_j.
  constexpr int64_t B = 2, H = 3, T = 4;
  RandomValues random(133);
  Random start;
  MultiHeadAttention layer({.bias = false, .attention_dropout = 0.4}, {H, H},
                           start);
  randomize(layer, random);
  Values identity({H, H});
  for (int64_t h = 0; h < H; ++h) identity(h, h) = 1;
  assign(layer, "output.weight", identity);
  Tensor x = random.tensor({B, T, H});
  Context context;
  context.training = true;
  context.random.seed = 77;
  Random draws = context.random;
  Values p({B, H, T, T});
  context.recorder = [&](const Tensor& tensor) { p = Values(tensor); };
  Values y(layer.forward(x, {}, context));

  DropoutPattern pattern{77, draws.next_stream(), 0.4};
  std::vector<Scalar> factors(B * H * T * T);
  pattern.factors(0, B * H * T * T, factors.data());
  Values v = linear_oracle(Values(x), Weights(layer)["qkv.weight"], {}), expected({B, T, H});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < T; ++i)
        for (int64_t j = 0; j < T; ++j) {
          auto factor = factors[static_cast<size_t>(((b * H + h) * T + i) * T + j)];
          expected(b, i, h) += p(b, h, i, j) * static_cast<double>(factor) * v(b, j, 2 * H + h);
        }
  CHECK(relative_error(y, expected) <= exactness);
}

TEST_CASE("with a recorder, and so from plain ops, a model gives what its kernels give") {
  for (ModelRow row : model_rows())
    for (double rate : {0.0, 0.4}) {
      CAPTURE(row.json);
      CAPTURE(rate);
      row.config.attention_dropout = rate;
      RandomValues random(136);
      LanguageModel model = row.make(random);
      auto logits = [&](bool recorded) {
        Context context;
        context.training = true;
        context.random.seed = 5;
        if (recorded) context.recorder = [](const Tensor&) {};
        return model(random_tokens(2, 6, 7, 137), {}, context).logits;
      };
      CHECK(relative_error(logits(true), logits(false)) <= exactness);
    }
}

TEST_CASE("dropout acts in training only, repeatably from its seed") {
  for (ModelRow row : model_rows()) {
    CAPTURE(row.json);
    auto make = [&](double dropout, double attention_dropout) {
      row.config.dropout = dropout;
      row.config.attention_dropout = attention_dropout;
      RandomValues random(134);
      return row.make(random);
    };
    Tokens tokens = random_tokens(2, 5, 7, 135);
    LanguageModel plain = make(0, 0), dropping = make(0.3, 0);
    Tensor expected = training_logits(plain, tokens, 1);
    CHECK(same_bits(training_logits(plain, tokens, 1, false), expected));
    CHECK(same_bits(training_logits(dropping, tokens, 1, false), expected));
    CHECK_FALSE(same_bits(training_logits(dropping, tokens, 1), expected));
    CHECK(same_bits(training_logits(dropping, tokens, 1), training_logits(dropping, tokens, 1)));
    CHECK_FALSE(
        same_bits(training_logits(dropping, tokens, 1), training_logits(dropping, tokens, 2)));
    bool attends = row.json.find("attention\"") != std::string::npos || !row.takes_memory;
    LanguageModel of_attention = make(0, 0.3);
    CHECK(same_bits(training_logits(of_attention, tokens, 1), expected) == !attends);
    CHECK(same_bits(training_logits(of_attention, tokens, 1, false), expected));
  }
}

TEST_CASE("a part of a batch has the dropout of its members in the whole") {
  for (ModelRow row : model_rows()) {
    CAPTURE(row.json);
    row.config.dropout = row.config.attention_dropout = 0.3;
    RandomValues random(138);
    LanguageModel model = row.make(random);
    Tokens tokens = random_tokens(5, 6, 7, 139);
    Tensor whole = training_logits(model, tokens, 3);  // [5, 6, V]
    for (auto [first, last] : {std::pair{0, 5}, {0, 2}, {2, 5}, {4, 5}}) {
      Tokens part{{last - first, 6},
                  {tokens.values.begin() + first * 6, tokens.values.begin() + last * 6}};
      Context context{.training = true, .random = {.seed = 3}, .first_member = first};
      CHECK(relative_error(model(part, {}, context).logits, slice(whole, 0, first, last)) <=
            exactness);
      context = {.training = true, .random = {.seed = 3}, .first_member = first + 1};
      CHECK(relative_error(model(part, {}, context).logits, slice(whole, 0, first, last)) > 0.01);
    }
  }
}
