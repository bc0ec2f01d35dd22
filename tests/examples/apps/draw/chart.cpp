#include "examples/apps/draw/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tests/support/refusal.h"

using namespace apps;
using nlohmann::json;

namespace {

/// Whether a drawing has this text.
bool draws_chart(const Drawing& drawing, const std::string& text) {
  return drawing.content.find(text) != std::string::npos;
}

Chart chart_of(const std::vector<Point>& points, LineStyle style = LineStyle::plain) {
  return {.title = "Loss",
          .x = {.title = "step"},
          .y = {.title = "nats"},
          .lines = {{"run", points, style}}};
}

constexpr double largest = std::numeric_limits<double>::max();

/// Returns what follows `begin` in a text, up to `end`, wherever it stands.
std::vector<std::string> all_after(const std::string& text, const std::string& begin,
                                   char end = '"') {
  std::vector<std::string> found;
  for (size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    size_t from = at + begin.size();
    found.push_back(text.substr(from, text.find(end, from) - from));
  }
  return found;
}

/// Returns what the metadata say of a drawing.
json numbers_of(const Drawing& drawing) {
  return json::parse(all_after(drawing.content, "<metadata>", '<').at(0));
}

/// Returns what they say of a chart's only curve.
json curve_of(const Chart& chart, const ChartSize& size = {}) {
  return numbers_of(drawn(chart, size)).at("curves").at(0);
}

/// Returns the names of the y axis's ticks.
std::vector<std::string> y_ticks_of(const Drawing& drawing) {
  return all_after(drawing.content, "dy=\"4\" text-anchor=\"end\">", '<');
}

/// Checks that a drawing has only finite numbers, and few ticks, which lie on their axes.
void check_sound(const Drawing& drawing, const std::string& sentence) {
  for (const std::string& text : {drawing.content, drawing.label, drawing.attributes, sentence})
    for (const char* wrong : {"inf", "nan"}) CHECK(text.find(wrong) == text.npos);
  std::vector<std::string> grid = all_after(drawing.content, "<line class=\"grid\" x1=\"");
  CHECK(grid.size() <= 40);
  for (const char* side : {"cx=\"", "x1=\"", "y1=\""})
    for (const std::string& share : all_after(drawing.content, side)) {
      double percent = std::stod(share);
      CHECK(-0.01 <= percent);
      CHECK(percent <= 100.01);
    }
}

}  // namespace

TEST_CASE("chart: a curve has its values in the metadata, and a path in a plane around them") {
  Drawing drawing = drawn(chart_of({{1, 4}, {2, 3.5}, {3, 2}}), {200, 100});
  CHECK(numbers_of(drawing).dump() ==
        R"({"curves":[{"name":"run","xs":[1,2,3],"ys":[4,3.5,2]}],"x":[1,3],"y":[2,4]})");
  CHECK(draws_chart(drawing, "viewBox=\"0 0 1000 1000\""));
  CHECK(draws_chart(drawing,
                    "<path class=\"curve c0\" data-name=\"run\" d=\"M0 0 500 250 1000 1000\"/>"));
  CHECK(drawing.label == "run goes from 4 at 1 to 2 at 3.");
  CHECK(drawing.legend == "<span class=\"c0\">run</span> ");
}

TEST_CASE("chart: a curve begins anew after a value that is not finite") {
  double nan = std::nan("");
  Chart chart = chart_of({{1, 4}, {2, nan}, {3, 2}, {4, 1}});
  CHECK(draws_chart(drawn(chart, {}), "d=\"M0 0M666.7 666.7 1000 1000\""));
  CHECK(curve_of(chart).dump() == R"({"name":"run","xs":[1,null,3,4],"ys":[4,null,2,1]})");
  CHECK(draws_chart(drawn(chart_of({{1, nan}}), {}), "data-name=\"run\" d=\"\"/>"));
  // Nor does its sentence speak of such values.
  CHECK(sentence_of(chart_of({{1, nan}, {2, 4}, {3, 2}, {4, nan}})) ==
        "run goes from 4 at 2 to 2 at 3.");
  CHECK(sentence_of(chart_of({{1, nan}})) == "Nothing to draw.");
}

TEST_CASE("chart: ticks and dots are in percent of the plane, so its width does not matter") {
  Drawing drawing = drawn(chart_of({{0, 0}, {5, 2}, {10, 10}}, LineStyle::dotted), {200, 100});
  CHECK(draws_chart(drawing, "<circle class=\"dot c0\" cx=\"50%\" cy=\"80%\" r=\"2.2\"/>"));
  CHECK(
      draws_chart(drawing, "<text x=\"50%\" y=\"100%\" dy=\"18\" text-anchor=\"middle\">5</text>"));
  CHECK(draws_chart(drawing, "<text x=\"-7\" y=\"50%\" dy=\"4\" text-anchor=\"end\">5</text>"));
}

