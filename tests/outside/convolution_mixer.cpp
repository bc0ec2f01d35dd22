#include "convolution_mixer.h"

#include <algorithm>
#include <cmath>

#include "causal_convolution.h"
#include "core/errors.h"
#include "ops/shape.h"

namespace outside {

using namespace shiftgrad;

namespace {

struct RecentTokens : State {
  Tensor tokens;  // [B, up to s - 1, C], undefined at the start

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

}  // namespace

ConvolutionMixer::ConvolutionMixer(int64_t d_model, int64_t window, Random& random)
    : output(d_model, d_model, true, random) {
  require(window >= 1, "convolution: window ", window, ", expected at least 1");
  kernel = normal_parameter({window, d_model}, random, 1 / std::sqrt(window));
}

Tensor ConvolutionMixer::in_sight(const Tensor& past, const Tensor& x) const {
  if (!past.defined() && !x.defined()) return {};
  Tensor all = concat({past, x}, 1);
  int64_t K = all.size(1);
  return slice(all, 1, std::max<int64_t>(0, K - kernel.size(0) + 1), K);
}

Tensor ConvolutionMixer::forward(const Tensor& x, const Tensor& memory, Context& context) const {
  context.refuse_masks("convolution");
  Tensor all = concat({in_sight(memory, {}), x}, 1);  // [B, up to s - 1 + T, C]
  Tensor y = causal_convolution(all, kernel);
  return output(slice(y, 1, all.size(1) - x.size(1), all.size(1)));  // [B, T, C]
}

std::unique_ptr<State> ConvolutionMixer::start(int64_t) const {
  return std::make_unique<RecentTokens>();
}

Tensor ConvolutionMixer::forward(const Tensor& x, State& state, Context& context) const {
  Tensor& past = dynamic_cast<RecentTokens&>(state).tokens;
  Tensor y = forward(x, past, context);
  past = in_sight(past, x).detach();
  return y;
}

void ConvolutionMixer::visit(Visitor& visitor) const {
  visitor("kernel", kernel);
  visitor("output", output);
}

}  // namespace outside
