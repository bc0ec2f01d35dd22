#include "core/packed_weights.h"

#include "core/machine/bfloat16_product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {
thread_local PackedWeights* outermost = nullptr;
}

/// A weight with its packed transpose. It holds the tensor, so that no other can come to lie at its
/// address.
struct PackedWeights::Kept {
  Tensor weight;
  RightFactor transposed;
};

PackedWeights::PackedWeights() {
  if (!outermost) outermost = this;
}

PackedWeights::~PackedWeights() {
  if (outermost == this) outermost = nullptr;
  for (auto& [address, kept] : kept_) --kept.weight.storage_->value->packed;
}

const RightFactor* PackedWeights::transposed(const Tensor& weight) {
  if (!outermost || !products_round()) return nullptr;
  const Storage& storage = *weight.storage_;
  if (!storage.requires_gradient || storage.computed) return nullptr;
  return &outermost->keep(weight);
}

const RightFactor& PackedWeights::keep(const Tensor& weight) {
  const auto& [shape, strides, offset] = weight.layout();
  auto [begin, end] = kept_.equal_range(weight.data());
  for (auto at = begin; at != end; ++at)
    if (at->second.weight.shape() == shape && at->second.weight.layout().strides == strides)
      return at->second.transposed;
  ConstMatrix matrix{weight.data(), shape[0], shape[1], strides[0], strides[1]};
  auto added = kept_.emplace(weight.data(), Kept{weight, RightFactor(matrix.transposed())});
  ++weight.storage_->value->packed;
  return added->second.transposed;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
