#include "core/dims.h"

#include <algorithm>

namespace shiftgrad {

Dims::Dims(std::initializer_list<int64_t> values)
    : Dims(std::span<const int64_t>(values.begin(), values.size())) {}

Dims::Dims(std::span<const int64_t> values) : size_(static_cast<int>(values.size())) {
  require(values.size() <= max_rank, "shape: more than ", max_rank, " axes");
  std::copy(values.begin(), values.end(), begin());
}

Dims Dims::filled(int count, int64_t value) {
  require(count >= 0, "shape: ", count, " axes");
  Dims dims;
  for (int axis = 0; axis < count; ++axis) dims.push_back(value);
  return dims;
}

void Dims::insert(int64_t axis, int64_t value) {
  require(0 <= axis && axis <= size_, "shape: an entry before ", axis, " of ", *this);
  push_back(value);
  std::rotate(begin() + axis, end() - 1, end());
}

void Dims::erase(int64_t axis) {
  require(0 <= axis && axis < size_, "shape: without entry ", axis, " of ", *this);
  std::copy(begin() + axis + 1, end(), begin() + axis);
  values_[--size_] = 0;
}

std::string shape_text(std::span<const int64_t> sizes) {
  std::string list;
  for (int64_t size : sizes) list += (list.empty() ? "" : ", ") + std::to_string(size);
  return '[' + list + ']';
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  return out << shape_text({dims.begin(), dims.end()});
}

Dims broadcast_shape(const char* operation, const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims shape = longer;
  for (int axis = 1; axis <= shorter.size(); ++axis) {
    int64_t size = shorter[-axis];
    require(size == shape[-axis] || size == 1 || shape[-axis] == 1, operation, ": ", a, " and ", b,
            " do not broadcast");
    if (shape[-axis] == 1) shape[-axis] = size;
  }
  return shape;
}

}  // namespace shiftgrad
