#include "shiftgrad/core/tensor.h"

#include <algorithm>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/walk.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor Tensor::empty(const Dims& shape) {
  for (int64_t size : shape) require(size >= 0, "tensor: ", shape, " as a shape");
  auto storage = std::make_shared<Storage>();
  storage->value = std::make_shared<Buffer>(product(shape));
  return {std::move(storage), Layout::contiguous(shape)};
}

Tensor Tensor::full(const Dims& shape, Scalar value) {
  Tensor result = empty(shape);
  std::fill_n(result.mutable_data(), result.count(), value);
  return result;
}

Tensor Tensor::from(const Dims& shape, std::span<const Scalar> values) {
  require(static_cast<int64_t>(values.size()) == product(shape), "tensor: ", values.size(),
          " values for the shape ", shape);
  Tensor result = empty(shape);
  std::copy(values.begin(), values.end(), result.mutable_data());
  return result;
}

Tensor Tensor::over(Scalar* data, const Layout& layout, std::shared_ptr<const void> owner) {
  int64_t size = layout.offset;
  for (int axis = 0; axis < layout.rank(); ++axis)
    size += (layout.shape[axis] - 1) * std::max<int64_t>(layout.strides[axis], 0);
  auto storage = std::make_shared<Storage>();
  storage->value =
      std::make_shared<Buffer>(data, layout.count() == 0 ? 0 : size + 1, std::move(owner));
  return Tensor(std::move(storage), {}).view(layout);
}

Scalar* Tensor::mutable_data() const {
  require_defined("mutable_data", "the tensor", *this);
  require(!recorded(), "in-place write: a tensor of shape ", shape(),
          " is recorded on a live tape");
  require(storage_->value->packed == 0, "in-place write: a tensor of shape ", shape(),
          " is kept by PackedWeights");
  return storage_->value->data() + layout_.offset;
}

Scalar Tensor::item() const {
  require_defined("item", "the tensor", *this);
  require(count() == 1, "item: ", shape(), ", expected one element");
  return *data();
}

std::vector<Scalar> Tensor::values() const {
  require_defined("values", "the tensor", *this);
  std::vector<Scalar> result;
  result.reserve(static_cast<size_t>(count()));
  Walk<1>({&layout_}).range(0, count(), [&](const Walk<1>::Run& run) {
    for (int64_t n = 0; n < run.length; ++n)
      result.push_back(storage_->value->data()[run.at[0] + n * run.step[0]]);
  });
  return result;
}

Tensor Tensor::view(const Layout& layout) const {
  require_defined("view", "the tensor", *this);
  require(layout.fits(storage_->value->count()), "view: shape ", layout.shape, " with strides ",
          layout.strides, " from ", layout.offset, " reaches beyond the ", storage_->value->count(),
          " elements of the storage");
  require(!layout.overlaps(), "view: shape ", layout.shape, " with strides ", layout.strides,
          " overlaps itself");
  return {storage_, layout};
}

Tensor Tensor::operator[](int64_t index) const {
  require_defined("select", "x", *this);
  return view(layout_.select(0, index));
}

Tensor Tensor::require_gradient(bool required) const {
  require_defined("require_gradient", "the tensor", *this);
  storage_->requires_gradient = required;
  if (!recorded()) storage_->computed = false;
  if (!required) {
    storage_->gradient.reset();
    storage_->gradient_written = false;
  }
  return *this;
}

Tensor Tensor::gradient() const {
  if (!storage_ || !storage_->gradient_written) return {};
  auto mirror = std::make_shared<Storage>();
  mirror->value = storage_->gradient;
  return {std::move(mirror), layout_};
}

void Tensor::zero_gradient() const {
  require_defined("zero_gradient", "the tensor", *this);
  storage_->gradient_written = false;
}

GradientSink Tensor::gradient_sink() const {
  if (!requires_gradient()) return {};
  Storage& storage = *storage_;
  int64_t size = storage.value->count();
  if (!storage.gradient) storage.gradient = std::make_shared<Buffer>(size);
  Scalar beta = storage.gradient_written ? 1 : 0;
  if (!storage.gradient_written && !layout_.covers(size)) {
    std::fill_n(storage.gradient->data(), size, Scalar{0});
    beta = 1;
  }
  storage.gradient_written = true;
  return {gradient(), beta};
}

Tensor Tensor::detach() const {
  if (!storage_) return {};
  auto constant = std::make_shared<Storage>();
  constant->value = storage_->value;
  return {std::move(constant), layout_};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
