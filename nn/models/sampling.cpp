#include "nn/models/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// A token that may be chosen, and its probability as a multiple of the likeliest token's.
struct Candidate {
  int32_t token;
  double weight;
};

/// Returns the logits after `text`, with the repetition penalty. Finite logits stay finite.
std::vector<double> penalised(std::span<const Scalar> logits, const Sampling& sampling,
                              std::span<const int32_t> text) {
  constexpr double greatest = std::numeric_limits<double>::max();
  std::vector<double> result(logits.begin(), logits.end());
  if (sampling.repetition_penalty == 1) return result;
  auto window = static_cast<size_t>(sampling.repetition_window);
  if (window > 0 && window < text.size()) text = text.last(window);
  for (int32_t token : text) {
    auto x = static_cast<double>(logits[token]);
    if (std::isinf(x)) continue;
    double less = x < 0 ? x * sampling.repetition_penalty : x / sampling.repetition_penalty;
    result[token] = std::clamp(less, -greatest, greatest);
  }
  return result;
}

double total_weight(const std::vector<Candidate>& candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  return total;
}

/// Returns how many candidates, the likeliest first, are needed to reach `share` of their sum.
int64_t nucleus(const std::vector<Candidate>& candidates, double share) {
  double enough = share * total_weight(candidates), sum = 0;
  int64_t count = 0;
  while (count < std::ssize(candidates) && sum < enough) sum += candidates[count++].weight;
  return count;
}

void check_logits(std::span<const Scalar> logits) {
  constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
  for (Scalar logit : logits)
    require(logit < infinity, "sampling: a logit is ", logit, ", expected finite ones or -inf");
  require(std::any_of(logits.begin(), logits.end(), [](Scalar x) { return x > -infinity; }),
          "sampling: no logit is more than -inf, so no token can be chosen");
}

/// Returns the candidates that the filters leave. Only top_k and top_p sort them, the likeliest
/// first, since sorting takes longer than all the rest.
std::vector<Candidate> candidates(std::span<const Scalar> logits, const Sampling& sampling,
                                  std::span<const int32_t> text) {
  check(sampling);
  check_logits(logits);
  std::vector<double> x = penalised(logits, sampling, text);
  auto greatest = std::max_element(x.begin(), x.end());
  if (sampling.temperature == 0) return {{static_cast<int32_t>(greatest - x.begin()), 1}};
  std::vector<int32_t> tokens(x.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  int64_t all = std::ssize(x), count = sampling.top_k > 0 ? std::min(sampling.top_k, all) : all;
  if (count < all || sampling.top_p < 1)
    std::partial_sort(
        tokens.begin(), tokens.begin() + count, tokens.end(),
        [&](int32_t a, int32_t b) { return std::pair(-x[a], a) < std::pair(-x[b], b); });
  tokens.resize(count);
  std::vector<Candidate> left;
  left.reserve(tokens.size());
  for (int32_t token : tokens) {
    double weight = std::exp((x[token] - *greatest) / sampling.temperature);
    if (weight > 0) left.push_back({token, weight});
  }
  if (sampling.top_p < 1) left.erase(left.begin() + nucleus(left, sampling.top_p), left.end());
  std::erase_if(left, [&](const Candidate& one) { return one.weight < sampling.min_p; });
  return left;
}

}  // namespace

void check(const Sampling& sampling) {
  auto expect = [](bool allowed, const char* name, auto value, const char* expected) {
    require(allowed, "sampling: ", name, " ", value, ", expected ", expected);
  };
  const auto& [temperature, top_k, top_p, min_p, penalty, window] = sampling;
  expect(temperature >= 0 && std::isfinite(temperature), "temperature", temperature, "at least 0");
  expect(top_k >= 0, "top_k", top_k, "at least 0");
  expect(0 < top_p && top_p <= 1, "top_p", top_p, "more than 0 and at most 1");
  expect(0 <= min_p && min_p <= 1, "min_p", min_p, "0 to 1");
  expect(penalty > 0 && std::isfinite(penalty), "repetition_penalty", penalty, "more than 0");
  expect(window >= 0, "repetition_window", window, "at least 0");
}

std::vector<double> probabilities(std::span<const Scalar> logits, const Sampling& sampling,
                                  std::span<const int32_t> text) {
  std::vector<Candidate> left = candidates(logits, sampling, text);
  double total = total_weight(left);
  std::vector<double> result(logits.size());
  for (auto [token, weight] : left) result[token] = weight / total;
  return result;
}

int32_t sample(std::span<const Scalar> logits, const Sampling& sampling, Random& random,
               std::span<const int32_t> text) {
  std::vector<Candidate> left = candidates(logits, sampling, text);
  if (sampling.temperature == 0) return left.front().token;
  double chosen = random.uniform() * total_weight(left), sum = 0;
  for (auto [token, weight] : left)
    if ((sum += weight) > chosen) return token;
  return left.back().token;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
