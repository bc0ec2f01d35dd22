#include "core/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>

#include "core/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/json.h"
#include "core/io/path.h"
#include "core/io/read_file.h"

namespace shiftgrad {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie");

using nlohmann::json;

namespace {

constexpr uint64_t length_size = 8;
constexpr uint64_t longest_header = 100'000'000;
constexpr size_t bytes_of_piece = size_t{1} << 16;
constexpr const char* metadata_key = "__metadata__";

/// How much a reader lets pass. A strict one knows each type and each field; a lenient one takes
/// what it does not know as the file describes it.
enum class Reader { strict, lenient };

std::string parse_dtype(const json& name, Reader reader) {
  require(name.is_string(), "dtype is ", shown(name), ", expected a string");
  const auto& text = name.get_ref<const std::string&>();
  require(reader == Reader::lenient || is_name<DType>(text), "unknown dtype ", shown(name));
  return text;
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

std::vector<int64_t> parse_shape(const json& list, Reader reader) {
  std::vector<uint64_t> sizes = parse_numbers("shape", list);
  require(reader == Reader::lenient || sizes.size() <= Dims::max_rank, "shape has ", sizes.size(),
          " axes, expected at most ", Dims::max_rank);
  std::vector<int64_t> shape;
  for (uint64_t size : sizes) {
    require(size <= std::numeric_limits<int64_t>::max(), "shape holds ", size,
            ", more than memory can hold");
    shape.push_back(static_cast<int64_t>(size));
  }
  return shape;
}

TensorEntry parse_entry(const std::string& name, const json& object, uint64_t data_size,
                        Reader reader) {
  require(object.is_object(), "is ", shown(object), ", expected an object");
  for (const char* field : {"dtype", "shape", "data_offsets"})
    require(object.contains(field), "has no ", field);
  for (const auto& [field, value] : object.items())
    require(reader == Reader::lenient || field == "dtype" || field == "shape" ||
                field == "data_offsets",
            "has an unknown field ", shown(field));

  TensorEntry entry{name, parse_dtype(object["dtype"], reader),
                    parse_shape(object["shape"], reader)};
  std::vector<uint64_t> offsets = parse_numbers("data_offsets", object["data_offsets"]);
  require(offsets.size() == 2, "data_offsets has ", offsets.size(), " numbers, expected 2");
  uint64_t begin = offsets[0], end = offsets[1];
  require(begin <= end, "data_offsets begins at ", begin, " and ends at ", end);
  require(end <= data_size, "data_offsets ends at ", end, " of ", data_size, " bytes of data");
  entry.begin = begin;
  entry.end = end;
  if (!is_name<DType>(entry.dtype)) return entry;
  auto expected = static_cast<uint64_t>(byte_count(value_named<DType>(entry.dtype), entry.shape));
  if (end - begin != expected)
    fail("data_offsets spans ", end - begin, " bytes, but ", entry.dtype, ' ',
         shape_text(entry.shape), " takes ", expected);
  return entry;
}

std::map<std::string, std::string> parse_metadata(const json& object) {
  require(object.is_object(), metadata_key, " is ", shown(object), ", expected an object");
  for (const auto& [key, value] : object.items())
    if (!value.is_string())
      fail(metadata_key, ": ", shown(key), " is ", shown(value), ", expected a string");
  return object.get<std::map<std::string, std::string>>();
}

/// Throws unless the entries, sorted by their data, cover it without a hole or an overlap.
void check_coverage(const std::vector<TensorEntry>& entries, uint64_t data_size) {
  uint64_t covered = 0;
  for (const TensorEntry& entry : entries) {
    require(entry.begin == covered, "tensor ", shown(entry.name), ": begins at ", entry.begin,
            entry.begin > covered ? ", a hole after " : ", an overlap with what ends at ", covered);
    covered = entry.end;
  }
  require(covered == data_size, "the tensors end at ", covered, " of ", data_size,
          " bytes of data");
}

/// Returns the tensors in the order of their data. Throws at whatever the format does not allow in
/// a header that `data_size` bytes follow.
std::vector<TensorEntry> parse_entries(const json& header, uint64_t data_size, Reader reader) {
  std::vector<TensorEntry> entries;
  for (const auto& [name, value] : header.items())
    // Named anew, since clang 14 captures no structured bindings.
    if (name != metadata_key)
      entries.push_back(in_name_of("tensor " + shown(name), [&, &name = name, &value = value] {
        return parse_entry(name, value, data_size, reader);
      }));
  std::ranges::sort(entries, {}, [](const TensorEntry& entry) {
    return std::tie(entry.begin, entry.end, entry.name);
  });
  check_coverage(entries, data_size);
  return entries;
}

void check_truth_values(const std::string& name, std::span<const std::byte> values) {
  for (std::byte value : values)
    if (value > std::byte{1})
      fail("tensor ", shown(name), ": a BOOL of ", std::to_integer<int>(value),
           ", expected 0 or 1");
}

/// Returns the header, and the number of bytes that follow it.
std::pair<json, uint64_t> read_header(RegularFile& file) {
  uint64_t file_size = file.size(), header_size = 0;
  require(file_size >= length_size, "not a safetensors file: is ", file_size,
          " bytes long, expected at least ", length_size);
  file.read(&header_size, length_size);
  require(header_size <= longest_header, "not a safetensors file: a header of ", header_size,
          " bytes, expected at most ", longest_header);
  require(header_size <= file_size - length_size, "not a safetensors file: a header of ",
          header_size, " bytes in a file of ", file_size);
  std::string text(header_size, ' ');
  file.read(text.data(), header_size);
  require(text.starts_with('{'), "the header does not begin with {");
  return {parse_json("the header", text, 3), file_size - length_size - header_size};
}

/// Returns the path, at which there is something to open. Throws otherwise.
const std::string& path_to_file(const std::string& path) {
  std::error_code problem;
  bool exists = std::filesystem::exists(path_of(path), problem);
  if (problem) fail(problem.message());
  require(exists, "no such file");
  return path;
}

/// Reads the header of a file, whose data follow in the order of the entries.
TensorList read_list(RegularFile& file, Reader reader) {
  auto [header, data_size] = read_header(file);
  TensorList list;
  auto metadata = header.find(metadata_key);
  // Python's package takes null for no metadata.
  bool absent = metadata == header.end() || (reader == Reader::lenient && metadata->is_null());
  if (!absent) list.metadata = parse_metadata(*metadata);
  list.entries = parse_entries(header, data_size, reader);
  return list;
}

/// Returns the tensor with its bytes in memory.
StoredTensor held(const std::string& name, const StoredTensor& tensor) {
  size_t size = tensor.bytes.size();
  auto bytes = within_memory([&] { return std::vector<std::byte>(size); }, "tensor ", shown(name),
                             ", ", size, " bytes");
  tensor.bytes.copy_to(bytes.data());
  return {tensor.dtype, tensor.shape, std::move(bytes)};
}

/// Returns the tensors of a file, of which only those of BOOL are in memory.
SafeTensors open_content(const std::string& path) {
  auto file = std::make_shared<RegularFile>(path_to_file(path));
  TensorList list = read_list(*file, Reader::strict);
  uint64_t data = file->size() - (list.entries.empty() ? 0 : list.entries.back().end);
  SafeTensors content{{}, std::move(list.metadata)};
  for (const TensorEntry& entry : list.entries) {
    StoredTensor tensor{value_named<DType>(entry.dtype), Dims(entry.shape),
                        Bytes(file, data + entry.begin, entry.end - entry.begin)};
    if (tensor.dtype == DType::boolean) {
      tensor = held(entry.name, tensor);
      check_truth_values(entry.name, tensor.bytes);
    }
    content.tensors[entry.name] = std::move(tensor);
  }
  return content;
}

SafeTensors read_content(const std::string& path) {
  SafeTensors content = open_content(path);
  for (auto& [name, tensor] : content.tensors)
    if (tensor.dtype != DType::boolean) tensor = held(name, tensor);
  return content;
}

TensorList visit_content(const std::string& path, const PieceOfTensor& visit) {
  RegularFile file(path_to_file(path));
  TensorList list = read_list(file, Reader::lenient);
  std::vector<std::byte> piece(visit ? bytes_of_piece : 0);
  for (const TensorEntry& entry : list.entries)
    for (uint64_t place = entry.begin; visit && place < entry.end;) {
      uint64_t count = std::min<uint64_t>(piece.size(), entry.end - place);
      file.read(piece.data(), count);
      visit(entry, std::span(piece).first(count));
      place += count;
    }
  return list;
}

/// Returns the names of the tensors in the order of their data.
std::vector<std::string> data_order(const SafeTensors& content) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : content.tensors) names.push_back(name);
  std::ranges::stable_sort(names, std::greater(), [&](const std::string& name) {
    return bits_of(content.tensors.at(name).dtype);
  });
  return names;
}

/// Returns the header's JSON. Throws when a tensor does not have the bytes of its shape or has the
/// name of the metadata, and when a name or a metadata text is not UTF-8.
std::string header_text(const SafeTensors& content, const std::vector<std::string>& names) {
  json object = json::object();
  uint64_t position = 0;
  for (const std::string& name : names) {
    const auto& [dtype, shape, bytes] = content.tensors.at(name);
    auto expected = static_cast<uint64_t>(byte_count(dtype, shape));
    require(bytes.size() == expected, "tensor ", shown(name), ": ", bytes.size(), " bytes, but ",
            dtype, ' ', shape, " takes ", expected);
    require(name != metadata_key, "no tensor can be named ", metadata_key);
    object[name] = {{"dtype", text(dtype)},
                    {"shape", std::vector<int64_t>(shape.begin(), shape.end())},
                    {"data_offsets", {position, position + expected}}};
    position += expected;
  }
  if (!content.metadata.empty()) object[metadata_key] = content.metadata;
  try {
    return object.dump();
  } catch (const json::exception&) {
    fail("a name or a metadata text is not UTF-8");
  }
}

}  // namespace

SafeTensors read_safetensors(const std::string& path) {
  return in_name_of(path, [&] { return read_content(path); });
}

SafeTensors open_safetensors(const std::string& path) {
  return in_name_of(path, [&] { return open_content(path); });
}

TensorList list_safetensors(const std::string& path, const PieceOfTensor& visit) {
  return in_name_of(path, [&] { return visit_content(path, visit); });
}

void write_safetensors(const std::string& path, const SafeTensors& content) {
  std::vector<std::string> names = data_order(content);
  std::string text = in_name_of(path, [&] { return header_text(content, names); });
  require(text.size() <= longest_header, path, ": a header of ", text.size(),
          " bytes, expected at most ", longest_header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(&length, 1)),
                                                 std::as_bytes(std::span(text))};
  for (const std::string& name : names) pieces.emplace_back(content.tensors.at(name).bytes);
  write_file_atomically(path, pieces);
}

}  // namespace shiftgrad
