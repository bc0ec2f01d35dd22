#include "tests/fuzz/checkpoint_mutator.h"

#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/fuzz/checkpoint_seeds.h"
#include "tests/fuzz/words.h"

namespace fuzz {

namespace {

using json = nlohmann::ordered_json;

constexpr size_t prefix = 8;

/// A file whose header is a value, and so are the JSON texts in its metadata.
struct File {
  json header;
  std::string data;
};

bool is_structure(const json& value) { return value.is_object() || value.is_array(); }

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

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
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

/// Numbers at which sizes, sums and products go wrong.
json extreme(Choices& choices) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                    most = std::numeric_limits<int64_t>::max();
  constexpr int64_t numbers[] = {0,          -1,          1,
                                 2,          3,           7,
                                 255,        65536,       1 << 24,
                                 25000000,   100000000,   2147483647,
                                 2147483648, -2147483648, 4294967295,
                                 4294967296, 1LL << 53,   288230376151711744,
                                 1LL << 60,  1LL << 61,   (1LL << 62) - 1,
                                 1LL << 62,  most / 2,    most - 1,
                                 most,       least + 1,   least};
  constexpr double fractions[] = {0.5, 1.5, -0.5, 0.999999, 1e-300, 1e300, -1e300, 4.9e-324};
  if (choices.once_in(30)) return std::numeric_limits<uint64_t>::max();
  if (choices.once_in(5)) return choices.of(fractions);
  return choices.of(numbers);
}

json nearby(const json& number, Choices& choices) {
  if (!number.is_number_integer()) return number.get<double>() * (choices.once_in(2) ? -1 : 1e9);
  auto value = static_cast<uint64_t>(number.get<int64_t>());
  uint64_t others[] = {value + 1, value - 1, 2 * value, value / 2, 0 - value};
  return static_cast<int64_t>(choices.of(others));
}

json odd_text(Choices& choices) {
  constexpr const char* strange[] = {"", " ", "1", "\x1b[2J", "\u009b2J", "\u202e", "a\nb", "%s"};
  switch (choices.below(20)) {
    case 0:
      return std::string(1, '\0');
    case 1:
      return std::string(3000, 'a');
    default:
      return choices.once_in(3) ? json(choices.of(strange)) : json(choices.of(known_words()));
  }
}

json any_value(Choices& choices) {
  switch (choices.below(8)) {
    case 0:
      return nullptr;
    case 1:
      return choices.once_in(2);
    case 2:
      return odd_text(choices);
    case 3:
      return json::array();
    case 4:
      return json::object();
    case 5:
      return json::array({extreme(choices), extreme(choices)});
    default:
      return extreme(choices);
  }
}

/// All values inside of `value` that stand under a key or in a list.
std::vector<json*> values_in(json& value) {
  std::vector<json*> found;
  if (!is_structure(value)) return found;
  for (json& inner : value) {
    found.push_back(&inner);
    for (json* deeper : values_in(inner)) found.push_back(deeper);
  }
  return found;
}

void change(json& value, Choices& choices) {
  size_t way = choices.below(8);
  if (value.is_number() && way < 4) {
    value = extreme(choices);
  } else if (value.is_number() && way < 6) {
    value = nearby(value, choices);
  } else if (value.is_boolean() && way < 6) {
    value = !value.get<bool>();
  } else if (value.is_string() && way < 5) {
    value = odd_text(choices);
  } else if (value.is_string() && way < 7) {
    value = mutated_bytes(value.get<std::string>(), 100);
  } else if (is_structure(value) && !value.empty() && way < 4) {
    auto entry = value.begin();
    std::advance(entry, choices.below(value.size()));
    value.erase(entry);
  } else if (value.is_object() && way < 6) {
    value["unknown"] = any_value(choices);
  } else if (value.is_array() && way < 6) {
    value.push_back(any_value(choices));
  } else {
    value = any_value(choices);
  }
}

/// Gives one value of a section the value that the same section of another checkpoint has.
void cross(json& section, const json& other, Choices& choices) {
  if (!section.is_object() || !other.is_object() || other.empty()) return;
  auto entry = other.begin();
  std::advance(entry, choices.below(other.size()));
  section[entry.key()] = entry.value();
}

/// Changes the values of a weight, or how many there are.
void change_data(std::string& data, Choices& choices) {
  static const uint32_t floats[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x00000001, 0};
  if (choices.once_in(8)) return data.resize(choices.below(2 * data.size() + 8));
  if (data.size() < sizeof(uint32_t)) return;
  size_t place = sizeof(uint32_t) * choices.below(data.size() / sizeof(uint32_t));
  std::memcpy(data.data() + place, &choices.of(floats), sizeof(uint32_t));
}

void change(File& file, Choices& choices) {
  json& metadata = file.header["__metadata__"];
  auto section = [&]() -> json& {
    size_t way = choices.below(16);
    if (way < 7 && metadata.contains("model")) return metadata["model"];
    if (way < 12 && metadata.contains("training")) return metadata["training"];
    return way < 15 ? metadata : file.header;
  };
  if (choices.once_in(10)) return change_data(file.data, choices);
  if (choices.once_in(10)) {
    const char* name = choices.once_in(2) ? "model" : "training";
    std::optional<File> other = parsed(checkpoint_seed(choices));
    return cross(metadata[name], other->header["__metadata__"][name], choices);
  }
  json& changed = section();
  std::vector<json*> values = values_in(changed);
  change(values.empty() ? changed : *choices.of(values), choices);
  if (!metadata.is_object()) metadata = json::object();
}

}  // namespace

std::string mutated_checkpoint(const std::string& file, size_t longest, Choices& choices) {
  std::optional<File> content = parsed(file);
  if (content && choices.once_in(20)) return mutated_bytes(file, longest);
  if (!content || choices.once_in(30)) content = parsed(checkpoint_seed(choices));
  change(*content, choices);
  std::string result = framed(*content);
  return result.size() <= longest ? result : mutated_bytes(file, longest);
}

}  // namespace fuzz
