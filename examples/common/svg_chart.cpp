#include "svg_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace common {

using shiftgrad::text;

namespace {

std::string number(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.4g", value);
  return digits;
}

/// A map from the values of an axis to pixels.
struct Scale {
  double low, high, first, last;
  bool logarithmic = false;

  double place(double value) const { return logarithmic ? std::log(value) : value; }
  double operator()(double value) const {
    return first + (place(value) - place(low)) / (place(high) - place(low)) * (last - first);
  }
};

/// Returns multiples of 1, 2 or 5 times a power of ten, at most `most` of them.
std::vector<Tick> round_ticks(double low, double high, double most) {
  double step = std::pow(10, std::floor(std::log10((high - low) / most)));
  for (double factor : {2.0, 2.5, 2.0})
    if ((high - low) / step > most) step *= factor;
  std::vector<Tick> ticks;
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + step * 1e-9; ++n)
    ticks.push_back({n * step, number(n * step + 0.0)});  // -0 + 0 is 0
  return ticks;
}

/// Returns the ticks that keep at least this distance from all before them.
std::vector<Tick> with_room(const std::vector<Tick>& ticks, const Scale& scale, double distance) {
  std::vector<Tick> kept;
  for (const Tick& tick : ticks) {
    auto near = [&](const Tick& other) {
      return std::abs(scale(tick.value) - scale(other.value)) < distance;
    };
    if (std::ranges::none_of(kept, near)) kept.push_back(tick);
  }
  return kept;
}

/// Returns the scale from `first` to `last` around all values of an axis.
Scale scale_of(const Axis& axis, const Chart& chart, double Point::*coordinate, double first,
               double last) {
  double low = axis.low.value_or(std::numeric_limits<double>::infinity());
  double high = axis.high.value_or(-std::numeric_limits<double>::infinity());
  for (const Line& line : chart.lines)
    for (const Point& point : line.points) {
      double value = point.*coordinate, spread = coordinate == &Point::x ? point.spread : 0;
      if (!std::isfinite(value)) continue;
      low = std::min(low, value - spread);
      high = std::max(high, value + spread);
    }
  if (!(low <= high)) low = high = axis.logarithmic ? 1 : 0;
  if (axis.logarithmic) return {low / 1.05, high * 1.05, first, last, true};
  double room = high > low ? (high - low) * axis.room : 0;
  if (high == low) room = high != 0 ? std::abs(high) / 20 : 1;
  return {low - room, high + room, first, last};
}

/// One chart in its box.
class Panel {
 public:
  Panel(Svg& svg, const Chart& chart, const Box& box)
      : svg_(svg),
        chart_(chart),
        box_(box),
        x_(scale_of(chart.x, chart, &Point::x, box.left, box.right())),
        y_(scale_of(chart.y, chart, &Point::y, box.bottom(), box.top)) {}

  void draw() {
    draw_x_axis();
    draw_y_axis();
    if (chart_.right) draw_right_axis();
    svg_.add("<rect class=\"frame\" x=\"", box_.left, "\" y=\"", box_.top, "\" width=\"",
             box_.width, "\" height=\"", box_.height, "\"/>");
    svg_.words({box_.left + box_.width / 2, box_.top - 8}, chart_.title, "text-anchor=\"middle\"");
    for (const Mark& mark : chart_.marks) draw(mark);
    for (const Line& line : chart_.lines) draw(line);
  }

 private:
  void draw_x_axis() {
    std::vector<Tick> ticks = chart_.x.ticks;
    if (ticks.empty()) ticks = round_ticks(x_.low, x_.high, box_.width / 70);
    for (const Tick& tick : with_room(ticks, x_, 34)) {
      double x = x_(tick.value);
      svg_.line({x, box_.bottom()}, {x, box_.top}, "grid");
      svg_.words({x, box_.bottom() + 18}, tick.name, "text-anchor=\"middle\"");
    }
    svg_.words({box_.left + box_.width / 2, box_.bottom() + 38}, chart_.x.title,
               "text-anchor=\"middle\"");
  }

  void draw_y_axis() {
    std::vector<Tick> ticks = chart_.y.ticks;
    if (ticks.empty()) ticks = round_ticks(y_.low, y_.high, box_.height / 40);
    double widest = 0;
    for (const Tick& tick : with_room(ticks, y_, 14)) {
      double y = y_(tick.value);
      svg_.line({box_.left, y}, {box_.right(), y}, "grid");
      svg_.words({box_.left - 7, y + 4}, tick.name, "text-anchor=\"end\"");
      widest = std::max(widest, width_of(tick.name));
    }
    turned({box_.left - 16 - widest, box_.top + box_.height / 2}, chart_.y.title);
  }

  void draw_right_axis() {
    double factor = chart_.right->factor;
    Scale right{y_.low * factor, y_.high * factor, y_.first, y_.last};
    for (const Tick& tick : round_ticks(right.low, right.high, box_.height / 40)) {
      double y = right(tick.value);
      svg_.line({box_.right(), y}, {box_.right() + 4, y}, "axis");
      svg_.words({box_.right() + 8, y + 4}, tick.name);
    }
    turned({box_.right() + 52, box_.top + box_.height / 2}, chart_.right->title);
  }

  void turned(const Place& place, const std::string& words) {
    svg_.words(
        place, words,
        text("text-anchor=\"middle\" transform=\"rotate(-90 ", place.x, ' ', place.y, ")\""));
  }

