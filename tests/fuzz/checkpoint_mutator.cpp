#include "tests/fuzz/checkpoint_mutator.h"

#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/fuzz/affordable.h"
#include "tests/fuzz/json_mutator.h"

namespace fuzz {

namespace {

constexpr size_t prefix = 8;

/// A file whose header is a value, and so are the JSON texts in its metadata.
struct File {
  json header;
  std::string data;
};

std::optional<File> parsed(const std::string& bytes) {
  uint64_t length = 0;
  if (bytes.size() < prefix) return {};
  std::memcpy(&length, bytes.data(), prefix);
  if (length > bytes.size() - prefix) return {};
  File file{json::parse(bytes.substr(prefix, length), nullptr, false),
            bytes.substr(prefix + length)};
  if (!file.header.is_object() || !file.header.contains("__metadata__")) return {};
  json& metadata = file.header["__metadata__"];
  if (!metadata.is_object()) return {};
  for (json& text : metadata) {
    if (!text.is_string()) continue;
    json value = json::parse(text.get<std::string>(), nullptr, false);
    if (is_structure(value) || value.is_number()) text = value;
  }
  return file;
}

std::string framed(File file) {
  for (json& text : file.header["__metadata__"])
    if (!text.is_string()) text = dumped(text);
  std::string header = dumped(file.header);
  uint64_t length = header.size();
  std::string bytes(prefix, '\0');
  std::memcpy(bytes.data(), &length, prefix);
  return bytes + header + file.data;
}

/// Gives one value of a section the value that the same section of another checkpoint has.
void cross(json& section, const json& other, Choices& choices) {
  if (!section.is_object() || !other.is_object() || other.empty()) return;
  auto entry = other.begin();
  std::advance(entry, choices.below(other.size()));
  section[entry.key()] = entry.value();
}

/// Where the bytes of a tensor lie, or {0, 0} for what is none in these data.
std::pair<size_t, size_t> place_of(const json& tensor, const std::string& data) {
  if (!tensor.is_object() || !tensor.contains("data_offsets")) return {};
  const json& offsets = tensor["data_offsets"];
  bool pair = offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
              offsets[1].is_number_unsigned();
  if (!pair) return {};
  auto begin = offsets[0].get<size_t>(), end = offsets[1].get<size_t>();
  return begin <= end && end <= data.size() ? std::pair(begin, end) : std::pair<size_t, size_t>();
}

/// Changes a value of a tensor, or how many bytes there are: floats that are not finite, and whole
/// numbers at which sums go wrong, come in the place of four or eight bytes.
void change_data(File& file, Choices& choices) {
  static const uint64_t values[] = {0,
                                    1,
                                    0x7FC00000,
                                    0x7F800000,
                                    0xFF800000,
                                    0x7F7FFFFF,
                                    0xFFFFFFFF,
                                    0x7FF8000000000000,
                                    0x7FF0000000000000,
                                    0x7FEFFFFFFFFFFFFF,
                                    0x7FFFFFFFFFFFFFFF,
                                    0x8000000000000000,
                                    0xFFFFFFFFFFFFFFFF};
  if (choices.once_in(8)) return file.data.resize(choices.below(2 * file.data.size() + 8));
  auto entry = file.header.begin();
  std::advance(entry, choices.below(file.header.size()));
  auto [begin, end] = place_of(*entry, file.data);
  size_t width = choices.once_in(2) ? 4 : 8;
  if (end - begin < width) return;
  size_t place = begin + width * choices.below((end - begin) / width);
  std::memcpy(file.data.data() + place, &choices.of(values), width);
}

void change(File& file, Seed* seed, Choices& choices) {
  json& metadata = file.header["__metadata__"];
  auto section = [&]() -> json& {
    size_t way = choices.below(16);
    if (way < 7 && metadata.contains("model")) return metadata["model"];
    if (way < 12 && metadata.contains("training")) return metadata["training"];
    return way < 15 ? metadata : file.header;
  };
  if (choices.once_in(10)) return change_data(file, choices);
  if (choices.once_in(10)) {
    const char* name = choices.once_in(2) ? "model" : "training";
    std::optional<File> other = parsed(seed(choices));
    return cross(metadata[name], other->header["__metadata__"][name], choices);
  }
  change(section(), choices);
  if (!metadata.is_object()) metadata = json::object();
}

std::string mutated_checkpoint(const std::string& file, size_t longest, Seed* seed,
                               Choices& choices) {
  std::optional<File> content = parsed(file);
  if (content && choices.once_in(20)) return mutated_bytes(file, longest);
  if (!content || choices.once_in(30)) content = parsed(seed(choices));
  change(*content, seed, choices);
  std::string result = framed(*content);
  return result.size() <= longest ? result : mutated_bytes(file, longest);
}

}  // namespace

size_t mutate_checkpoint(uint8_t* data, size_t size, size_t longest, Seed* seed, unsigned number) {
  Choices choices(number);
  std::string file(reinterpret_cast<const char*>(data), size);
  return put(mutated_checkpoint(file, longest, seed, choices), data, longest);
}

std::string affordable_checkpoint(const std::string& file) {
  std::optional<File> content = parsed(file);
  if (!content || !content->header["__metadata__"].contains("training")) return file;
  json& training = content->header["__metadata__"]["training"];
  json affordable = json::parse(fuzz::affordable(dumped(training)), nullptr, false);
  if (affordable == training) return file;
  training = affordable;
  return framed(*content);
}

}  // namespace fuzz
