// The traps that public implementations fell into: each wrong form, written out, is another
// function than the layer, which its right form is.

#include <doctest/doctest.h>

#include "ops/shift.h"
#include "tests/support/layer_rows.h"
#include "tests/support/mismatch.h"
#include "tests/support/named_parameters.h"
#include "tests/support/oracles/blocks.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// A wrong form is not close to the layer by accident.
constexpr double far = 1e-2;

/// Transformer-XL's score with rows R of the caller's making, [K, C] by distance.
Values transformer_xl_with(const Weights& weights, const Input& input, int64_t H,
                           const std::function<std::vector<double>(int64_t delta)>& R) {
  int64_t C = input.C(), D = C / H;
  auto score = [&](const Pair& pair) {
    std::vector<double> row = R(pair.delta());
    double sum = 0;
    for (int64_t d = 0; d < D; ++d) {
      double r = 0, q = pair.q[static_cast<size_t>(d)], k = pair.k[static_cast<size_t>(d)];
      for (int64_t c = 0; c < C; ++c)
        r += weights["position.weight"](pair.h * D + d, c) * row[static_cast<size_t>(c)];
      sum += (q + weights["content_bias"](pair.h, d)) * k;
      sum += (q + weights["position_bias"](pair.h, d)) * r;
    }
    return sum / std::sqrt(static_cast<double>(D));
  };
  return attention_oracle({H, D}, weights, input, score);
}

}  // namespace

TEST_CASE("labml: a table cut by the queries alone is off by the memory") {
  RandomValues random(51);
  Sized config{RelativeMultiHeadAttentionConfig{.max_positions = 20}, {6, 2}};
  auto layer = random_layer(config, random);
  Weights weights(layer);
  for (int64_t M : {0, 4}) {
    Input input = random_input({2, 5, M}, 6, random);
    // What the wrong slice gives distance δ is the row of δ - M.
    auto wrong = [&](const Pair& pair) {
      int64_t row = config.max_positions - (pair.delta() - M);
      double sum = weights["key_pos_bias"](row, pair.h);
      for (int64_t d = 0; d < 3; ++d) {
        double q = pair.q[static_cast<size_t>(d)], k = pair.k[static_cast<size_t>(d)];
        sum += (q + weights["query_pos_bias"](pair.h, d)) * k;
        sum += q * weights["key_pos_embeddings"](row, pair.h, d);
      }
      return sum / std::sqrt(3.0);
    };
    auto value_bias = [&](const Pair& pair, int64_t d) {
      return weights["value_bias"](pair.h * 3 + d);
    };
    Values other = attention_oracle({2, 3}, weights, input, wrong, value_bias);
    double error = relative_error(run(layer, input), other);
    CHECK((M == 0 ? error <= exactness : error > far));
  }
}

TEST_CASE("labml: a comment on its shift says [9, 0, 7] where its code gives [6, 0, 7]") {
  // The row of the comment comes from a shift that wraps each padded row into itself. The code's
  // zero and what is left of it come from the row above. Neither is a score, and a mask hides both.
  Tensor x = Tensor::from({3, 3}, {{1, 2, 3, 4, 5, 6, 7, 8, 9}});
  Values padded(pad_right(x)), code(shift_right(x)), comment({3, 3});
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      comment(i, j) = padded(i, (j - i + 4) % 4);
      if (j >= i) CHECK(comment(i, j) == code(i, j));
    }
  CHECK(comment.values == std::vector<double>{1, 2, 3, 0, 4, 5, 9, 0, 7});
  CHECK(code.values == std::vector<double>{1, 2, 3, 0, 4, 5, 6, 0, 7});
}