  void draw(const Mark& mark) {
    double x = x_(mark.x);
    svg_.line({x, box_.bottom()}, {x, box_.top}, "mark");
    if (!mark.name.empty()) svg_.words({x + 5, box_.top + 15}, mark.name, "class=\"faint\"");
  }

  void draw(const Line& line) {
    std::string colour = colour_class(line.colour);
    if (line.style != LineStyle::dots) add_path(line, colour);
    if (line.style != LineStyle::dotted && line.style != LineStyle::dots) return;
    for (const Point& point : line.points) {
      if (!std::isfinite(point.y)) continue;
      if (point.spread > 0)
        svg_.add("<path class=\"curve ", colour, "\" d=\"M", x_(point.x - point.spread), ' ',
                 y_(point.y), 'H', x_(point.x + point.spread), "\"/>");
      svg_.add("<circle class=\"dot ", colour, "\" cx=\"", x_(point.x), "\" cy=\"", y_(point.y),
               "\" r=\"", line.style == LineStyle::dots ? 4 : 2.2, "\"/>");
    }
  }

  void add_path(const Line& line, const std::string& colour) {
    std::string path;
    char command = 'M';
    for (const Point& point : line.points) {
      bool finite = std::isfinite(point.x) && std::isfinite(point.y);
      char place[64];
      std::snprintf(place, sizeof place, "%c%.1f %.1f", command, x_(point.x), y_(point.y));
      if (finite) path += place;
      command = finite ? 'L' : 'M';
    }
    if (path.empty()) return;
    svg_.add("<path class=\"curve ", colour, line.style == LineStyle::pale ? " pale" : "",
             "\" d=\"", path, "\"/>");
  }

  Svg& svg_;
  const Chart& chart_;
  Box box_;
  Scale x_, y_;
};

/// Returns the lines for the legend: those of the chart that has most.
std::vector<Line> named_lines(const std::vector<std::vector<Chart>>& rows) {
  std::vector<Line> most;
  for (const std::vector<Chart>& row : rows)
    for (const Chart& chart : row) {
      std::vector<Line> named;
      for (const Line& line : chart.lines)
        if (!line.name.empty() && line.style != LineStyle::pale)
          named.push_back({line.name, {}, line.style, line.colour});
      if (named.size() > most.size()) most = named;
    }
  return most;
}

/// Draws the legend and returns the place of its bottom right corner.
Place draw_legend(Svg& svg, const std::vector<Line>& lines, const std::vector<std::string>& notes,
                  const Place& place) {
  Place end = place;
  double y = place.y + 6;
  for (const Line& line : lines) {
    svg.add("<path class=\"curve ", colour_class(line.colour), "\" d=\"M", place.x, ' ', y,
            "h22\"/>");
    if (line.style == LineStyle::dotted)
      svg.add("<circle class=\"dot ", colour_class(line.colour), "\" cx=\"", place.x + 11,
              "\" cy=\"", y, "\" r=\"2.2\"/>");
    svg.words({place.x + 30, y + 4}, line.name);
    end.x = std::max(end.x, place.x + 30 + width_of(line.name));
    y += 20;
  }
  for (const std::string& note : notes) {
    svg.words({place.x, y + 8}, note, "class=\"faint\"");
    end.x = std::max(end.x, place.x + width_of(note));
    y += 20;
  }
  end.y = y;
  return end;
}

/// The room that all charts need on their left for the names of ticks and the title of y.
double left_room(const std::vector<std::vector<Chart>>& rows) {
  double widest = width_of("0.0000");
  for (const std::vector<Chart>& row : rows)
    for (const Chart& chart : row)
      for (const Tick& tick : chart.y.ticks) widest = std::max(widest, width_of(tick.name));
  return widest + 34;
}

}  // namespace

std::string picture_of_charts(const std::string& title, const std::string& description,
                              const std::vector<std::vector<Chart>>& rows, const ChartSize& size,
                              const std::vector<std::string>& notes) {
  constexpr double below = 48;  // for the names of ticks and the title of x
  Svg svg;
  bool right = rows.front().front().right.has_value();
  double left = left_room(rows), step = left + size.width + (right ? 64 : 12);
  double y = Svg::title_room, end = 0;
  for (const std::vector<Chart>& row : rows) {
    double above = row.front().title.empty() ? 8 : 24, x = 0;
    for (const Chart& chart : row) {
      Panel(svg, chart, {x + left, y + above, size.width, size.height}).draw();
      x += step;
    }
    end = std::max(end, x);
    y += above + size.height + below;
  }
  std::vector<Line> lines = named_lines(rows);
  Place corner{end, y};
  if (!lines.empty() || !notes.empty())
    corner = draw_legend(svg, lines, notes, {end + 12, Svg::title_room + 12});
  double width = std::max({corner.x + 16, width_of(title, 14) + 40});
  return svg.str(std::ceil(width), std::ceil(std::max(y, corner.y + 12)), title, description);
}

std::string sentence_of(const Chart& chart) {
  std::string sentence;
  for (const Line& line : chart.lines) {
    if (line.points.empty() || line.name.empty() || line.style == LineStyle::pale) continue;
    const Point &first = line.points.front(), &last = line.points.back();
    sentence += text(sentence.empty() ? "" : "; ", line.name, " goes from ", number(first.y),
                     " at ", number(first.x), " to ", number(last.y), " at ", number(last.x));
  }
  return sentence.empty() ? "Nothing to draw." : sentence + '.';
}

}  // namespace common