TEST_CASE("chart: ten thousand steps are written out") {
  Chart chart = chart_of({{0, 0}, {20000, 10}});
  CHECK(draws_chart(drawn(chart, {200, 100}), "text-anchor=\"middle\">10000</text>"));
  CHECK(sentence_of(chart) == "run goes from 0 at 0 to 10 at 20000.");
}

TEST_CASE("chart: a logarithmic axis draws logarithms, and says so") {
  Chart chart = chart_of({{1, 1}, {2, 2}, {4, 2}});
  chart.x.logarithmic = true;
  Drawing drawing = drawn(chart, {});
  std::string path = all_after(drawing.content, " d=\"").at(0);
  CHECK(path.find(" 500 0 ") != std::string::npos);  // in the middle between 1 and 4
  CHECK(numbers_of(drawing).at("curves").at(0).at("xs") == json{1, 2, 4});
  CHECK(drawing.attributes.find("data-logarithmic") != std::string::npos);
}

TEST_CASE("chart: a band goes along the errors and back, apart for each piece of the curve") {
  Chart chart = chart_of({});
  chart.lines[0].points = {{.x = 1, .y = 4, .error = 1},
                           {.x = 2, .y = 3, .error = 0.5},
                           {.x = 3, .y = std::nan("")},
                           {.x = 4, .y = 2, .error = 0.25}};
  Drawing drawing = drawn(chart, {});
  CHECK(numbers_of(drawing).at("y") == json{1.75, 5});  // around the band
  CHECK(numbers_of(drawing).at("curves").at(0).at("errors") == json{1, 0.5, nullptr, 0.25});
  CHECK(draws_chart(drawing,
                    "<path class=\"band c0\" d=\"M0 0 333.3 461.5 333.3 769.2 0 615.4Z"
                    "M1000 846.2 1000 1000Z\"/>"));
  CHECK(drawing.label == "run goes from 4 ± 1 at 1 to 2 ± 0.25 at 4.");
}

TEST_CASE("chart: a page has the times of a curve's points, where their axis has a title") {
  Chart chart = chart_of({});
  chart.lines[0].points = {{.x = 1, .y = 4, .time = 0.5}, {.x = 2, .y = 3, .time = 1.25}};
  CHECK_FALSE(curve_of(chart).contains("times"));
  chart.time_title = "minutes";
  chart.lines[0].noisy = true;
  CHECK(curve_of(chart).at("times") == json{0.5, 1.25});
  CHECK(curve_of(chart).at("noisy") == true);
  CHECK(draws_chart(drawn(chart, {}), "<path class=\"curve c0 noisy\" data-name=\"run\" "));
  CHECK(drawn(chart, {}).attributes.find(" data-time=\"minutes\"") != std::string::npos);
}

TEST_CASE("chart: pale lines have no name to read, and names are only names") {
  Chart chart = chart_of({{1, 4}, {2, 3}}, LineStyle::pale);
  CHECK_FALSE(draws_chart(drawn(chart, {}), "data-name"));
  CHECK_FALSE(curve_of(chart).contains("name"));
  chart.lines[0].style = LineStyle::plain;
  chart.lines[0].name = "<b>\"&";
  CHECK(draws_chart(drawn(chart, {}), "data-name=\"&lt;b&gt;&quot;&amp;\""));
  CHECK(in_page(drawn(chart, {})).find("<b>") == std::string::npos);
}

TEST_CASE("chart: without points there is a plane, and nothing on it") {
  CHECK(drawn({}, {}).label == "Nothing to draw.");
  CHECK(numbers_of(drawn({}, {})) ==
        json{{"curves", json::array()}, {"x", {-1, 1}}, {"y", {-1, 1}}});
}

TEST_CASE("chart: values that hardly differ are one where no axis can tell them apart") {
  for (double value : {0.3, 3e9, -3e9, 3e-299, 3e300}) {
    double next = std::nextafter(value, largest);
    Drawing drawing = drawn(chart_of({{1, value}, {2, next}}), {});
    Drawing single = drawn(chart_of({{1, value}, {2, value}}), {});
    CHECK(y_ticks_of(drawing) == y_ticks_of(single));
    CHECK(all_after(drawing.content, " d=\"") == all_after(single.content, " d=\""));
  }
}

TEST_CASE("chart: values and coordinates tell apart what an axis does") {
  Chart chart = chart_of({{1, 1.469211}, {2, 1.469214}, {3, 1.469217}});
  CHECK(curve_of(chart).at("ys") == json{1.469211, 1.469214, 1.469217});
  CHECK(draws_chart(drawn(chart, {}), "d=\"M0 1000 500 500 1000 0\""));
  CHECK(sentence_of(chart_of({{1, 1.469211}, {3, 1.469217}})) ==
        "run goes from 1.469211 at 1 to 1.469217 at 3.");
  // A slope of a millionth has no steps.
  Chart slope = chart_of({});
  for (int n = 0; n < 1000; ++n) slope.lines[0].points.push_back({double(n), 2 + 1e-6 * n});
  json ys = curve_of(slope).at("ys");
  for (size_t n = 1; n < 1000; ++n)
    CHECK(ys[n].get<double>() - ys[n - 1].get<double>() == doctest::Approx(1e-6).epsilon(0.1));
}