TEST_CASE("Transformer-XL: clamping one off, interleaved sinusoids, angles without a sine") {
  RandomValues random(52);
  Sized config{TransformerXLAttentionConfig{.clamp_len = 3}, {8, 2}};
  auto layer = random_layer(config, random);
  Weights weights(layer);
  Input input = random_input({2, 4, 5}, 8, random);
  Tensor y = run(layer, input);
  for (int64_t clamp : {2, 3, 4}) {
    CAPTURE(clamp);
    Values other = transformer_xl_with(weights, input, 2, [clamp](int64_t delta) {
      return sinusoid_row(std::min(delta, clamp), 8);
    });
    double error = relative_error(y, other);
    CHECK((clamp == 3 ? error <= exactness : error > far));
  }
  Values interleaved = transformer_xl_with(weights, input, 2, [](int64_t delta) {
    std::vector<double> halves = sinusoid_row(std::min<int64_t>(delta, 3), 8), pairs(8);
    for (size_t n = 0; n < 4; ++n) {
      pairs[2 * n] = halves[n];
      pairs[2 * n + 1] = halves[4 + n];
    }
    return pairs;
  });
  CHECK(relative_error(y, interleaved) > far);
  // The angles themselves: a straight line of the distance, without a bound.
  Values angles = transformer_xl_with(weights, input, 2, [](int64_t delta) {
    std::vector<double> row(8);
    for (int64_t n = 0; n < 4; ++n)
      row[n] = row[4 + n] = static_cast<double>(std::min<int64_t>(delta, 3)) *
                            std::pow(10000.0, -2.0 * static_cast<double>(n) / 8);
    return row;
  });
  CHECK(relative_error(y, angles) > far);
}

TEST_CASE("Shaw: clipping without adding k reads the table from its end") {
  RandomValues random(53);
  Sized config{ShawAttentionConfig{.max_distance = 2, .value_positions = false}, {6, 2}};
  auto layer = random_layer(config, random);
  Weights weights(layer);
  Input input = random_input({2, 4, 3}, 6, random);
  for (int64_t added : {0, 2}) {
    CAPTURE(added);
    Values other = attention_oracle({2, 3}, weights, input, [&](const Pair& pair) {
      int64_t row = (std::clamp<int64_t>(-pair.delta(), -2, 2) + added + 5) % 5;
      double sum = pair.content();
      for (int64_t d = 0; d < 3; ++d)
        sum += pair.q[static_cast<size_t>(d)] * weights["key_distance_embeddings"](row, d);
      return sum / std::sqrt(3.0);
    });
    double error = relative_error(run(layer, input), other);
    CHECK((added == 2 ? error <= exactness : error > far));
  }
}

TEST_CASE("Music: without a mask the skewed scores of the future are wrapped values") {
  RandomValues random(54);
  Tensor scores = random.tensor({4, 4});  // of queries against distances 3 … 0
  Values by_distance(scores), skewed(rel_shift(scores));
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j) {
      if (j <= i) CHECK(skewed(i, j) == by_distance(i, 3 - (i - j)));
      if (j == i + 1) CHECK(skewed(i, j) == 0);
      if (j > i + 1) CHECK(skewed(i, j) == by_distance(i + 1, j - i - 2));
    }
}

TEST_CASE("masks added as -inf give NaN for a query without keys, and as -1e9 let it see them") {
  const double minus_infinity = -std::numeric_limits<double>::infinity();
  auto softmax_of_masked = [](double mask) {
    std::vector<double> scores{0.3 + mask, -0.2 + mask}, p;
    double maximum = std::max(scores[0], scores[1]), total = 0;
    for (double s : scores) total += std::exp(s - maximum);
    for (double s : scores) p.push_back(std::exp(s - maximum) / total);
    return p;
  };
  CHECK(std::isnan(softmax_of_masked(minus_infinity)[0]));
  CHECK(softmax_of_masked(-1e9)[0] > 0.5);

  RandomValues random(55);
  auto layer = random_layer(Sized{MultiHeadAttentionConfig{}, {4, 1}}, random);
  assign(layer, "output.bias", 0);
  Input input = random_input({1, 2, 0}, 4, random);
  input.padding = std::make_shared<Mask>(Mask{{1, 2}, {1, 1}});
  CHECK(greatest(Values(run(layer, input))) == 0);
}

