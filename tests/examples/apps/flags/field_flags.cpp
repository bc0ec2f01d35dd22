#include "examples/apps/flags/field_flags.h"

#include <doctest/doctest.h>

#include <array>
#include <map>

using namespace shiftgrad;

namespace {

enum class Ink { red, green };
constexpr auto names(Ink) { return std::array{"red", "green"}; }

struct PenConfig {
  int64_t width = 3;
  std::optional<int64_t> length{};
  Ink color = Ink::green;

  template <class Fields>
  void fields(Fields&& field) {
    field(width, {"width", "width of a line", {"DOTS", range::one_or_more}});
    field(length, {"length", "length of a line", {"DOTS", range::one_or_more}});
    field(color, {"color", "what it looks like"});
  }
};

struct BrushConfig {
  int64_t width = 0;
  int64_t length = 5;
  bool wet = false;

  template <class Fields>
  void fields(Fields&& field) {
    field(width, {"width", "width of a line", {"DOTS", range::zero_or_more}});
    field(length, {"length", "length of the hair", {"DOTS", Range{1, 7}}});
    field(wet, {"wet", "whether it needs water"}, false);
  }
};

apps::FieldFlags both() {
  apps::FieldFlags flags;
  flags.add("pen", PenConfig(), {});
  flags.add("brush", BrushConfig(), {"wet"});
  return flags;
}

std::map<std::string, Field> fields_of(apps::FieldFlags flags) {
  std::map<std::string, Field> found;
  flags.visit([&](auto&, const Field& field) { found[field.name] = field; });
  return found;
}

}  // namespace

TEST_CASE("field flags: fields of one name share a flag, and its help says what each kind does") {
  std::map<std::string, Field> fields = fields_of(both());
  CHECK(fields.size() == 3);
  CHECK(fields["width"].help ==
        "pen: width of a line (default: 3); brush: width of a line (default: none)");
  CHECK(fields["length"].help ==
        "pen: length of a line (default: none); brush: length of the hair (default: 5)");
  CHECK(fields["color"].help == "pen: what it looks like (default: green)");
  CHECK(fields["color"].choices == "red|green");
  CHECK(fields["width"].of.range.least == 0);
  CHECK(fields["length"].of.range.greatest == range::most);
}

TEST_CASE("field flags: what is given goes into the config, and what is not leaves it") {
  apps::FieldFlags flags = both();
  flags.visit([](auto& value, const Field& field) {
    if constexpr (std::is_same_v<decltype(value), std::optional<int64_t>&>)
      if (field.name == std::string("width")) value = 9;
    if constexpr (std::is_same_v<decltype(value), std::optional<std::string>&>) value = "red";
  });
  CHECK(flags.has("width"));
  CHECK_FALSE(flags.has("length"));
  CHECK_FALSE(flags.has("wet"));
  PenConfig pen;
  flags.apply_to(pen);
  CHECK(pen.width == 9);
  CHECK_FALSE(pen.length.has_value());
  CHECK(pen.color == Ink::red);
  BrushConfig brush;
  flags.apply_to(brush);
  CHECK(brush.width == 9);
  CHECK(brush.length == 5);
}

TEST_CASE("field flags: a config becomes the flags that make it") {
  apps::FieldFlags flags = both();
  flags.take_from(PenConfig{.width = 9, .color = Ink::red});
  flags.take_from(BrushConfig{.width = 4});
  PenConfig pen;
  flags.apply_to(pen);
  CHECK(pen.width == 4);
  CHECK(pen.length == 5);
  CHECK(pen.color == Ink::green);
  CHECK(flags.has("width"));
  CHECK_FALSE(flags.has("color"));
}
