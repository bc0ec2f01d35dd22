#include "core/packed_weights.h"

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

const RightFactor* PackedWeights::transposed(const ConstMatrix& a, const Tensor& weight,
                                             const Matrix& c) {
  if (!outermost || !RightFactor::serves(a, c)) return nullptr;
  const Storage& storage = *weight.storage_;
  if (!storage.requires_gradient || storage.computed) return nullptr;
  return &outermost->keep(weight);
}

namespace {

/// Returns the transpose of a weight [P, N].
ConstMatrix transpose_of(const Tensor& weight) {
  const auto& [shape, strides, offset] = weight.layout();
  return {weight.data(), shape[1], shape[0], strides[1], strides[0]};
}

}  // namespace

void PackedWeights::multiply_transposed(const ConstMatrix& a, const Tensor& weight, Addend added,
                                        const Matrix& c) {
  if (const RightFactor* packed = transposed(a, weight, c))
    packed->gemm(1, a, added, c, Threads::all);
  else
    gemm(1, a, transpose_of(weight), added, c, Threads::all);
}

const RightFactor& PackedWeights::keep(const Tensor& weight) {
  const auto& [shape, strides, offset] = weight.layout();
  auto [begin, end] = kept_.equal_range(weight.data());
  for (auto at = begin; at != end; ++at)
    if (at->second.weight.shape() == shape && at->second.weight.layout().strides == strides)
      return at->second.transposed;
  auto added = kept_.emplace(weight.data(), Kept{weight, RightFactor(transpose_of(weight))});
  ++weight.storage_->value->packed;
  return added->second.transposed;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
