#include "examples/apps/draw/chart.h"

#include <cmath>

#include "tests/support/refusal.h"

using namespace common;

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

}  // namespace

TEST_CASE("chart: a curve's path has its values, with y below zero, in a plane around them") {
  Drawing drawing = drawn(chart_of({{1, 4}, {2, 3.5}, {3, 2}}), {200, 100});
  CHECK(draws_chart(drawing, "viewBox=\"1 -4 2 2\""));
  CHECK(
      draws_chart(drawing, "<path class=\"curve c0\" data-name=\"run\" d=\"M1 -4 2 -3.5 3 -2\"/>"));
  CHECK(drawing.label == "run goes from 4 at 1 to 2 at 3.");
  CHECK(drawing.legend == "<span class=\"c0\">run</span> ");
}

TEST_CASE("chart: a curve begins anew after a value that is not finite") {
  double nan = std::nan("");
  CHECK(draws_chart(drawn(chart_of({{1, 4}, {2, nan}, {3, 2}, {4, 1}}), {}),
                    "d=\"M1 -4M3 -2 4 -1\""));
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

TEST_CASE("chart: a logarithmic axis has logarithms in the path, and says so") {
  Chart chart = chart_of({{1, 1}, {8, 2}});
  chart.x.logarithmic = true;
  Drawing drawing = drawn(chart, {});
  CHECK(draws_chart(drawing, "d=\"M0 -1 2.079442 -2\""));
  CHECK(drawing.attributes.find("data-logarithmic") != std::string::npos);
}

TEST_CASE("chart: a band goes along the errors and back, apart for each piece of the curve") {
  Chart chart = chart_of({});
  chart.lines[0].points = {{.x = 1, .y = 4, .error = 1},
                           {.x = 2, .y = 3, .error = 0.5},
                           {.x = 3, .y = std::nan("")},
                           {.x = 4, .y = 2, .error = 0.25}};
  Drawing drawing = drawn(chart, {});
  CHECK(draws_chart(drawing,
                    "<path class=\"band c0\" d=\"M1 -5 2 -3.5 2 -2.5 1 -3ZM4 -2.25 4 -1.75Z\"/>"));
  CHECK(draws_chart(drawing, "data-errors=\"1 0.5 0.25\" d=\"M1 -4 2 -3M4 -2\"/>"));
  CHECK(draws_chart(drawing, "viewBox=\"1 -5 3 3.25\""));  // around the band
  CHECK(drawing.label == "run goes from 4 ± 1 at 1 to 2 ± 0.25 at 4.");
}

TEST_CASE("chart: a page has the times of a curve's points, where their axis has a title") {
  Chart chart = chart_of({});
  chart.lines[0].points = {{.x = 1, .y = 4, .time = 0.5}, {.x = 2, .y = 3, .time = 1.25}};
  CHECK_FALSE(draws_chart(drawn(chart, {}), "data-times"));
  chart.time_title = "minutes";
  chart.lines[0].noisy = true;
  CHECK(draws_chart(drawn(chart, {}), "<path class=\"curve c0 noisy\" data-name=\"run\" "
                                      "data-times=\"0.5 1.25\" d=\"M1 -4 2 -3\"/>"));
  CHECK(drawn(chart, {}).attributes.find(" data-time=\"minutes\"") != std::string::npos);
}

TEST_CASE("chart: pale lines have no name to read, and names are only names") {
  Chart chart = chart_of({{1, 4}, {2, 3}}, LineStyle::pale);
  CHECK_FALSE(draws_chart(drawn(chart, {}), "data-name"));
  chart.lines[0].style = LineStyle::plain;
  chart.lines[0].name = "<b>\"&";
  CHECK(draws_chart(drawn(chart, {}), "data-name=\"&lt;b&gt;&quot;&amp;\""));
  CHECK(in_page(drawn(chart, {})).find("<b>") == std::string::npos);
}

TEST_CASE("chart: without points there is a plane, and nothing on it") {
  CHECK(drawn({}, {}).label == "Nothing to draw.");
  CHECK(draws_chart(drawn({}, {}), "viewBox=\"-1 -1 2 2\""));
}
