#include "core/packed_weights.h"

#include "core/machine/packed_product.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {
thread_local PackedWeights* outermost = nullptr;
}

/// A weight with its packed transpose. It holds the tensor, so that no other can come to lie at its
/// address.
struct PackedWeights::Kept {
  Tensor weight;
  Packed transposed;
};

PackedWeights::PackedWeights() {
  if (!outermost) outermost = this;
}

PackedWeights::~PackedWeights() {
  if (outermost == this) outermost = nullptr;
  for (auto& [address, kept] : kept_) --kept.weight.storage_->value->readers.packed;
}

const Packed* PackedWeights::transposed(const ConstMatrix& a, const Tensor& weight,
                                        const Matrix& c) {
  if (!outermost || !kernel_for({a, c})) return nullptr;
  const Storage& storage = *weight.storage_;
  if (!storage.requires_gradient || storage.lineage.computed) return nullptr;
  return &outermost->keep(weight);
}

const Packed& PackedWeights::keep(const Tensor& weight) {
  const auto& [shape, strides, offset] = weight.layout();
  auto [begin, end] = kept_.equal_range(weight.data());
  for (auto at = begin; at != end; ++at)
    if (at->second.weight.shape() == shape && at->second.weight.layout().strides == strides)
      return at->second.transposed;
  const ConstMatrix transpose{weight.data(), shape[1], shape[0], strides[1], strides[0]};
  auto added =
      kept_.emplace(weight.data(), Kept{weight, Packed::right(weights_kernel(), transpose, false)});
  added->second.transposed.pack(Threads::all);
  ++weight.storage_->value->readers.packed;
  return added->second.transposed;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
