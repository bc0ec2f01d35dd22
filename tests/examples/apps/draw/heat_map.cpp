#include "examples/apps/draw/heat_map.h"

#include <cmath>
#include <limits>

#include "tests/support/refusal.h"

using namespace apps;

namespace {

bool draws_map(const Drawing& drawing, const std::string& text) {
  return drawing.content.find(text) != std::string::npos;
}

HeatMap map_of(const std::vector<double>& values, int64_t columns) {
  return {.title = "head 0",
          .rows = {"query", {}},
          .columns = {"key", {}},
          .values = values,
          .column_count = columns};
}

}  // namespace

TEST_CASE("heat map: a cell has the colour of its sign and of the root of its value") {
  Drawing drawing = drawn(map_of({1, 0.25, -0.25, 0}, 2), 10);
  CHECK(draws_map(drawing, "<path stroke=\"#053061\" data-share=\"1\" d=\"M0 0h1\"/>"));
  CHECK(draws_map(drawing, "<path stroke=\"#6bacd1\" data-share=\"0.5\" d=\"M1 0h1\"/>"));
  CHECK(draws_map(drawing, "<path stroke=\"#ef9d3c\" data-share=\"-0.5\" d=\"M0 1h1\"/>"));
  CHECK(draws_map(drawing, "<path stroke=\"#f7f7f7\" data-share=\"0\" d=\"M1 1h1\"/>"));
}

TEST_CASE("heat map: weights have a scale of their own, and a bar says what its colours mean") {
  HeatMap map = map_of({0, 0.25, 1, std::nan("")}, 2);
  Drawing drawing = drawn(map, 10);
  CHECK(draws_map(drawing, "<path stroke=\"#440154\" data-share=\"0\" d=\"M0 0h1\"/>"));
  CHECK(draws_map(drawing, "<path stroke=\"#21918c\" data-share=\"0.5\" d=\"M1 0h1\"/>"));
  CHECK(draws_map(drawing, "<path stroke=\"#fde725\" data-share=\"1\" d=\"M0 1h1\"/>"));
  CHECK(draws_map(drawing, "<path class=\"hidden\" d=\"M1 1h1\"/>"));
  CHECK(draws_map(drawing, ">0.25</text>"));
  CHECK(draws_map(drawing, ">hidden</text>"));
  map.is_signed = true;
  CHECK(draws_map(drawn(map, 10), "<path stroke=\"#f7f7f7\" data-share=\"0\" d=\"M0 0h1\"/>"));
  map.has_bar = false;
  CHECK_FALSE(draws_map(drawn(map, 10), ">0.25</text>"));
}

TEST_CASE("heat map: its metadata has thousandths of the limit, and null for what is hidden") {
  HeatMap map = map_of({4, -1, std::nan(""), 0.0012}, 4);
  map.limit = 4;
  CHECK(draws_map(drawn(map, 10), "\"values\":[1000,-250,null,0]"));
  CHECK(draws_map(drawn(map, 10), "<path class=\"hidden\""));
}

TEST_CASE("heat map: names are visible, and only names") {
  HeatMap map = map_of({1, 0, 0, 1}, 2);
  map.rows.symbols = {" ", "\n"};
  map.columns.symbols = {"<", "\xff"};
  Drawing drawing = drawn(map, 20);
  for (const char* name : {"␣", "↵", "&lt;", "FF"})
    CHECK(draws_map(drawing, std::string(">") + name + "</text>"));
}

TEST_CASE("heat map: names are left out where cells are small, and upright where they are long") {
  HeatMap map = map_of(std::vector<double>(16, 0.5), 4);
  map.columns.symbols = {"a", "b", "c", "d"};
  CHECK(draws_map(drawn(map, 8), ">b</text>"));
  CHECK_FALSE(draws_map(drawn(map, 4), ">b</text>"));
  CHECK(draws_map(drawn(map, 4), ">c</text>"));
  CHECK_FALSE(draws_map(drawn(map, 20), "rotate(-90)\">a"));
  map.columns.symbols[0] = "photograph";
  CHECK(draws_map(drawn(map, 20), "rotate(-90)\">photograph</text>"));
}

TEST_CASE("heat map: cells fill a width, up to a size") {
  HeatMap map = map_of(std::vector<double>(100, 0.5), 100);
  CHECK(drawn(map, cell_within(map, 400)).width <= 400);
  CHECK(cell_within(map_of({1}, 1), 400) == 20);
}

TEST_CASE("heat map: a page shows the cells of a map with an id again") {
  HeatMap map = map_of({1, 0, 0, 1, 0, 1}, 2);
  CHECK_FALSE(draws_map(drawn(map, 10), " id="));
  map.id = "layer-0";
  CHECK(draws_map(drawn(map, 10), "<g class=\"cells\" id=\"layer-0\" "));
  CHECK(cells_again(map, 10) ==
        "<svg aria-hidden=\"true\" viewBox=\"0 0 20 30\"><use href=\"#layer-0\"/></svg>");
}

TEST_CASE("heat map: values of any size have finite numbers") {
  constexpr double largest = std::numeric_limits<double>::max();
  HeatMap map = map_of({largest, -largest, 5e-324, -0.0, std::nan(""), 1e300}, 3);
  for (double limit : {1.0, 5e-324, 1e308, largest, 0.0}) {
    map.limit = limit;
    Drawing drawing = drawn(map, 10);
    for (const char* wrong : {"inf", "nan"}) CHECK_FALSE(draws_map(drawing, wrong));
  }
  map.limit = largest;
  CHECK(draws_map(drawn(map, 10), "\"values\":[1000,-1000,0,0,null,0]"));
}
