#include "core/io/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/errors.h"

namespace shiftgrad {

using nlohmann::json;

namespace {

/// Returns the start of a number, cut when long.
std::string cut(const std::string& number) {
  return number.substr(0, 40) + (number.size() > 40 ? "..." : "");
}

/// Follows a text's parts in their order, and throws at what parse_json refuses. The library's own
/// way to watch its parser takes time with the square of an object's keys.
class Check : public nlohmann::json_sax<json> {
 public:
  Check(const char* what, int max_depth) : what_(what), max_depth_(max_depth) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(size_t) override { return begin(); }
  bool start_array(size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }

  bool key(std::string& key) override {
    levels_.back().newest = key;
    if (!levels_.back().keys.insert(key).second) fail(what_, ": key ", shown(key), " stands twice");
    return true;
  }

  bool parse_error(size_t byte, const std::string& last, const json::exception& error) override {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow)
      fail(what_, ": ", place(), cut(last), " is beyond the range of double");
    fail(what_, ": not JSON: a mistake at byte ", byte);
  }

 private:
  /// An object that is not closed yet, or a list, which has no keys.
  struct Level {
    std::set<std::string> keys{};
    std::string newest{};
  };

  bool begin() {
    require(std::ssize(levels_) < max_depth_, what_, ": nested more than ", max_depth_, " deep");
    levels_.emplace_back();
    return true;
  }
  bool end() {
    levels_.pop_back();
    return true;
  }

  /// Returns the key whose value is being read, as the start of a message.
  std::string place() const {
    auto has_key = [](const Level& level) { return !level.keys.empty(); };
    auto found = std::find_if(levels_.rbegin(), levels_.rend(), has_key);
    return found == levels_.rend() ? "" : text("key ", shown(found->newest), ": ");
  }

  const char* what_;
  int max_depth_;
  std::vector<Level> levels_;
};

}  // namespace

json parse_json(const char* what, std::string_view text, int max_depth) {
  // The library takes a zero byte for the end of the text.
  size_t zero = text.find('\0');
  require(zero == text.npos, what, ": not JSON: a mistake at byte ", zero + 1);
  Check check(what, max_depth);
  json::sax_parse(text, &check);
  return json::parse(text);
}

std::string shown(const json& value) {
  constexpr size_t longest = 100;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

std::string shown(const std::string& text) { return shown(json(text)); }

}  // namespace shiftgrad
