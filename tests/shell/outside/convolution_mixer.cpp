#include "convolution_mixer.h"

#include <shiftgrad/shiftgrad.h>

#include <algorithm>
#include <cmath>

#include "causal_convolution.h"

namespace outside {

using namespace shiftgrad;

namespace {

struct RecentTokens : State {
  int64_t limit;
  Tensor tokens;  // [B, up to limit, C], undefined at the start

  explicit RecentTokens(int64_t limit) : limit(limit) {}

  std::unique_ptr<State> clone() const override { return std::make_unique<RecentTokens>(*this); }
  void forget_newest(int64_t count) override {
    require(count == 0, "convolution: cannot forget tokens, the ones before them are gone");
  }
  void reorder(const std::vector<int64_t>& members) override {
    std::vector<Tensor> rows;
    for (int64_t member : members)
      if (tokens.defined()) rows.push_back(slice(tokens, 0, member, member + 1));
    if (!rows.empty()) tokens = concat(rows, 0);
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

Tensor ConvolutionMixer::forward(const Tensor& x, const Tensor& memory, Context& context) const {
  check_input(name, x, memory, kernel.size(1));
  context.refuse_masks("convolution");
  Tensor past = memory.defined() ? newest(memory, kernel.size(0) - 1) : memory;
  Tensor all = concat({past, x}, 1);  // [B, up to s - 1 + T, C]
  Tensor y = causal_convolution(all, kernel);
  return output(slice(y, 1, all.size(1) - x.size(1), all.size(1)));  // [B, T, C]
}

std::unique_ptr<State> ConvolutionMixer::start(int64_t limit) const {
  return new_state<RecentTokens>(std::min(limit, kernel.size(0) - 1));
}

Tensor ConvolutionMixer::forward(const Tensor& x, State& state, Context& context) const {
  auto& past = own_state<RecentTokens>(state, x);
  Tensor y = forward(x, past.tokens, context);
  past.tokens = newest(concat({past.tokens, x}, 1), past.limit).detach();
  return y;
}

void ConvolutionMixer::visit(Visitor& visitor) const {
  visitor("kernel", kernel);
  visitor("output", output);
}

}  // namespace outside