TEST_CASE("chart: each number of steps has a place of its own") {
  CHECK(curve_of(chart_of({{0, 1}, {12345678, 2}, {12345680, 3}})).at("xs") ==
        json{0, 12345678, 12345680});
  CHECK(sentence_of(chart_of({{12345678, 2}, {12345680, 3}})) ==
        "run goes from 2 at 12345678 to 3 at 12345680.");
  auto far = static_cast<double>(int64_t{1} << 62);
  json xs = curve_of(chart_of({{0, 1}, {far, 2}, {far + 4096, 3}})).at("xs");
  CHECK(xs[1] < xs[2]);
}

TEST_CASE("chart: a page, which shows parts of a chart, has more digits than a picture") {
  Chart chart = chart_of({{1, 1.0 / 3}, {2, 3}});
  CHECK(curve_of(chart).at("ys")[0] == 0.33333);
  CHECK(curve_of(chart, chart_in_page).at("ys")[0] == 0.3333333);
}

TEST_CASE("chart: ticks of a narrow axis far from zero have names of their own") {
  Chart chart = chart_of({{1, 123456789.25}, {2, 123456789.75}});
  std::vector<std::string> names = y_ticks_of(drawn(chart, {}));
  CHECK(names.size() >= 3);
  CHECK(std::set(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("chart: the largest and the smallest doubles") {
  Drawing drawing = drawn(chart_of({{1, -largest}, {2, largest}}), {});
  CHECK(numbers_of(drawing).at("y") == json{-1.79769313e308, 1.79769313e308});
  CHECK(draws_chart(drawing, "d=\"M0 1000 1000 0\""));
  check_sound(drawing, "");
  // Denormals are too close to zero, and to each other.
  Drawing denormals = drawn(chart_of({{1, 5e-324}, {2, -1e-310}}), {});
  CHECK(numbers_of(denormals).at("y") == json{-1, 1});
  CHECK(draws_chart(denormals, "d=\"M0 500 1000 500\""));
  CHECK(draws_chart(drawn(chart_of({{1, -0.0}, {2, 0}}), {}), "d=\"M0 500 1000 500\""));
}

TEST_CASE("chart: a logarithmic axis leaves out what has no logarithm") {
  Chart chart = chart_of({{-1, 1}, {0, 2}, {1, 3}, {8, 4}});
  chart.x.logarithmic = true;
  CHECK(curve_of(chart).at("xs") == json{1, 8});
  CHECK(curve_of(chart).at("ys") == json{3, 4});
  CHECK(sentence_of(chart) == "run goes from 3 at 1 to 4 at 8.");
}

TEST_CASE("chart: whatever the values, an end, finite numbers, and ticks on their axes") {
  std::vector<double> nasty = {0.0, -0.0, 1, -1, 0.3, 1e9, 1e-6, 1e-9, 1469211, 1.469211};
  for (double value : {5e-324, 1e-310, 2.3e-308, 1e-300, 1e38, 1e300, 1e308, largest, 0x1p53,
                       0x1p62, std::nan(""), std::numeric_limits<double>::infinity()}) {
    nasty.push_back(value);
    nasty.push_back(-value);
  }
  std::mt19937 random(1);
  auto any = [&] {
    double value = nasty[random() % nasty.size()];
    return random() % 4 == 0 ? std::nextafter(value, 0) : value;
  };
  for (int trial = 0; trial < 4000; ++trial) {
    CAPTURE(trial);
    Chart chart{.x = {.title = "step", .logarithmic = random() % 4 == 0, .room = 0.05},
                .y = {.title = "y", .logarithmic = random() % 4 == 0, .room = 0.05},
                .time_title = "time"};
    for (unsigned n = random() % 3; n > 0; --n) {
      Line line{"run", {}, static_cast<LineStyle>(random() % 4), n, random() % 2 == 0};
      for (unsigned point = random() % 5; point > 0; --point)
        line.points.push_back({any(), any(), random() % 2 ? std::abs(any()) : 0,
                               random() % 2 ? std::abs(any()) : 0, any()});
      chart.lines.push_back(line);
    }
    if (random() % 2) chart.marks.push_back({any(), "mark"});
    if (random() % 2) chart.right = {"right", random() % 2 ? 1.44 : any()};
    if (random() % 4 == 0) chart.x.ticks = {{any(), "a"}, {any(), "b"}};
    if (random() % 4 == 0) chart.x.low = 0, chart.x.high = 1;
    check_sound(drawn(chart, random() % 2 ? ChartSize{} : chart_in_page), sentence_of(chart));
  }
}
