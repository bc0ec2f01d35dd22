#pragma once

// A new mixer: what a token learns of the others is a convolution over itself and the s - 1 before
// it.
//
//     y = W (w * x)

#include <shiftgrad/shiftgrad.h>

namespace outside {

struct ConvolutionMixer : shiftgrad::Layer {
  shiftgrad::Tensor kernel;  // [s, C]
  shiftgrad::Linear output;

  ConvolutionMixer(int64_t d_model, int64_t window, shiftgrad::Random& random);

  shiftgrad::Tensor forward(const shiftgrad::Tensor& x, const shiftgrad::Past& past,
                            shiftgrad::Context& context) const override;
  /// The last s - 1 tokens, or `limit` where that is less.
  std::unique_ptr<shiftgrad::Cache> make_cache(int64_t limit = shiftgrad::unlimited) const override;
  void visit(shiftgrad::Visitor& visitor) const override;
};

}  // namespace outside
