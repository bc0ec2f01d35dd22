#include "nn/models/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using test::infinity;

namespace {

/// How often each token was drawn in `draws`.
std::vector<int> counts(const std::vector<Scalar>& logits, const Sampling& sampling, int draws) {
  Random random{.seed = 1};
  std::vector<int> drawn(logits.size());
  for (int n = 0; n < draws; ++n) ++drawn[sample(logits, sampling, random)];
  return drawn;
}

using Doubles = std::vector<double>;

/// p with the tokens that `stays` refuses at 0, and the sum 1.
template <class Stays>
Doubles filtered(const Doubles& p, Stays stays) {
  Doubles result(p.size());
  for (size_t n = 0; n < p.size(); ++n) result[n] = stays(n) ? p[n] : 0;
  double total = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& value : result) value /= total;
  return result;
}

/// The same probabilities, filter by filter and token by token from their definitions.
Doubles expected(const std::vector<Scalar>& logits, const Sampling& sampling) {
  double greatest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  Doubles p;
  for (Scalar x : logits)
    p.push_back(std::exp((static_cast<double>(x) - greatest) / sampling.temperature));
  p = filtered(p, [](size_t) { return true; });
  auto likelier = [&](size_t a, size_t b) { return p[a] > p[b] || (p[a] == p[b] && a < b); };
  auto sum_before = [&](size_t n, auto value) {
    double sum = 0;
    for (size_t other = 0; other < p.size(); ++other) sum += likelier(other, n) ? value(other) : 0;
    return sum;
  };
  if (sampling.top_k > 0)
    p = filtered(p, [&](size_t n) {
      return sum_before(n, [](size_t) { return 1; }) < static_cast<double>(sampling.top_k);
    });
  p = filtered(p, [&](size_t n) {
    return sum_before(n, [&](size_t other) { return p[other]; }) < sampling.top_p ||
           sampling.top_p == 1;
  });
  double most = *std::max_element(p.begin(), p.end());
  return filtered(p, [&](size_t n) { return p[n] >= sampling.min_p * most; });
}

void check_close(const Doubles& actual, const Doubles& wanted) {
  REQUIRE(actual.size() == wanted.size());
  for (size_t n = 0; n < actual.size(); ++n)
    CHECK(actual[n] == doctest::Approx(wanted[n]).epsilon(1e-9));
}

/// As they are drawn, too: no frequency is further than 5 deviations from its probability.
void check_draws(const std::vector<Scalar>& logits, const Sampling& sampling) {
  constexpr int draws = 20000;
  std::vector<int> drawn = counts(logits, sampling, draws);
  Doubles p = probabilities(logits, sampling);
  for (size_t token = 0; token < logits.size(); ++token)
    CHECK(std::abs(drawn[token] - draws * p[token]) <=
          5 * std::sqrt(draws * p[token] * (1 - p[token])));
}

/// Without order, two of them equal.
const std::vector<Scalar> some_logits = {0.3f, 1.5f, -1, 2.25f, 0.75f, 1.5f, -3, 0};

}  // namespace

TEST_CASE("sample: temperature 0 takes the likeliest, the first of equals, and no random number") {
  Random random{.seed = 1};
  Random before = random;
  CHECK(sample(std::vector<Scalar>{1, 3, 2}, {.temperature = 0}, random) == 1);
  CHECK(sample(std::vector<Scalar>{1, 3, 3}, {.temperature = 0}, random) == 1);
  CHECK(random == before);
}

TEST_CASE("sample: draws from softmax(logits / temperature)") {
  std::vector<Scalar> logits = {0, 1, -1, 2};
  constexpr int draws = 20000;
  for (double temperature : {0.5, 1.0, 2.0}) {
    std::vector<int> drawn = counts(logits, {.temperature = temperature}, draws);
    double total = 0;
    for (Scalar logit : logits) total += std::exp(logit / temperature);
    for (size_t token = 0; token < logits.size(); ++token) {
      double p = std::exp(logits[token] / temperature) / total;
      double deviation = std::sqrt(draws * p * (1 - p));
      CHECK(std::abs(drawn[token] - draws * p) < 5 * deviation);
    }
  }
}

TEST_CASE("sample: top_k leaves out all but the likeliest, of equals the first") {
  std::vector<Scalar> logits = {0, 1, 1, 1, 2};
  std::vector<int> drawn = counts(logits, {.temperature = 5, .top_k = 3}, 1000);
  CHECK(drawn[0] == 0);
  CHECK(drawn[1] > 100);
  CHECK(drawn[2] > 100);
  CHECK(drawn[3] == 0);
  CHECK(drawn[4] > 100);
  CHECK(counts(logits, {.top_k = 1}, 10) == std::vector{0, 0, 0, 0, 10});
  CHECK(counts(logits, {.top_k = 99}, 1000) == counts(logits, {}, 1000));
}

