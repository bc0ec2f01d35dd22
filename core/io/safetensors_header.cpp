#include "core/io/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/errors.h"
#include "core/io/json.h"

namespace shiftgrad {

using nlohmann::json;
using Entry = SafeTensorsHeader::Entry;

namespace {

constexpr const char* metadata_key = "__metadata__";

DType parse_dtype(const json& name) {
  require(name.is_string(), "dtype is ", shown(name), ", expected a string");
  auto dtype = dtype_named(name.get_ref<const std::string&>());
  require(dtype.has_value(), "unknown dtype ", shown(name));
  return *dtype;
}

std::vector<uint64_t> parse_numbers(const char* field, const json& list) {
  require(list.is_array(), field, " is ", shown(list), ", expected a list");
  std::vector<uint64_t> numbers;
  for (const json& number : list) {
    if (!number.is_number_unsigned())
      fail(field, " holds ", shown(number), ", expected whole numbers from 0 on");
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

Dims parse_shape(const json& list) {
  std::vector<uint64_t> sizes = parse_numbers("shape", list);
  require(sizes.size() <= Dims::max_rank, "shape has ", sizes.size(), " axes, expected at most ",
          Dims::max_rank);
  Dims shape;
  for (uint64_t size : sizes) {
    require(size <= std::numeric_limits<int64_t>::max(), "shape holds ", size,
            ", more than memory can hold");
    shape.push_back(static_cast<int64_t>(size));
  }
  return shape;
}

Entry parse_entry(const std::string& name, const json& object, uint64_t data_size) {
  require(object.is_object(), "is ", shown(object), ", expected an object");
  for (const char* field : {"dtype", "shape", "data_offsets"})
    require(object.contains(field), "has no ", field);
  for (const auto& [field, value] : object.items())
    require(field == "dtype" || field == "shape" || field == "data_offsets",
            "has an unknown field ", shown(field));

  DType dtype = parse_dtype(object["dtype"]);
  Dims shape = parse_shape(object["shape"]);
  std::vector<uint64_t> offsets = parse_numbers("data_offsets", object["data_offsets"]);
  require(offsets.size() == 2, "data_offsets has ", offsets.size(), " numbers, expected 2");
  uint64_t begin = offsets[0], end = offsets[1];
  require(begin <= end, "data_offsets begins at ", begin, " and ends at ", end);
  require(end <= data_size, "data_offsets ends at ", end, " of ", data_size, " bytes of data");
  auto expected = static_cast<uint64_t>(byte_count(dtype, shape));
  require(end - begin == expected, "data_offsets spans ", end - begin, " bytes, but ", dtype, ' ',
          shape, " takes ", expected);
  return {name, dtype, shape, begin, end};
}

std::map<std::string, std::string> parse_metadata(const json& object) {
  require(object.is_object(), metadata_key, " is ", shown(object), ", expected an object");
  for (const auto& [key, value] : object.items())
    if (!value.is_string())
      fail(metadata_key, ": ", shown(key), " is ", shown(value), ", expected a string");
  return object.get<std::map<std::string, std::string>>();
}

/// Throws unless the entries, sorted by their data, cover it without a hole or an overlap.
void check_coverage(const std::vector<Entry>& entries, uint64_t data_size) {
  uint64_t covered = 0;
  for (const Entry& entry : entries) {
    require(entry.begin == covered, "tensor ", shown(entry.name), ": begins at ", entry.begin,
            entry.begin > covered ? ", a hole after " : ", an overlap with what ends at ", covered);
    covered = entry.end;
  }
  require(covered == data_size, "the tensors end at ", covered, " of ", data_size,
          " bytes of data");
}

}  // namespace

SafeTensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_size) {
  require(text.starts_with('{'), "the header does not begin with {");
  json object = parse_json("the header", text, 3);
  SafeTensorsHeader header;
  for (const auto& [name, value] : object.items())
    if (name == metadata_key) {
      header.metadata = parse_metadata(value);
    } else {
      // Named anew, since clang 14 captures no structured bindings.
      header.entries.push_back(in_name_of(
          "tensor " + shown(name),
          [&, &name = name, &value = value] { return parse_entry(name, value, data_size); }));
    }
  std::ranges::sort(header.entries, {}, [](const Entry& entry) {
    return std::tie(entry.begin, entry.end, entry.name);
  });
  check_coverage(header.entries, data_size);
  return header;
}

std::string safetensors_header_text(const SafeTensorsHeader& header) {
  json object = json::object();
  for (const Entry& entry : header.entries) {
    require(entry.name != metadata_key, "no tensor can be named ", metadata_key);
    object[entry.name] = {{"dtype", text(entry.dtype)},
                          {"shape", std::vector<int64_t>(entry.shape.begin(), entry.shape.end())},
                          {"data_offsets", {entry.begin, entry.end}}};
  }
  if (!header.metadata.empty()) object[metadata_key] = header.metadata;
  try {
    return object.dump();
  } catch (const json::exception&) {
    fail("a name or a metadata text is not UTF-8");
  }
}

}  // namespace shiftgrad
