#include "nn/sampling.h"

#include <cmath>
#include <limits>
#include <vector>

#include "refusal.h"

using namespace shiftgrad;

namespace {

/// How often each token was drawn in `draws`.
std::vector<int> counts(const std::vector<Scalar>& logits, const Sampling& sampling, int draws) {
  Random random{.seed = 1};
  std::vector<int> drawn(logits.size());
  for (int n = 0; n < draws; ++n) ++drawn[sample(logits, sampling, random)];
  return drawn;
}

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

TEST_CASE("sample: what is refused") {
  auto refused = [](const Sampling& sampling, Scalar logit) {
    Random random;
    return refusal([&] { sample(std::vector<Scalar>{0, logit}, sampling, random); });
  };
  CHECK(refused({.temperature = -1}, 0) == "sampling: temperature -1, expected at least 0");
  CHECK(refused({.temperature = NAN}, 0) == "sampling: temperature nan, expected at least 0");
  CHECK(refused({.top_k = -1}, 0) == "sampling: top_k -1, expected at least 0");
  CHECK(refused({}, NAN) == "sampling: a logit is nan, expected finite ones");
  CHECK(refused({}, INFINITY) == "sampling: a logit is inf, expected finite ones");
}