TEST_CASE("sample: a tiny temperature and huge logits stay finite") {
  CHECK(counts({1, 2, 3}, {.temperature = 1e-300}, 10) == std::vector{0, 0, 10});
  CHECK(counts({3e38f, -3e38f}, {}, 10) == std::vector{10, 0});
}

TEST_CASE("probabilities: every combination of filters is what their definitions say") {
  for (double temperature : {0.3, 1.0, 2.5})
    for (int64_t top_k : {0, 1, 2, 3, 5, 8, 100})
      for (double top_p : {1e-300, 0.1, 0.5, 0.77, 0.99, 1.0})
        for (double min_p : {0.0, 0.01, 0.2, 0.47, 1.0}) {
          Sampling sampling{
              .temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p};
          check_close(probabilities(some_logits, sampling), expected(some_logits, sampling));
        }
}

TEST_CASE("probabilities: top_p keeps the token that crosses the boundary, and no more") {
  std::vector<Scalar> even(4, 1);
  check_close(probabilities(even, {.top_p = 0.3}), {0.5, 0.5, 0, 0});
  check_close(probabilities(even, {.top_p = 0.5}), {0.5, 0.5, 0, 0});
  check_close(probabilities(even, {.top_p = 0.51}), {1 / 3.0, 1 / 3.0, 1 / 3.0, 0});
  check_close(probabilities(even, {.top_p = 1e-300}), {1, 0, 0, 0});
  check_close(probabilities(even, {.top_p = 1}), {0.25, 0.25, 0.25, 0.25});
}

TEST_CASE("probabilities: top_p works on what top_k left over, min_p on what top_p did") {
  std::vector<Scalar> logits;
  for (double p : {0.4, 0.3, 0.2, 0.1}) logits.push_back(static_cast<Scalar>(std::log(p)));
  // Of 0.4 and 0.3 the first has 4/7, more than a half.
  check_close(probabilities(logits, {.top_k = 2, .top_p = 0.5}), {1, 0, 0, 0});
  check_close(probabilities(logits, {.top_p = 0.71, .min_p = 0.6}),
              expected(logits, {.top_p = 0.71, .min_p = 0.6}));
  CHECK(probabilities(logits, {.top_p = 0.71, .min_p = 0.6})[2] == 0);
  CHECK(probabilities(logits, {.top_p = 0.71, .min_p = 0.6})[1] > 0);
}

TEST_CASE("probabilities: min_p keeps equals of the likeliest even at 1") {
  check_close(probabilities(std::vector<Scalar>{2, 1, 2}, {.min_p = 1}), {0.5, 0, 0.5});
  check_close(probabilities(std::vector<Scalar>(3, 5), {.min_p = 1}), {1 / 3.0, 1 / 3.0, 1 / 3.0});
}

TEST_CASE("probabilities: at temperature 0 the likeliest has all, whatever the filters") {
  for (double top_p : {0.1, 1.0})
    check_close(probabilities(std::vector<Scalar>{1, 3, 3},
                              {.temperature = 0, .top_k = 2, .top_p = top_p, .min_p = 0.5}),
                {0, 1, 0});
}

TEST_CASE("probabilities: a logit of -inf is a token that never comes") {
  std::vector<Scalar> logits = {-infinity, 1, -infinity, 1};
  for (const Sampling& sampling : {Sampling{}, Sampling{.top_k = 3}, Sampling{.top_p = 0.9},
                                   Sampling{.min_p = 0.1}, Sampling{.temperature = 9}})
    check_close(probabilities(logits, sampling), {0, 0.5, 0, 0.5});
  check_close(probabilities(logits, {.temperature = 0}), {0, 1, 0, 0});
  check_close(probabilities(logits, {.repetition_penalty = 2}, std::vector{0, 2}),
              {0, 0.5, 0, 0.5});
  CHECK(counts(logits, {}, 1000)[0] == 0);
}

TEST_CASE(
    "probabilities: the penalty divides a repeated token's logit, or multiplies one below 0") {
  std::vector<Scalar> logits = {3, -1, 0, 2}, penalised = {1.5f, -2, 0, 2};
  std::vector<int32_t> text = {0, 1, 2, 1, 0};
  Sampling with{.temperature = 0.7, .top_k = 3, .repetition_penalty = 2};
  Sampling without{.temperature = 0.7, .top_k = 3};
  check_close(probabilities(logits, with, text), probabilities(penalised, without));
  CHECK(probabilities(logits, without, text) == probabilities(logits, without));
  CHECK(probabilities(logits, with) == probabilities(logits, without));
  Random random;
  CHECK(sample(logits, {.temperature = 0, .repetition_penalty = 2}, random, text) == 3);
}

