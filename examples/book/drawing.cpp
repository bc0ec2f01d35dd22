#include "drawing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "examples/apps/draw/chart.h"
#include "examples/apps/draw/heat_map.h"

namespace book {

using namespace shiftgrad;

namespace {

using apps::Chart;
using apps::HeatMap;
using Names = std::vector<std::string>;

/// Returns a number. null, as JSON writes what is not finite, is not a number.
double number_of(const char* key, const Json& value) {
  require(value.is_null() || value.is_number(), '"', key, "\" has ", shown(value),
          ", expected numbers and null");
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

apps::Line line_of(const Json& curve, size_t colour) {
  apps::Line line{value_of<std::string>(curve, "name"), {}, apps::LineStyle::plain, colour};
  auto xs = value_of<std::vector<double>>(curve, "xs");
  auto ys = value_of<std::vector<Json>>(curve, "ys");
  require(xs.size() == ys.size(), "\"ys\" has ", ys.size(), " values, expected ", xs.size(),
          ", as \"xs\" has");
  for (size_t n = 0; n < xs.size(); ++n) line.points.push_back({xs[n], number_of("ys", ys[n])});
  return line;
}

Chart chart_of(const Json& asked) {
  Chart chart{.title = value_of<std::string>(asked, "title", ""),
              .x = {.title = value_of<std::string>(asked, "x_title", "")},
              .y = {.title = value_of<std::string>(asked, "y_title", ""), .room = 0.05}};
  for (const Json& curve : value_of<std::vector<Json>>(asked, "curves"))
    chart.lines.push_back(line_of(curve, chart.lines.size()));
  return chart;
}

/// Returns the rows as one list.
std::vector<double> values_of(const std::vector<std::vector<Json>>& rows) {
  std::vector<double> values;
  for (const std::vector<Json>& row : rows) {
    require(row.size() == rows.front().size(), "\"values\" has rows of ", rows.front().size(),
            " and of ", row.size(), " values");
    for (const Json& value : row) values.push_back(number_of("values", value));
  }
  return values;
}

/// Throws unless there are as many names as rows or columns, or none.
apps::MapAxis axis_of(const Json& asked, const std::string& axis, size_t count) {
  auto names = value_of<Names>(asked, (axis + "_names").c_str(), {});
  require(names.empty() || names.size() == count, '"', axis, "_names\" has ", names.size(),
          " names, expected ", count);
  return {value_of<std::string>(asked, (axis + "_title").c_str(), ""), names};
}

HeatMap map_of(const Json& asked) {
  auto rows = value_of<std::vector<std::vector<Json>>>(asked, "values");
  size_t columns = rows.empty() ? 0 : rows.front().size();
  HeatMap map{.title = value_of<std::string>(asked, "title", ""),
              .rows = axis_of(asked, "row", rows.size()),
              .columns = axis_of(asked, "column", columns),
              .values = values_of(rows),
              .column_count = static_cast<int64_t>(columns),
              .memory = value_of<int64_t>(asked, "memory", 0),
              .is_signed = value_of<bool>(asked, "signed", false),
              .has_bar = value_of<bool>(asked, "bar", true)};
  double largest = 0;
  for (double value : map.values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  map.limit = value_of<double>(asked, "limit", largest);
  if (!(map.limit > 0)) map.limit = 1;
  return map;
}

}  // namespace

Json drawing_of(const Json& request) {
  if (request.contains("chart"))
    return {{"html", in_page(drawn(chart_of(request["chart"]), apps::chart_in_page))}};
  HeatMap map = map_of(value_of<Json>(request, "map"));
  double cell = cell_within(map, value_of<double>(request, "width", 600));
  return {{"html", in_page(drawn(map, cell))}};
}

}  // namespace book
