#include "core/io/tensor_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "core/errors.h"
#include "core/io/float_types.h"
#include "core/io/json.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

template <class T>
StoredTensor stored_values(DType dtype, const Dims& shape, const std::vector<T>& values) {
  auto bytes = std::as_bytes(std::span(values));
  return {dtype, shape, std::vector(bytes.begin(), bytes.end())};
}

void check_dtype(const std::string& name, const StoredTensor& stored, DType dtype) {
  require(stored.dtype == dtype, "tensor ", shown(name), ": ", stored.dtype, ", expected ", dtype);
}

/// `"a", "b" and 7 more`
std::string enumerated(const std::vector<std::string>& names) {
  constexpr size_t most = 4;
  std::string list;
  for (size_t n = 0; n < std::min(most, names.size()); ++n)
    list += (n > 0 ? ", " : "") + shown(names[n]);
  return names.size() <= most ? list : text(list, " and ", names.size() - most, " more");
}

/// Returns the bytes as values of T. Throws when the tensor has another type than `dtype`, or not
/// as many bytes as its shape takes.
template <class T>
std::vector<T> values_of(const std::string& name, const StoredTensor& stored, DType dtype) {
  check_stored(name, stored, stored.shape, dtype);
  std::vector<T> values(stored.bytes.size() / sizeof(T));
  stored.bytes.copy_to(values.data());
  return values;
}

/// Copies row-major values to a tensor that may have gaps.
void copy_rows(const std::byte* values, const Tensor& target) {
  auto bytes = static_cast<size_t>(target.count()) * sizeof(Scalar);
  if (target.is_contiguous()) {
    if (bytes > 0) std::memcpy(target.mutable_data(), values, bytes);
    return;
  }
  int64_t rows = target.size(0);
  for (int64_t row = 0; row < rows; ++row)
    copy_rows(values + row * static_cast<int64_t>(bytes) / rows, target[row]);
}

}  // namespace

StoredTensor stored_view(const Tensor& tensor) {
  if (!tensor.is_contiguous()) return stored_values(scalar_dtype, tensor.shape(), tensor.values());
  auto values = std::span(tensor.data(), static_cast<size_t>(tensor.count()));
  return {scalar_dtype, tensor.shape(),
          Bytes(std::as_bytes(values), std::make_shared<const Tensor>(tensor))};
}

StoredTensor stored(const Tensor& tensor) {
  StoredTensor own = stored_view(tensor);
  own.bytes = within_memory([&] { return std::vector(own.bytes.begin(), own.bytes.end()); },
                            "values of ", tensor.shape());
  return own;
}

StoredTensor stored(const Tokens& tokens) {
  return stored_values<int64_t>(DType::i64, tokens.shape,
                                {tokens.values.begin(), tokens.values.end()});
}

StoredTensor stored(const Mask& mask) {
  return stored_values(DType::boolean, mask.shape, mask.values);
}

void check_kind(const std::string& name, const StoredTensor& stored, const Dims& shape,
                DType dtype) {
  require(stored.shape == shape, "tensor ", shown(name), ": ", stored.shape, ", expected ", shape);
  check_dtype(name, stored, dtype);
}

void check_stored(const std::string& name, const StoredTensor& stored, const Dims& shape,
                  DType dtype) {
  check_kind(name, stored, shape, dtype);
  int64_t bytes = std::ssize(stored.bytes), expected = byte_count(stored.dtype, shape);
  require(bytes == expected, "tensor ", shown(name), ": ", bytes, " bytes, expected ", expected);
}

void check_names(const std::vector<std::string>& wanted,
                 const std::map<std::string, StoredTensor>& tensors) {
  std::set<std::string> names(wanted.begin(), wanted.end());
  std::vector<std::string> missing, unexpected;
  for (const std::string& name : wanted)
    if (!tensors.contains(name)) missing.push_back(name);
  for (const auto& [name, tensor] : tensors)
    if (!names.contains(name)) unexpected.push_back(name);
  if (missing.empty() && unexpected.empty()) return;
  fail(missing.empty() ? "" : "missing tensors " + enumerated(missing),
       missing.empty() || unexpected.empty() ? "" : "; ",
       unexpected.empty() ? "" : "unexpected tensors " + enumerated(unexpected));
}

void read_into(const Tensor& target, const StoredTensor& stored) {
  if (target.is_contiguous()) return stored.bytes.copy_to(target.mutable_data());
  copy_rows(stored.bytes.data(), target);
}

Tensor loaded_tensor(const std::string& name, const StoredTensor& stored) {
  check_stored(name, stored, stored.shape);
  Tensor tensor = Tensor::empty(stored.shape);
  read_into(tensor, stored);
  return tensor;
}

Tensor converted_tensor(const std::string& name, const StoredTensor& stored) {
  check_stored(name, stored, stored.shape, stored.dtype);
  constexpr size_t piece = size_t{1} << 16;  // bytes, a multiple of each type's
  const double most = std::ldexp(1, std::numeric_limits<Scalar>::digits);
  Tensor tensor = Tensor::empty(stored.shape);
  Scalar* next = tensor.mutable_data();
  std::vector<double> numbers;
  for (std::span<const std::byte> rest = stored.bytes; !rest.empty();) {
    std::span bytes = rest.first(std::min(piece, rest.size()));
    rest = rest.subspan(bytes.size());
    numbers.clear();
    require(append_numbers(stored.dtype, bytes, numbers), "tensor ", shown(name), ": ",
            stored.dtype, ", expected numbers");
    for (double number : numbers) {
      auto value = static_cast<Scalar>(number);
      bool is_held = is_float(stored.dtype) ? std::isfinite(value) || !std::isfinite(number)
                                            : std::abs(number) < most;
      require(is_held, "tensor ", shown(name), ": ", number, ", beyond what ", scalar_dtype,
              " holds");
      *next++ = value;
    }
  }
  return tensor;
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
