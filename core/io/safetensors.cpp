#include "core/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>

#include "core/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/json.h"
#include "core/io/read_file.h"
#include "core/io/safetensors_header.h"

namespace shiftgrad {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie");

namespace {

constexpr uint64_t length_size = 8;
constexpr uint64_t longest_header = 100'000'000;

void check_truth_values(const std::string& name, std::span<const std::byte> values) {
  for (std::byte value : values)
    if (value > std::byte{1})
      fail("tensor ", shown(name), ": a BOOL of ", std::to_integer<int>(value),
           ", expected 0 or 1");
}

SafeTensors read_content(const std::string& path) {
  std::error_code problem;
  bool exists = std::filesystem::exists(path, problem);
  if (problem) fail(problem.message());
  require(exists, "no such file");
  RegularFile file(path);
  uint64_t file_size = file.size();
  require(file_size >= length_size, "not a safetensors file: is ", file_size,
          " bytes long, expected at least ", length_size);
  uint64_t header_size = 0;
  file.read(&header_size, length_size);
  require(header_size <= longest_header, "not a safetensors file: a header of ", header_size,
          " bytes, expected at most ", longest_header);
  require(header_size <= file_size - length_size, "not a safetensors file: a header of ",
          header_size, " bytes in a file of ", file_size);
  std::string text(header_size, ' ');
  file.read(text.data(), header_size);
  auto header = parse_safetensors_header(text, file_size - length_size - header_size);

  SafeTensors content{{}, std::move(header.metadata)};
  for (const auto& [name, dtype, shape, begin, end] : header.entries) {
    std::vector<std::byte> bytes(end - begin);
    file.read(bytes.data(), bytes.size());
    if (dtype == DType::boolean) check_truth_values(name, bytes);
    content.tensors[name] = {dtype, shape, std::move(bytes)};
  }
  return content;
}

}  // namespace

SafeTensors read_safetensors(const std::string& path) {
  return in_name_of(path, [&] { return read_content(path); });
}

namespace {

/// Returns the header of a file whose data are the tensors in the order of the header's entries.
SafeTensorsHeader header_for(const SafeTensors& content) {
  SafeTensorsHeader header{{}, content.metadata};
  for (const auto& [name, tensor] : content.tensors) {
    auto expected = static_cast<uint64_t>(byte_count(tensor.dtype, tensor.shape));
    require(tensor.bytes.size() == expected, "tensor ", shown(name), ": ", tensor.bytes.size(),
            " bytes, but ", tensor.dtype, ' ', tensor.shape, " takes ", expected);
    header.entries.push_back({name, tensor.dtype, tensor.shape, 0, expected});
  }
  std::ranges::stable_sort(header.entries, std::greater(),
                           [](const auto& entry) { return size_of(entry.dtype); });
  uint64_t position = 0;
  for (auto& entry : header.entries) {
    entry.begin += position;
    entry.end += position;
    position = entry.end;
  }
  return header;
}

}  // namespace

void write_safetensors(const std::string& path, const SafeTensors& content) {
  std::string text;
  std::vector<std::span<const std::byte>> pieces(2);
  in_name_of(path, [&] {
    SafeTensorsHeader header = header_for(content);
    text = safetensors_header_text(header);
    require(text.size() <= longest_header, "a header of ", text.size(), " bytes, expected at most ",
            longest_header);
    for (const auto& entry : header.entries) pieces.push_back(content.tensors.at(entry.name).bytes);
  });
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  pieces[0] = std::as_bytes(std::span(&length, 1));
  pieces[1] = std::as_bytes(std::span(text));
  write_file_atomically(path, pieces);
}

}  // namespace shiftgrad
