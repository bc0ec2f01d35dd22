// Mistakes of blog posts and repositories in attention itself. Each wrong form, written out, is
// another function than the layer, which its right form is; most of them still learn something.

#include <doctest/doctest.h>

#include "tests/support/layer_rows.h"
#include "tests/support/mismatch.h"
#include "tests/support/named_parameters.h"
#include "tests/support/oracles/blocks.h"
#include "tests/support/small_mixers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// A wrong form is not close to the layer by accident.
constexpr double another = 1e-2;

constexpr int64_t tokens_fed = 5, width_fed = 6, heads_fed = 2, head_width = 3;

/// A causal layer of plain attention, and tokens for it.
struct Attending {
  RandomValues random;
  Sized<MultiHeadAttentionConfig> config{{}, {width_fed, heads_fed}};
  MultiHeadAttention layer = random_layer(config, random);
  Weights weights{layer};
  Input input = random_input({1, tokens_fed, 0}, width_fed, random);

  explicit Attending(uint64_t seed) : random(seed) {}

  double error(const Values& other) const { return relative_error(run(layer, input), other); }
};

double scaled_content(const Pair& pair) { return pair.content() / std::sqrt(double(head_width)); }

}  // namespace

TEST_CASE("scores of queries against queries") {
  Attending right(61);
  // The rows of the keys are those of the queries.
  Weights wrong = right.weights;
  for (const char* name : {"qkv.weight", "qkv.bias"}) {
    std::vector<double>& rows = wrong.all[name].values;
    size_t third = rows.size() / 3;
    std::copy_n(rows.begin(), third, rows.begin() + static_cast<std::ptrdiff_t>(third));
  }
  AttentionRule rule{heads_fed, head_width};
  CHECK(right.error(attention_oracle(rule, right.weights, right.input, scaled_content)) <=
        exactness);
  CHECK(right.error(attention_oracle(rule, wrong, right.input, scaled_content)) > another);
}

TEST_CASE("a mask that takes the place of the scores makes a mean of the past") {
  Attending right(62);
  auto mask_itself = [](const Pair&) { return 1.0; };
  Values wrong = attention_oracle({heads_fed, head_width}, right.weights, right.input, mask_itself);
  CHECK(right.error(wrong) > another);
  // It does not depend on queries and keys at all.
  Weights others = right.weights;
  std::vector<double>& rows = others.all["qkv.weight"].values;
  for (size_t n = 0; n < rows.size() * 2 / 3; ++n) rows[n] += 1;
  Values same = attention_oracle({heads_fed, head_width}, others, right.input, mask_itself);
  CHECK(same.values == wrong.values);
}

TEST_CASE(
    "a softmax over the heads lets them compete for a key, and a query's weights have any sum") {
  Attending right(63);
  Values all = linear_oracle(right.input.x, right.weights["qkv.weight"], right.weights["qkv.bias"]);
  auto score = [&](int64_t h, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t d = 0; d < head_width; ++d)
      sum += all(0, i, h * head_width + d) * all(0, j, width_fed + h * head_width + d);
    return std::exp(sum / std::sqrt(double(head_width)));
  };
  // p[h, i, j] over the heads, or over the visible keys.
  auto attended = [&](bool over_heads, double& sum_of_first) {
    Values merged({1, tokens_fed, width_fed});
    for (int64_t h = 0; h < heads_fed; ++h)
      for (int64_t i = 0; i < tokens_fed; ++i) {
        double keys = 0;
        for (int64_t j = 0; j <= i; ++j) keys += score(h, i, j);
        for (int64_t j = 0; j <= i; ++j) {
          double heads = score(0, i, j) + score(1, i, j);
          double p = score(h, i, j) / (over_heads ? heads : keys);
          if (i == 0 && h == 0) sum_of_first = p;
          for (int64_t d = 0; d < head_width; ++d)
            merged(0, i, h * head_width + d) += p * all(0, j, 2 * width_fed + h * head_width + d);
        }
      }
    return linear_oracle(merged, right.weights["output.weight"], right.weights["output.bias"]);
  };
  double alone = 0, competing = 0;
  CHECK(right.error(attended(false, alone)) <= exactness);
  CHECK(right.error(attended(true, competing)) > another);
  CHECK(alone == doctest::Approx(1));  // the first token has one key
  CHECK(competing < 0.99);
}

