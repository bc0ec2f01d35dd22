#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "core/layout.h"
#include "core/storage.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct OpenGradient;
class PackedWeights;

/// A handle on values in a Storage, seen through a Layout. Copies and views share the storage.
class Tensor {
 public:
  /// An undefined tensor, which stands for an absent bias or memory.
  Tensor() = default;
  /// Returns a tensor of uninitialised values.
  static Tensor empty(const Dims& shape);
  /// Returns a tensor of equal values. PyTorch: full.
  static Tensor full(const Dims& shape, Scalar value);
  /// Returns a tensor of zeros. PyTorch: zeros.
  static Tensor zeros(const Dims& shape) { return full(shape, 0); }
  /// Returns a tensor of row-major `values`. Throws when their number is not that of `shape`.
  static Tensor from(const Dims& shape, std::span<const Scalar> values);
  static Tensor from(const Dims& shape, std::initializer_list<Scalar> values) {
    return from(shape, std::span(values.begin(), values.size()));
  }
  /// Returns a tensor over memory that another object owns, without a copy: the element with a
  /// layout's position p is data[p]. `owner` is kept as long as anything here needs that memory,
  /// which must not change meanwhile. Throws where the layout reaches below `data` or overlaps
  /// itself, as `view` does.
  static Tensor over(Scalar* data, const Layout& layout, std::shared_ptr<const void> owner);

  /// Whether there are values at all.
  bool defined() const { return storage_ != nullptr; }
  /// Where in the storage the elements lie.
  const Layout& layout() const { return layout_; }
  /// The size of each axis.
  const Dims& shape() const { return layout_.shape; }
  /// The number of axes. PyTorch: dim.
  int rank() const { return layout_.rank(); }
  /// The size of one axis; a negative axis counts from the end. Throws when there is no such axis.
  int64_t size(int64_t axis) const { return layout_.shape[normalized_axis("size", axis, rank())]; }
  /// The number of elements. PyTorch: numel.
  int64_t count() const { return layout_.count(); }
  /// Whether the elements lie row-major without gaps.
  bool is_contiguous() const { return layout_.is_contiguous(); }
  /// Whether a live tape has recorded an op that made or read these values.
  bool recorded() const { return storage_ && storage_->value->readers.recorded > 0; }
  /// Whether both are views of one storage.
  bool shares_storage(const Tensor& other) const { return storage_ == other.storage_; }
  /// Whether some element of the one is an element of the other, in one place of the memory.
  bool shares_elements(const Tensor& other) const;

  /// The address of the first element; the others lie at the layout's strides from it. This
  /// function and those down to `view` throw where the tensor is undefined.
  const Scalar* data() const;
  /// The address of the first element, for writing. Throws while a live tape has recorded these
  /// values or PackedWeights keeps them: a write would give wrong gradients, or not be seen.
  Scalar* mutable_data() const;
  /// The only element. Throws when there is not exactly one.
  Scalar item() const;
  /// Returns a row-major copy.
  std::vector<Scalar> values() const;

  /// Returns the same storage under another layout, for values and gradient alike. Throws when the
  /// layout reaches beyond the storage, or overlaps itself other than by broadcasting: a gradient
  /// could not be accumulated into it.
  Tensor view(const Layout& layout) const;
  /// Returns index `index` of the first axis, as the view that `select` is: x[-1] is the last one.
  Tensor operator[](int64_t index) const;

  /// Whether ops compute a gradient for it. PyTorch: requires_grad.
  bool requires_gradient() const {
    return storage_ && storage_->requires_gradient && storage_->lineage.frozen == 0;
  }
  /// Asks for a gradient, as a parameter does, or for none, as a frozen parameter does: ops
  /// recorded from now on compute none for it. All views of the storage follow. Returns the same
  /// tensor. Throws where a live tape has computed the values and they are to have none: the
  /// gradient would end there. PyTorch: requires_grad_.
  Tensor require_gradient(bool required = true) const;
  /// Returns the gradient at this layout, or an undefined tensor when nothing has been accumulated
  /// there. A part with gaps, such as some columns of a matrix, may get 0 instead, when something
  /// has been accumulated in between.
  Tensor gradient() const;
  /// Forgets the gradient at this layout; other views of the storage keep theirs. Memory of which
  /// nothing is left goes back to the allocator, so that a forward pass has it. A part with gaps,
  /// such as some columns of a matrix, has a gradient of 0 from then on.
  void zero_gradient() const;
  /// Returns where a backward pass puts this tensor's gradient, for which it makes room; empty when
  /// it needs none. The gradient counts as written from now on, so open it right before writing.
  OpenGradient open_gradient() const;
  /// Does that for inputs of one op. Where these are parts that make up a storage, such as the
  /// queries, keys and values of one projection, each is the first writer of its part.
  static std::vector<OpenGradient> open_gradients(const std::vector<const Tensor*>& parts);
  /// Returns a constant: these values in a Storage of their own, without a gradient.
  /// PyTorch: detach.
  Tensor detach() const;

 private:
  friend class Tape;
  friend class PackedWeights;
  friend class Frozen;
  Tensor(std::shared_ptr<Storage> storage, const Layout& layout)
      : storage_(std::move(storage)), layout_(layout) {}
  /// Has these values in a storage of its own, without a gradient.
  Tensor(std::shared_ptr<Elements> value, const Layout& layout)
      : Tensor(std::make_shared<Storage>(), layout) {
    storage_->value = std::move(value);
  }
  /// Whether the storage has a gradient that nobody has written yet.
  bool has_unwritten_gradient() const;
  /// Opens the gradient. A first writer that does not overwrite all of it adds to zeros.
  OpenGradient open_part(bool overwrites) const;

  std::shared_ptr<Storage> storage_;
  Layout layout_;
};

/// Throws an error that names `operation` when its argument `name` is undefined, or one of `more`
/// names and arguments is.
template <class... More>
void require_defined(const char* operation, const char* name, const Tensor& x,
                     const More&... more) {
  require(x.defined(), operation, ": ", name, " is undefined");
  if constexpr (sizeof...(more) > 0) require_defined(operation, more...);
}

inline const Scalar* Tensor::data() const {
  require_defined("data", "the tensor", *this);
  return storage_->value->data() + layout_.offset;
}

/// A place for a gradient: target = beta · target + gradient, where beta is 0 for the first writer
/// and 1 for later ones, so that a GEMM can write a gradient in place.
struct OpenGradient {
  /// The gradient at the tensor's layout.
  Tensor target;
  /// The factor of what is there already.
  Scalar beta = 0;

  /// Whether a gradient is wanted.
  explicit operator bool() const { return target.defined(); }
};

/// A tensor that requires no gradient while this lives, with all views of its storage; afterwards
/// it does as it did before. Any number may freeze one tensor, on any threads.
class Frozen {
 public:
  /// Freezes the tensor. Throws where it is undefined.
  explicit Frozen(const Tensor& tensor) : storage_(tensor.storage_) {
    require_defined("Frozen", "the tensor", tensor);
    ++storage_->lineage.frozen;
  }
  /// Freezes in the place of the other.
  Frozen(Frozen&&) noexcept = default;
  ~Frozen() {
    if (storage_) --storage_->lineage.frozen;
  }

 private:
  std::shared_ptr<Storage> storage_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
