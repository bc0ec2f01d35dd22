#pragma once

#include <unordered_map>

#include "core/machine/matrix.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

class Packed;

/// Keeps the weights that products on this thread pack, from a weight's first such product until
/// the end of this object's life. A token's products then pack none and, where they round to
/// bfloat16 pairs, read half the bytes. It is for writing, where each token multiplies all weights
/// anew; in a training step each weight is packed once for its forward and once for its backward
/// product anyway. Meanwhile these weights must not change: writing to one throws. Of nested ones
/// the outermost counts. Where OpenBLAS multiplies, nothing is kept. (PyTorch: the weight cache of
/// torch.autocast)
class PackedWeights {
 public:
  PackedWeights();
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  /// Returns the transpose of `weight` [P, N], a parameter or a view of one, for products c = a Wᵀ.
  /// Returns null where this thread has no PackedWeights, BLAS makes such a product, or `weight` is
  /// no parameter or a frozen one.
  static const Packed* transposed(const ConstMatrix& a, const Tensor& weight, const Matrix& c);

 private:
  struct Kept;
  const Packed& keep(const Tensor& weight);

  std::unordered_multimap<const Scalar*, Kept> kept_;  // by the address of the first element
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