TEST_CASE("a prompt fed through a cache without the causal mask: one layer's last token is right") {
  Attending right(64);
  Tensor y = run(right.layer, right.input);
  Values wrong =
      attention_oracle({heads_fed, head_width, false}, right.weights, right.input, scaled_content);
  auto row_error = [&](int64_t i) {
    double error = 0;
    for (int64_t c = 0; c < width_fed; ++c)
      error = std::max(error, std::abs(Values(y)(0, i, c) - wrong(0, i, c)));
    return error;
  };
  CHECK(row_error(tokens_fed - 1) <= 10 * exactness);
  // A second layer makes keys and values of the others, so there nothing is right any more.
  for (int64_t i = 0; i + 1 < tokens_fed; ++i) CHECK(row_error(i) > another);
}

TEST_CASE("a layer without a mask reads the tokens that it is to predict") {
  for (const MixerConfig& mixer : small_mixers(tokens_fed)) {
    if (!sees_both_ways(mixer)) continue;
    CAPTURE(std::string(type_of(mixer)));
    RandomValues random(65);
    Random start;
    Width width = width_for(mixer, width_fed, heads_fed);
    auto causal = make_mixer(mixer, width, start);
    auto unmasked = make_mixer(with_direction(mixer, false, "unmasked"), width, start);
    randomize(*unmasked, random);
    assign_shared(*causal, *unmasked);
    Input input = random_input({1, tokens_fed, 0}, width_fed, random);
    Values right(run(*causal, input)), wrong(run(*unmasked, input));
    CHECK(relative_error(right.tensor(), wrong) > another);
    input.x(0, tokens_fed - 1, 0) += 1;
    int64_t before = tokens_fed - 2;  // the token to which the last one is told
    CHECK(std::abs(Values(run(*unmasked, input))(0, before, 0) - wrong(0, before, 0)) > exactness);
    Values after(run(*causal, input));
    CHECK(std::equal(right.values.begin(), right.values.end() - width_fed, after.values.begin()));
  }
}

TEST_CASE("two-way skewing of the wrong query, and a diagonal that counts twice") {
  RandomValues random(66);
  Sized config{RelativeGlobalAttentionConfig{.max_seq = 8, .causal = false},
               {width_fed, heads_fed}};
  config.relative_bias = false;
  auto layer = random_layer(config, random);
  Weights weights(layer);
  Input input = random_input({1, tokens_fed, 0}, width_fed, random);
  Values all = linear_oracle(input.x, weights["qkv.weight"], weights["qkv.bias"]);
  enum class Form { right, diagonal_twice, query_of_key };
  auto with = [&](Form form) {
    auto score = [&](const Pair& pair) {
      int64_t delta = pair.delta(), row = config.max_seq - 1 - std::abs(delta);
      int64_t asking = form == Form::query_of_key && delta < 0 ? pair.key : pair.query;
      double sum = pair.content();
      for (int64_t d = 0; d < head_width; ++d) {
        double q = all(0, asking, pair.h * head_width + d);
        if (delta >= 0) sum += q * weights["past_embeddings"](pair.h, row, d);
        if (delta < 0 || (delta == 0 && form == Form::diagonal_twice))
          sum += q * weights["future_embeddings"](pair.h, row, d);
      }
      return sum / std::sqrt(double(head_width));
    };
    Values other = attention_oracle({heads_fed, head_width, false}, weights, input, score);
    return relative_error(run(layer, input), other);
  };
  CHECK(with(Form::right) <= exactness);
  CHECK(with(Form::diagonal_twice) > another);
  CHECK(with(Form::query_of_key) > another);
}
