#pragma once

// Charts: curves and dots over two axes.

#include <optional>
#include <string>
#include <vector>

#include "svg.h"

namespace apps {

struct Point {
  double x = 0, y = 0;
  double spread = 0;  // a bar from x - spread to x + spread
  double error = 0;   // a band from y - error to y + error
  double time = 0;    // what a page may show in the place of x, where the chart has a time_title
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
  /// Whether a page may smooth it.
  bool noisy = false;

  /// Whether legends have it, and pages read its values.
  bool named() const { return !name.empty() && style != LineStyle::pale; }
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
  /// The title of the axis of times; empty where points have none.
  std::string time_title{};
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
  /// The digits of a value in the metadata.
  int digits = 5;
};

/// The size in pages, whose width differs: ticks have room on a phone. A page also shows parts of a
/// chart, so its values need more digits.
constexpr ChartSize chart_in_page{260, 230, 7};

/// Draws a chart. <metadata> has its numbers as JSON, so that a page draws them on other axes
/// (page/chart_view.js): the ends of both axes, and of each curve xs and ys, times and errors where
/// it has them, with null where it begins anew.
Drawing drawn(const Chart& chart, const ChartSize& size);

/// Returns a sentence that says where each named line begins and ends.
std::string sentence_of(const Chart& chart);

}  // namespace apps