TEST_CASE("probabilities: the penalty is for the last tokens of the window, 0 for all") {
  std::vector<Scalar> logits = {1, 1, 1};
  std::vector<int32_t> text = {0, 1, 2};
  auto penalised = [&](int64_t window) {
    std::vector<bool> less;
    Sampling sampling{.repetition_penalty = 1.5, .repetition_window = window};
    Doubles p = probabilities(logits, sampling, text);
    for (double one : p) less.push_back(one < *std::max_element(p.begin(), p.end()));
    return less;
  };
  CHECK(penalised(1) == std::vector{false, false, true});
  CHECK(penalised(2) == std::vector{false, true, true});
  logits = {1, 1, 1, 1};
  for (int64_t window : {3, 4, 99, 0})
    CHECK(penalised(window) == std::vector{true, true, true, false});
}

TEST_CASE("probabilities: a penalty beyond all bounds leaves tokens to choose from") {
  std::vector<int32_t> text = {0, 1, 2};
  check_close(
      probabilities(std::vector<Scalar>{5, 2, -infinity}, {.repetition_penalty = 1e-308}, text),
      {0.5, 0.5, 0});
  check_close(
      probabilities(std::vector<Scalar>{-5, -9, -infinity}, {.repetition_penalty = 1e308}, text),
      {0.5, 0.5, 0});
}

TEST_CASE("sample: draws each token with its probability") {
  check_draws(some_logits, {.temperature = 1.5, .top_k = 6});
  check_draws(some_logits, {.top_p = 0.8});
  check_draws(some_logits, {.min_p = 0.15});
  check_draws(some_logits, {.temperature = 2, .top_k = 7, .top_p = 0.9, .min_p = 0.3});
  check_draws(std::vector<Scalar>(5, 3), {.top_p = 0.7});
}

TEST_CASE("sample: what is refused") {
  auto refused = [](const Sampling& sampling, Scalar logit) {
    Random random;
    return refusal([&] { sample(std::vector<Scalar>{0, logit}, sampling, random); });
  };
  CHECK(refused({.temperature = -1}, 0) == "sampling: temperature -1, expected at least 0");
  CHECK(refused({.temperature = NAN}, 0) == "sampling: temperature nan, expected at least 0");
  CHECK(refused({.top_k = -1}, 0) == "sampling: top_k -1, expected at least 0");
  for (double share : {0.0, -0.5, 1.5})
    CHECK(refused({.top_p = share}, 0).starts_with("sampling: top_p "));
  CHECK(refused({.top_p = 0}, 0) == "sampling: top_p 0, expected more than 0 and at most 1");
  CHECK(refused({.top_p = NAN}, 0) == "sampling: top_p nan, expected more than 0 and at most 1");
  CHECK(refused({.min_p = -0.1}, 0) == "sampling: min_p -0.1, expected 0 to 1");
  CHECK(refused({.min_p = 1.1}, 0) == "sampling: min_p 1.1, expected 0 to 1");
  CHECK(refused({.repetition_penalty = 0}, 0) ==
        "sampling: repetition_penalty 0, expected more than 0");
  CHECK(refused({.repetition_penalty = INFINITY}, 0) ==
        "sampling: repetition_penalty inf, expected more than 0");
  CHECK(refused({.repetition_window = -1}, 0) ==
        "sampling: repetition_window -1, expected at least 0");
  for (const Sampling& sampling :
       {Sampling{}, Sampling{.temperature = 0}, Sampling{.top_p = 0.5}}) {
    CHECK(refused(sampling, NAN) == "sampling: a logit is nan, expected finite ones or -inf");
    CHECK(refused(sampling, INFINITY) == "sampling: a logit is inf, expected finite ones or -inf");
  }
  CHECK(refusal([] { probabilities(std::vector<Scalar>(3, -infinity), {}); }) ==
        "sampling: no logit is more than -inf, so no token can be chosen");
}

TEST_CASE("probabilities: the penalty multiplies logits below 0, whatever the filters leave") {
  std::vector<Scalar> logits = {-1, -1, 0.5f};
  Doubles p = probabilities(logits, {.repetition_penalty = 2}, std::vector{0});
  CHECK(p[0] / p[1] == doctest::Approx(std::exp(-1)));
  CHECK(probabilities(logits, {.temperature = 0, .repetition_penalty = 8}, std::vector{2})[2] == 1);
  Random random;
  std::vector<Scalar> negative = {-1, -1.5f};
  CHECK(sample(negative, {.temperature = 0, .repetition_penalty = 2}, random, std::vector{0}) == 1);
}
