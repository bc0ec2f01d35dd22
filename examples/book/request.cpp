#include "request.h"

#include <span>
#include <vector>

namespace book {

using namespace shiftgrad;

namespace {

/// Appends the bytes of a value.
template <class Value>
void append(std::vector<std::byte>& bytes, Value value) {
  auto begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(Value));
}

/// Appends a value as a tensor of this type stores it.
void append(std::vector<std::byte>& bytes, double value, DType dtype) {
  constexpr double most = 1e15;  // all whole numbers up to here are doubles
  switch (dtype) {
    case DType::f32:
      return append(bytes, static_cast<float>(value));
    case DType::boolean:
      return append(bytes, static_cast<uint8_t>(value != 0));
    case DType::i64:
      require(-most <= value && value <= most, "\"values\" has ", value, ", expected at most ",
              most);
      return append(bytes, static_cast<int64_t>(value));
    default:
      fail("\"dtype\" is ", dtype, ", expected F32, I64 or BOOL");
  }
}

}  // namespace

StoredTensor stored_tensor(const Json& object) {
  auto name = value_of<std::string>(object, "dtype", "F32");
  require(is_name<DType>(name), "\"dtype\" is ", shown(name), ", expected F32, I64 or BOOL");
  auto dtype = value_named<DType>(name);
  auto shape = value_of<std::vector<int64_t>>(object, "shape");
  auto values = value_of<std::vector<double>>(object, "values");
  std::vector<std::byte> bytes;
  for (double value : values) append(bytes, value, dtype);
  StoredTensor tensor{dtype, Dims(std::span<const int64_t>(shape)), std::move(bytes)};
  require(std::ssize(tensor.bytes) == byte_count(dtype, tensor.shape), "\"values\" has ",
          values.size(), " values for a shape of ", tensor.shape);
  return tensor;
}

Json json_of(const std::string& name, const StoredTensor& stored) {
  const Dims& shape = stored.shape;
  return {{"shape", std::vector<int64_t>(shape.begin(), shape.end())},
          {"values", loaded_tensor(name, stored).values()}};
}

}  // namespace book
