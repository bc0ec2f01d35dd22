#include "core/tensor.h"

#include <algorithm>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/walk.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

void fill(Scalar* elements, int64_t count, Scalar value) {
  parallel_ranges(count, 1 << 16, [&](int64_t begin, int64_t end) {
    std::fill(elements + begin, elements + end, value);
  });
}

}  // namespace

Tensor Tensor::empty(const Dims& shape) {
  Layout layout = Layout::contiguous(shape);
  try {
    return {std::make_shared<Elements>(layout.count()), layout};
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(text("a tensor of shape ", shape, ": ", error.what()));
  }
}

Tensor Tensor::full(const Dims& shape, Scalar value) {
  Tensor result = empty(shape);
  fill(result.mutable_data(), result.count(), value);
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
  layout.check("over");
  int64_t size = layout.count() == 0 ? 0 : layout.interval()->end;
  require(data || size == 0, "over: no memory for the shape ", layout.shape);
  return Tensor(std::make_shared<Elements>(data, size, std::move(owner)), {}).view(layout);
}

Scalar* Tensor::mutable_data() const {
  require_defined("mutable_data", "the tensor", *this);
  storage_->value->readers.check_write(shape());
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
  within_memory([&] { result.reserve(static_cast<size_t>(count())); }, "values of ", shape());
  Walk<1>({&layout_}).each(0, count(), [&, data = storage_->value->data()](const auto& at) {
    result.push_back(data[at[0]]);
  });
  return result;
}

Tensor Tensor::view(const Layout& layout) const {
  require_defined("view", "the tensor", *this);
  check_view(layout, storage_->value->count());
  return {storage_, layout};
}

Tensor Tensor::operator[](int64_t index) const {
  require_defined("select", "x", *this);
  return view(layout_.select(0, index));
}

Tensor Tensor::require_gradient(bool required) const {
  require_defined("require_gradient", "the tensor", *this);
  bool cuts = !required && requires_gradient() && storage_->lineage.tape != 0 && recorded();
  require(!cuts, "require_gradient: false for what a live tape computed, of shape ", shape(),
          ", would end its gradient; detach() gives a constant");
  storage_->requires_gradient = required;
  if (!recorded()) {
    storage_->lineage.computed = false;
    storage_->lineage.tape = 0;
  }
  if (!required) {
    storage_->gradient.reset();
    storage_->gradient_written.clear();
  }
  return *this;
}

bool Tensor::shares_elements(const Tensor& other) const {
  return storage_ && other.storage_ && storage_->value == other.storage_->value &&
         layout_.intersects(other.layout_);
}

Tensor Tensor::gradient() const {
  if (!storage_ || storage_->gradient_written.empty()) return {};
  bool written =
      count() == 0 || std::ranges::any_of(storage_->gradient_written,
                                          [own = *layout_.interval()](const Interval& part) {
                                            return part.intersects(own);
                                          });
  if (!written) return {};
  return {storage_->gradient, layout_};
}

void Tensor::zero_gradient() const {
  require_defined("zero_gradient", "the tensor", *this);
  std::vector<Interval>& written = storage_->gradient_written;
  if (written.empty()) return;
  bool whole = count() == storage_->value->count() && (count() == 0 || !layout_.is_broadcast());
  if (whole) {
    written.clear();
    storage_->gradient.reset();
    return;
  }
  Scalar* gradient = storage_->gradient->data();
  Walk<1>({&layout_}).each(0, count(), [&](const auto& at) { gradient[at[0]] = 0; });
  if (is_contiguous()) remove_interval(written, *layout_.interval());
}

OpenGradient Tensor::open_gradient() const {
  return open_part(has_unwritten_gradient() && layout_.covers(storage_->value->count()));
}

std::vector<OpenGradient> Tensor::open_gradients(const std::vector<const Tensor*>& parts) {
  const Tensor& first = *parts[0];
  bool whole = first.has_unwritten_gradient();
  std::vector<const Layout*> layouts;
  for (const Tensor* part : parts) {
    whole = whole && part->shares_storage(first);
    layouts.push_back(&part->layout_);
  }
  whole = whole && Layout::partition(layouts, first.storage_->value->count());
  std::vector<OpenGradient> open;
  for (const Tensor* part : parts)
    open.push_back(whole ? part->open_part(true) : part->open_gradient());
  return open;
}

bool Tensor::has_unwritten_gradient() const {
  return requires_gradient() && storage_->gradient_written.empty();
}

OpenGradient Tensor::open_part(bool overwrites) const {
  if (!requires_gradient()) return {};
  Storage& storage = *storage_;
  int64_t size = storage.value->count();
  if (!storage.gradient) storage.gradient = std::make_shared<Elements>(size);
  if (!overwrites && storage.gradient_written.empty())
    fill(storage.gradient->data(), size, 0);
  Interval own = *layout_.interval();
  own.end = std::max(own.end, own.begin + 1);  // a part of no elements counts as written, too
  add_interval(storage.gradient_written, own);
  return {{storage.gradient, layout_}, overwrites ? Scalar{0} : Scalar{1}};
}

Tensor Tensor::detach() const {
  if (!storage_) return {};
  return {storage_->value, layout_};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
