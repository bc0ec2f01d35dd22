#pragma once

// A block adds the outputs of its parts to its input, one after the other.
//
//     norm first (Xiong et al. 2020):   x + f(norm(x))
//     norm last (Vaswani et al. 2017):  norm(x + f(x))

#include <memory>
#include <string>
#include <vector>

#include "nn/layer.h"
#include "nn/layer_norm.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Parts around a residual stream, such as a mixer and a feed-forward net.
struct Block : Layer {
  /// A function f and its norm, under the names of their parameters. A norm without a weight
  /// leaves x as it is; the first part needs one with a weight.
  struct Part {
    /// The part's name among the parameters.
    std::string name;
    /// f.
    std::unique_ptr<Layer> function;
    /// The norm's name among the parameters.
    std::string norm_name;
    /// The norm of f's input, or of the sum.
    LayerNorm norm;
  };
  /// The parts, in the order in which they work.
  std::vector<Part> parts;
  /// Whether the norm comes before f.
  bool norm_first = true;
  /// Dropout rate of each f.
  double dropout = 0;

  /// Returns the output [B, T, C]. A memory is earlier input of this block, and the past of its
  /// first part. With norm_first it is normed like x. The norm's parameters get a gradient through
  /// it, the memory itself none. With a cache, each part has its own.
  Tensor forward(const Tensor& x, const Past& past, Context& context) const override;
  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const override;
  Limits limits() const override;
  bool sees_ahead() const override;
  void visit(Visitor& visitor) const override;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
