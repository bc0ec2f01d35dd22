#include "convolution_mixer.h"

#include <shiftgrad/shiftgrad.h>

#include <algorithm>
#include <cmath>

#include "causal_convolution.h"

namespace outside {

using namespace shiftgrad;

namespace {

struct RecentTokens : CacheOf<RecentTokens> {
  int64_t limit;
  Tensor tokens;  // [B, up to limit, C], undefined at the start

  explicit RecentTokens(int64_t limit) : limit(limit) {}

  void forget_newest(int64_t count) override {
    require(count == 0, "convolution: cannot forget tokens, the ones before them are gone");
  }
  void reorder(const std::vector<int64_t>& members) override {
    tokens = members_of(tokens, members);
  }
};

/// The last `count` of the tokens, or all there are.
Tensor newest(const Tensor& tokens, int64_t count) {
  int64_t K = tokens.size(1);
  return slice(tokens, 1, std::max<int64_t>(0, K - count), K);
}

}  // namespace

ConvolutionMixer::ConvolutionMixer(int64_t d_model, int64_t window, Random& random)
    : output(d_model, d_model, true, random) {
  name = "convolution";
  require(window >= 1, "convolution: window ", window, ", expected at least 1");
  kernel = normal_parameter({window, d_model}, random, 1 / std::sqrt(window));
}

Tensor ConvolutionMixer::forward(const Tensor& x, const Past& past, Context& context) const {
  auto* cache = past.cache<RecentTokens>();
  Tensor memory = cache ? cache->tokens : past.memory();
  check_input(name, x, memory, kernel.size(1));
  context.refuse_masks("convolution");
  if (memory.defined()) memory = newest(memory, kernel.size(0) - 1);
  Tensor all = concat({memory, x}, 1);  // [B, up to s - 1 + T, C]
  if (cache) cache->tokens = newest(all, cache->limit).detach();
  Tensor y = causal_convolution(all, kernel);
  return output(slice(y, 1, all.size(1) - x.size(1), all.size(1)));  // [B, T, C]
}

std::unique_ptr<Cache> ConvolutionMixer::make_cache(int64_t limit) const {
  return new_cache<RecentTokens>(std::min(limit, kernel.size(0) - 1));
}

void ConvolutionMixer::visit(Visitor& visitor) const {
  visitor("kernel", kernel);
  visitor("output", output);
}

}  // namespace outside
