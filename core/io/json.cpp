#include "core/io/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/errors.h"

namespace shiftgrad {

using nlohmann::json;

namespace {

/// An object that is not closed yet, or a list, which has no keys.
struct Level {
  std::set<std::string> keys{};
  std::string newest{};
};

/// Returns the key whose value is being read, as the start of a message.
std::string place(const std::vector<Level>& levels) {
  auto has_key = [](const Level& level) { return !level.keys.empty(); };
  auto found = std::find_if(levels.rbegin(), levels.rend(), has_key);
  return found == levels.rend() ? "" : text("key ", shown(found->newest), ": ");
}

/// Returns the number that the message of nlohmann's error shows in quotes, cut when long.
std::string number_in(const std::string& message) {
  size_t begin = message.find('\'') + 1, length = message.rfind('\'') - begin;
  return message.substr(begin, std::min<size_t>(length, 40)) + (length > 40 ? "..." : "");
}

}  // namespace

json parse_json(const char* what, std::string_view text, int max_depth) {
  // The library takes a zero byte for the end of the text.
  size_t zero = text.find('\0');
  require(zero == text.npos, what, ": not JSON: a mistake at byte ", zero + 1);
  std::vector<Level> levels;
  auto check = [&](int depth, json::parse_event_t event, const json& key) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      require(depth < max_depth, what, ": nested more than ", max_depth, " deep");
      levels.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      levels.pop_back();
    } else if (event == Event::key) {
      levels.back().newest = key.get<std::string>();
      bool is_new = levels.back().keys.insert(levels.back().newest).second;
      require(is_new, what, ": key ", shown(key), " stands twice");
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::parse_error& error) {
    fail(what, ": not JSON: a mistake at byte ", error.byte);
  } catch (const json::out_of_range& error) {
    fail(what, ": ", place(levels), number_in(error.what()), " is beyond the range of double");
  }
}

std::string shown(const json& value) {
  constexpr size_t longest = 100;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

std::string shown(const std::string& text) { return shown(json(text)); }

}  // namespace shiftgrad
