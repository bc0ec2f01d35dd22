#pragma once

#include <optional>
#include <string>
#include <vector>

#include "svg.h"

namespace common {

struct Point {
  double x = 0, y = 0;
  double spread = 0;  // a bar from x - spread to x + spread
};

enum class LineStyle {
  plain,   // a line
  dotted,  // a line with a dot on each point
  pale,    // a thin line that the legend leaves out
  dots     // dots alone
};

struct Line {
  std::string name;
  std::vector<Point> points;
  LineStyle style = LineStyle::plain;
  size_t colour = 0;
};

struct Tick {
  double value = 0;
  std::string name;
};

struct Axis {
  std::string title{};
  /// Ticks, the most important first; one that has no room is left out. Without any, they are round
  /// numbers.
  std::vector<Tick> ticks{};
  bool logarithmic = false;
  /// The share of the axis that stays empty at either end.
  double room = 0;
  /// The least range that the axis shows.
  std::optional<double> low{}, high{};
};

/// A dashed line across the chart.
struct Mark {
  double x = 0;
  std::string name;
};

struct Chart {
  std::string title{};
  Axis x{}, y{};
  std::vector<Line> lines{};
  std::vector<Mark> marks{};
  /// A second scale on the right: y times `factor`.
  struct Right {
    std::string title;
    double factor = 1;
  };
  std::optional<Right> right{};
};

/// The size of the area that a chart's lines are drawn in.
struct ChartSize {
  double width = 640, height = 380;
};

/// Returns a picture with rows of charts, and a legend of their lines and of `notes` beside them.
/// The title and the description are for screen readers too.
std::string picture_of_charts(const std::string& title, const std::string& description,
                              const std::vector<std::vector<Chart>>& rows, const ChartSize& size,
                              const std::vector<std::string>& notes = {});

/// Returns a sentence that says where each named line begins and ends.
std::string sentence_of(const Chart& chart);

}  // namespace common
