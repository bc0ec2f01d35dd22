#pragma once

// What all requests of a page have in common: values under keys, and tensors in JSON,
// {shape, values, dtype}.

#include <nlohmann/json.hpp>
#include <string>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/io/tensor_file.h"

namespace book {

using Json = nlohmann::json;

/// Returns the value under a key of an object. Throws, naming the key, when there is none or when
/// it has another type.
template <class Value>
Value value_of(const Json& object, const char* key) {
  auto entry = object.find(key);
  shiftgrad::require(entry != object.end(), "\"", key, "\" is missing");
  try {
    return entry->get<Value>();
  } catch (const Json::exception&) {
    shiftgrad::fail("\"", key, "\" is ", shiftgrad::shown(*entry), ", expected another type");
  }
}

template <class Value>
Value value_of(const Json& object, const char* key, Value otherwise) {
  return object.contains(key) ? value_of<Value>(object, key) : otherwise;
}

/// Returns the tensor that an object describes. Its dtype is F32 where none is given.
shiftgrad::StoredTensor stored_tensor(const Json& object);

/// Returns shape and values of a tensor; its name is for errors.
Json json_of(const std::string& name, const shiftgrad::StoredTensor& stored);

}  // namespace book
