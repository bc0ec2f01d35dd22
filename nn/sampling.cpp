#include "nn/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/errors.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

/// The `count` likeliest tokens, the likeliest first.
std::vector<int32_t> likeliest(std::span<const Scalar> logits, int64_t count) {
  std::vector<int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::partial_sort(tokens.begin(), tokens.begin() + count, tokens.end(),
                    [&](int32_t a, int32_t b) {
                      return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
                    });
  tokens.resize(count);
  return tokens;
}

}  // namespace

void check(const Sampling& sampling) {
  require(sampling.temperature >= 0 && std::isfinite(sampling.temperature),
          "sampling: temperature ", sampling.temperature, ", expected at least 0");
  require(sampling.top_k >= 0, "sampling: top_k ", sampling.top_k, ", expected at least 0");
}

int32_t sample(std::span<const Scalar> logits, const Sampling& sampling, Random& random) {
  check(sampling);
  for (Scalar logit : logits)
    require(std::isfinite(logit), "sampling: a logit is ", logit, ", expected finite ones");
  if (sampling.temperature == 0)
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());

  auto vocabulary = static_cast<int64_t>(logits.size());
  int64_t count = sampling.top_k == 0 ? vocabulary : std::min(sampling.top_k, vocabulary);
  std::vector<int32_t> tokens = likeliest(logits, count);
  double greatest = static_cast<double>(logits[tokens.front()]);
  std::vector<double> cumulative;
  double total = 0;
  for (int32_t token : tokens) {
    total += std::exp((static_cast<double>(logits[token]) - greatest) / sampling.temperature);
    cumulative.push_back(total);
  }
  auto chosen = std::upper_bound(cumulative.begin(), cumulative.end(), random.uniform() * total);
  return tokens[std::min<int64_t>(chosen - cumulative.begin(), count - 1)];
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
