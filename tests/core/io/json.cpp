#include "core/io/json.h"

#include <nlohmann/json.hpp>

#include "tests/support/refusal.h"

using namespace shiftgrad;
using nlohmann::json;

TEST_CASE("parse_json: a value of every kind") {
  json value = parse_json("x", R"( {"a": [1, -2, 3.5, "x", null, true], "b": {"a": {}}} )", 3);
  CHECK(value["a"] == json({1, -2, 3.5, "x", nullptr, true}));
  CHECK(value["b"]["a"] == json::object());
}

TEST_CASE("parse_json: what is refused") {
  auto refused = [](const std::string& text) { return refusal([&] { parse_json("x", text, 3); }); };
  CHECK(refused("") == "x: not JSON: a mistake at byte 1");
  CHECK(refused("{") == "x: not JSON: a mistake at byte 2");
  CHECK(refused("{} {}") == "x: not JSON: a mistake at byte 4");
  CHECK(refused("{\"a\": 01}") == "x: not JSON: a mistake at byte 8");
  CHECK(refused("\"\xff\"") == "x: not JSON: a mistake at byte 2");
  CHECK(refused("[1e999]") == "x: 1e999 is beyond the range of double");
  CHECK(refused(R"({"a": 1, "b": [2, -1e400]})") ==
        R"(x: key "b": -1e400 is beyond the range of double)");
  CHECK(refused(R"({"a": [{"c": 1}, 1e999]})") ==
        R"(x: key "a": 1e999 is beyond the range of double)");
  CHECK(refused("[1" + std::string(1000, '0') + "]") ==
        "x: 1" + std::string(39, '0') + "... is beyond the range of double");
  CHECK(refused(std::string("{}\0{", 4)) == "x: not JSON: a mistake at byte 3");
  CHECK(refused(R"({"a": 1, "\u0061": 2})") == R"(x: key "a" stands twice)");
  CHECK(refused(R"([{"a": {}, "b": {"c": 1, "c": 2}}])") == R"(x: key "c" stands twice)");
  CHECK(refused("[[[[]]]]") == "x: nested more than 3 deep");
  CHECK(refused(std::string(1'000'000, '[')) == "x: nested more than 3 deep");
}

TEST_CASE("shown: one line of ASCII, not too long") {
  CHECK(shown(json({1, "x"})) == R"([1,"x"])");
  CHECK(shown(std::string("a\n\"b\" ä")) == R"("a\n\"b\" \u00e4")");
  CHECK(shown(std::string("\xff")) == R"("\ufffd")");
  CHECK(shown(std::string(1000, 'x')).size() == 103);
}
