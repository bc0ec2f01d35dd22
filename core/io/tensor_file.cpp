#include "core/io/tensor_file.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include "core/errors.h"
#include "core/io/json.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr DType scalar_dtype = std::is_same_v<Scalar, float> ? DType::f32 : DType::f64;

template <class T>
StoredTensor stored_values(DType dtype, const Dims& shape, const std::vector<T>& values) {
  auto bytes = std::as_bytes(std::span(values));
  return {dtype, shape, {bytes.begin(), bytes.end()}};
}

void check_dtype(const std::string& name, const StoredTensor& stored, DType dtype) {
  require(stored.dtype == dtype, "tensor ", shown(name), ": ", stored.dtype, ", expected ", dtype);
}

/// Returns the bytes as values of T. Throws when the tensor has another type than `dtype`.
template <class T>
std::vector<T> values_of(const std::string& name, const StoredTensor& stored, DType dtype) {
  check_dtype(name, stored, dtype);
  std::vector<T> values(stored.bytes.size() / sizeof(T));
  std::copy(stored.bytes.begin(), stored.bytes.end(),
            std::as_writable_bytes(std::span(values)).begin());
  return values;
}

}  // namespace

StoredTensor stored(const Tensor& tensor) {
  return stored_values(scalar_dtype, tensor.shape(), tensor.values());
}

StoredTensor stored(const Tokens& tokens) {
  return stored_values<int64_t>(DType::i64, tokens.shape,
                                {tokens.values.begin(), tokens.values.end()});
}

StoredTensor stored(const Mask& mask) {
  return stored_values(DType::boolean, mask.shape, mask.values);
}

void check_stored(const std::string& name, const StoredTensor& stored, const Dims& shape) {
  require(stored.shape == shape, "tensor ", shown(name), ": ", stored.shape, ", expected ", shape);
  check_dtype(name, stored, scalar_dtype);
  int64_t bytes = std::ssize(stored.bytes), expected = byte_count(stored.dtype, shape);
  require(bytes == expected, "tensor ", shown(name), ": ", bytes, " bytes, expected ", expected);
}

Tensor loaded_tensor(const std::string& name, const StoredTensor& stored) {
  return Tensor::from(stored.shape, values_of<Scalar>(name, stored, scalar_dtype));
}

Tokens loaded_tokens(const std::string& name, const StoredTensor& stored) {
  Tokens tokens{stored.shape, {}};
  for (int64_t token : values_of<int64_t>(name, stored, DType::i64)) {
    require(std::in_range<int32_t>(token), "tensor ", shown(name), ": a token of ", token,
            ", expected one of 32 bits");
    tokens.values.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

Mask loaded_mask(const std::string& name, const StoredTensor& stored) {
  return {stored.shape, values_of<uint8_t>(name, stored, DType::boolean)};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
