#include "tests/fuzz/json_mutator.h"

#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/fuzz/words.h"

namespace fuzz {

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

namespace {

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

void change_value(json& value, Choices& choices) {
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

}  // namespace

bool is_structure(const json& value) { return value.is_object() || value.is_array(); }

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void change(json& value, Choices& choices) {
  std::vector<json*> values = values_in(value);
  change_value(values.empty() ? value : *choices.of(values), choices);
}

}  // namespace fuzz
