#include "core/field.h"

#include <array>

#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

enum class Color { red, green };
constexpr auto names(Color) { return std::array{"red", "green"}; }

struct PaintConfig {
  int64_t layers = 2;
  std::optional<double> gloss{};
  bool primed = true;
  Color color = Color::green;
  std::string shop = "any";

  template <class Fields>
  void fields(Fields&& field) {
    field(layers, {"layers", "layers of paint", quantity::layers});
    field(gloss, {"gloss", "share of light", {"SHARE", range::probability}});
    field(primed, {"primed", "whether there is a primer"}, true);
    field(color, {"color", "what it looks like"}, required);
    field(shop, {"shop", "where it comes from", {"any|near"}});
  }
};

}  // namespace

TEST_CASE("field: the type or the quantity says what values are called") {
  std::string units;
  PaintConfig().fields([&]<class Value>(const Value&, const Field& field, const auto&...) {
    units += text(field.name, '=', unit_of<Value>(field), ' ');
  });
  CHECK(units == "layers=LAYERS gloss=SHARE primed=BOOL color=red|green shop=any|near ");
}

TEST_CASE("field: a config is checked by the ranges of its fields") {
  check_fields("paint", PaintConfig{});
  check_fields("paint", PaintConfig{.gloss = 1});
  CHECK(refusal([] { check_fields("paint", PaintConfig{.layers = 0}); }) ==
        "paint: layers 0, expected at least 1");
  CHECK(refusal([] { check_fields("paint", PaintConfig{.layers = 2'000'000'000}); }) ==
        "paint: layers 2000000000, expected at most 10000");
  CHECK(refusal([] { check_fields("paint", PaintConfig{.gloss = 1.5}); }) ==
        "paint: gloss 1.5, expected 0 to 1");
}

TEST_CASE("field: a value is judged by its range, whether it may be absent or not") {
  const Field share{.name = "share", .of = {"SHARE", range::probability}};
  CHECK(value_error(1.5, share) == ", expected 0 to 1");
  CHECK(value_error(0.5, share) == "");
  CHECK(value_error(std::optional(1.5), share) == ", expected 0 to 1");
  CHECK(value_error(std::optional<double>(), share) == "");
  CHECK(value_error(std::string("any"), share) == "");
}
