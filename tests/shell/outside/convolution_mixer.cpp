#include "convolution_mixer.h"

#include <shiftgrad/shiftgrad.h>

#include <cmath>

#include "causal_convolution.h"

namespace outside {

using namespace shiftgrad;

ConvolutionMixer::ConvolutionMixer(int64_t d_model, int64_t window, Random& random)
    : output(d_model, d_model, true, random) {
  name = "convolution";
  require(window >= 1, "convolution: window ", window, ", expected at least 1");
  kernel = normal_parameter({window, d_model}, random, 1 / std::sqrt(window));
}

Tensor ConvolutionMixer::forward(const Tensor& x, const Past& past, Context& context) const {
  check_input(name, x, past.memory(), kernel.size(1));
  context.refuse_masks("convolution");
  Tensor all = concat({past.memory(), x}, 1);  // [B, M + T, C]
  Tensor y = causal_convolution(all, kernel);
  return output(slice(y, 1, all.size(1) - x.size(1), all.size(1)));  // [B, T, C]
}

std::unique_ptr<Cache> ConvolutionMixer::make_cache(int64_t limit) const {
  return make_input_cache(limit, kernel.size(0) - 1);
}

void ConvolutionMixer::visit(Visitor& visitor) const {
  visitor("kernel", kernel);
  visitor("output", output);
}

}  // namespace outside
