#include "nn/json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/errors.h"

namespace shiftgrad {

using nlohmann::json;

json parse_json(const char* what, std::string_view text, int max_depth) {
  // The library takes a zero byte for the end of the text.
  size_t zero = text.find('\0');
  require(zero == text.npos, what, ": not JSON: a mistake at byte ", zero + 1);

  std::vector<std::set<std::string>> open_objects;
  auto check = [&](int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start)
      require(depth < max_depth, what, ": nested more than ", max_depth, " deep");
    if (event == Event::object_start) open_objects.emplace_back();
    if (event == Event::object_end) open_objects.pop_back();
    if (event == Event::key)
      require(open_objects.back().insert(value.get<std::string>()).second, what, ": key ",
              shown(value), " stands twice");
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::parse_error& error) {
    fail(what, ": not JSON: a mistake at byte ", error.byte);
  } catch (const json::exception&) {
    fail(what, ": not JSON: a number out of range");
  }
}

std::string shown(const json& value) {
  constexpr size_t longest = 100;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

std::string shown(const std::string& text) { return shown(json(text)); }

}  // namespace shiftgrad