TEST_CASE("AFT: a maximum over all keys shows the past what comes, and drowns it") {
  // One channel: k_0 … k_3 and the query at 1.
  auto with_common_maximum = [](const std::vector<Scalar>& k, const std::vector<Scalar>& v) {
    Scalar maximum = *std::max_element(k.begin(), k.end()), above = 0, below = 0;
    for (size_t j = 0; j < 2; ++j) {
      above += std::exp(k[j] - maximum) * v[j];
      below += std::exp(k[j] - maximum);
    }
    return above / below;
  };
  std::vector<Scalar> v{Scalar(0.3), Scalar(-0.7), 1, 1};
  auto wrong = [&](Scalar future) {
    return with_common_maximum({Scalar(0.1), Scalar(0.4), Scalar(0.2), future}, v);
  };
  bool leaked = false;
  for (double future : {0.5, 1.1, 1.7, 2.3, 3.1})
    leaked = leaked || wrong(static_cast<Scalar>(future)) != wrong(0);
  CHECK(leaked);
  CHECK(std::isnan(wrong(1e4)));

  RandomValues random(56);
  auto layer =
      random_layer(Sized{AftConfig{.form = AftForm::simple, .bias = false}, {2}}, random);
  Input input = random_input({1, 4, 0}, 2, random);
  Tensor before = run(layer, input);
  for (double future : {0.5, 1.1, 1.7, 2.3, 3.1, 1e4}) {
    input.x(0, 3, 0) = input.x(0, 3, 1) = future;
    std::vector<Scalar> a = run(layer, input).values(), b = before.values();
    CHECK(std::equal(a.begin(), a.begin() + 6, b.begin()));
  }
}

TEST_CASE("AFT conv: all keys minus the taps loses its digits") {
  RandomValues random(57);
  Sized config{AftConfig{.form = AftForm::conv, .window = 2, .bias = false}, {2, 1}};
  auto layer = random_layer(config, random);
  assign(layer, "kernel_gain", 0);
  assign(layer, "kernel_offset", -80);
  // The keys of the taps are large, but their biases make them small.
  Input input = random_input({1, 5, 0}, 2, random);
  Weights weights(layer);
  for (int64_t t = 0; t < 5; ++t) {
    double k = 0;
    for (int64_t c = 0; c < 2; ++c) k += weights["key.weight"](0, c) * input.x(0, t, c);
    for (int64_t c = 0; c < 2; ++c) input.x(0, t, c) *= (t >= 3 ? 70 : 1) / k;
  }
  input.x = Values(input.x.tensor());  // as the layer sees it
  Values right = oracle(config, weights, input);

  Values k = linear_oracle(input.x, weights["key.weight"], {});
  Values v = linear_oracle(input.x, weights["value.weight"], {});
  Values q = linear_oracle(input.x, weights["query.weight"], {});
  Values mixed({1, 1, 2});
  for (int64_t c = 0; c < 2; ++c) {
    Scalar above = 0, below = 0;
    for (int64_t j = 0; j < 5; ++j) {
      auto weight = static_cast<Scalar>(std::exp(k(0, j, 0) - 70));
      above += weight * static_cast<Scalar>(v(0, j, c));
      below += weight;
    }
    for (int64_t j = 3; j < 5; ++j) {
      auto weight = static_cast<Scalar>(std::exp(k(0, j, 0) - 70) * (std::exp(-80) - 1));
      above += weight * static_cast<Scalar>(v(0, j, c));
      below += weight;
    }
    mixed(0, 0, c) = sigmoid(q(0, 4, c)) * static_cast<double>(above / below);
  }
  Values wrong = linear_oracle(mixed, weights["output.weight"], {});
  Values last({1, 1, 2});
  for (int64_t c = 0; c < 2; ++c) last(0, 0, c) = right(0, 4, c);
  CHECK_FALSE(relative_error(wrong, last) <= far);
  CHECK(relative_error(run(layer, input), right) <= exactness);
}

TEST_CASE("LocalRNN: shorter windows for the first tokens are another function") {
  RandomValues random(58);
  Sized config{LocalRnnConfig{.window = 3, .cell = RecurrentCell::gru}, {3}};
  auto layer = random_layer(config, random);
  Weights weights(layer);
  Input input = random_input({1, 1, 0}, 3, random);
  std::vector<double> h(3), c(3);
  cell_step(RecurrentCell::gru, weights, {input.x(0, 0, 0), input.x(0, 0, 1), input.x(0, 0, 2)}, h,
            c);
  Values shorter({1, 1, 3});
  shorter.values = h;
  CHECK(relative_error(run(layer, input), shorter) > far);
}
