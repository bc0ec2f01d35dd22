#include "chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>

namespace common {

using shiftgrad::text;

namespace {

std::string number(double value, const char* format = "%.4g") {
  char digits[32];
  std::snprintf(digits, sizeof digits, format, value + 0.0);  // -0 + 0 is 0
  return digits;
}

/// A map from the values of an axis to shares of its length.
struct Scale {
  double low, high;
  bool logarithmic = false;

  double place(double value) const { return logarithmic ? std::log(value) : value; }
  double range() const { return place(high) - place(low); }
  double share(double value) const { return (place(value) - place(low)) / range(); }
};

/// Returns multiples of 1, 2 or 5 times a power of ten, at most `most` of them.
std::vector<Tick> round_ticks(double low, double high, double most) {
  double step = std::pow(10, std::floor(std::log10((high - low) / most)));
  for (double factor : {2.0, 2.5, 2.0})
    if ((high - low) / step > most) step *= factor;
  std::vector<Tick> ticks;
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + step * 1e-9; ++n)
    ticks.push_back({n * step, number(n * step, "%.7g")});
  return ticks;
}

/// Returns the axis's ticks, or `most` round ones, that keep at least this distance, a share of the
/// axis, from all before them.
std::vector<Tick> ticks_of(const Axis& axis, const Scale& scale, double most, double distance) {
  std::vector<Tick> kept;
  for (const Tick& tick :
       axis.ticks.empty() ? round_ticks(scale.low, scale.high, most) : axis.ticks) {
    auto near = [&](const Tick& other) {
      return std::abs(scale.share(tick.value) - scale.share(other.value)) < distance;
    };
    if (std::ranges::none_of(kept, near)) kept.push_back(tick);
  }
  return kept;
}

/// Returns the scale around all values of an axis.
Scale scale_of(const Axis& axis, const Chart& chart, double Point::*coordinate) {
  double low = axis.low.value_or(std::numeric_limits<double>::infinity());
  double high = axis.high.value_or(-std::numeric_limits<double>::infinity());
  for (const Line& line : chart.lines)
    for (const Point& point : line.points) {
      double value = point.*coordinate;
      double spread = coordinate == &Point::x ? point.spread : point.error;
      if (!std::isfinite(value)) continue;
      low = std::min(low, value - spread);
      high = std::max(high, value + spread);
    }
  if (!(low <= high)) low = high = axis.logarithmic ? 1 : 0;
  if (axis.logarithmic) return {low / 1.05, high * 1.05, true};
  double room = high > low ? (high - low) * axis.room : 0;
  if (high == low) room = high != 0 ? std::abs(high) / 20 : 1;
  return {low - room, high + room};
}

bool is_finite(const Point& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

/// One chart. The plane's places are in percent; around it there is room for texts, in pixels.
class Panel {
 public:
  Panel(const Chart& chart, const ChartSize& size)
      : chart_(chart),
        size_(size),
        x_(scale_of(chart.x, chart, &Point::x)),
        y_(scale_of(chart.y, chart, &Point::y)),
        y_ticks_(ticks_of(chart.y, y_, size.height / 40, 14 / size.height)) {}

  Drawing drawing() {
    double widest = width_of("0.000");
    for (const Tick& tick : y_ticks_) widest = std::max(widest, width_of(tick.name));
    double left = std::ceil(widest) + 11, right = chart_.right ? 56 : 12;
    double top = chart_.y.title.empty() ? 8 : 26;
    add_axes(left);
    svg_.add("<rect class=\"frame\" width=\"100%\" height=\"100%\"/>");
    for (const Mark& mark : chart_.marks) add(mark);
    add_curves();
    for (const Line& line : chart_.lines) add_dots(line);
    return {.kind = Drawing::Kind::chart,
            .width = size_.width,
            .height = top + size_.height + (chart_.x.title.empty() ? 26 : 46),
            .left = left,
            .right = right,
            .title = chart_.title,
            .content = text("<svg class=\"plane\" y=\"", top, "\" width=\"100%\" height=\"",
                            size_.height, "\">\n", svg_.content, "</svg>\n"),
            .label = sentence_of(chart_),
            .legend = legend(),
            .attributes = attribute("data-x", chart_.x.title) +
                          (has_times() ? attribute("data-time", chart_.time_title) : "") +
                          (x_.logarithmic ? " data-logarithmic=\"\"" : "")};
  }

 private:
  bool has_times() const { return !chart_.time_title.empty(); }

  void add_axes(double left) {
    svg_.add("<g class=\"ticks\">");
    for (const Tick& tick : ticks_of(chart_.x, x_, size_.width / 65, 34 / size_.width)) {
      std::string x = percent(x_.share(tick.value));
      add_line("grid", x, "0", x, "100%");
      svg_.words(text("x=\"", x, "\" y=\"100%\" dy=\"18\" text-anchor=\"middle\""), tick.name);
    }
    for (const Tick& tick : y_ticks_) {
      std::string y = percent(1 - y_.share(tick.value));
      add_line("grid", "0", y, "100%", y);
      svg_.words(text("x=\"-7\" y=\"", y, "\" dy=\"4\" text-anchor=\"end\""), tick.name);
    }
    svg_.add("</g>");
    if (chart_.right) add_right_axis();
    if (!chart_.y.title.empty())
      svg_.words(text("class=\"y-title\" x=\"", 4 - left, "\" y=\"-10\""), chart_.y.title);
    if (!chart_.x.title.empty())
      svg_.words("class=\"x-title\" x=\"50%\" y=\"100%\" dy=\"38\" text-anchor=\"middle\"",
                 chart_.x.title);
  }

  void add_right_axis() {
    double factor = chart_.right->factor;
    Scale right{y_.low * factor, y_.high * factor};
    for (const Tick& tick : ticks_of({}, right, size_.height / 40, 0)) {
      std::string y = percent(1 - right.share(tick.value));
      add_line("axis", "99.4%", y, "100%", y);
      svg_.words(text("x=\"100%\" dx=\"8\" y=\"", y, "\" dy=\"4\""), tick.name);
    }
    svg_.words("x=\"100%\" dx=\"52\" y=\"-10\" text-anchor=\"end\"", chart_.right->title);
  }

  void add_line(const std::string& kind, const std::string& x1, const std::string& y1,
                const std::string& x2, const std::string& y2) {
    svg_.add("<line class=\"", kind, "\" x1=\"", x1, "\" y1=\"", y1, "\" x2=\"", x2, "\" y2=\"", y2,
             "\"/>");
  }

  void add(const Mark& mark) {
    svg_.add("<svg class=\"at\" x=\"", percent(x_.share(mark.x)), "\" data-x=\"",
             number(mark.x, "%.7g"), "\">");
    add_line("mark", "0", "0", "0", "100%");
    if (!mark.name.empty()) svg_.words("class=\"faint\" dx=\"5\" y=\"15\"", mark.name);
    svg_.add("</svg>");
  }

  /// The curves stretch with the plane, their strokes do not.
  void add_curves() {
    svg_.add("<svg class=\"curves\" viewBox=\"", number(x_.place(x_.low), "%.7g"), ' ',
             number(-y_.place(y_.high), "%.7g"), ' ', number(x_.range(), "%.7g"), ' ',
             number(y_.range(), "%.7g"),
             "\" width=\"100%\" height=\"100%\" preserveAspectRatio=\"none\">");
    for (const Line& line : chart_.lines) add_curve(line);
    svg_.add("</svg>");
  }

  /// A curve, begun anew after each value that is not finite, on its band.
  void add_curve(const Line& line) {
    std::string path, band, times, errors;
    for (const std::vector<Point>& piece : pieces(line)) {
      path += 'M' + joined(piece, [&](const Point& point) { return coordinates(point, 0); });
      times += (times.empty() ? "" : " ") +
               joined(piece, [](const Point& point) { return number(point.time, "%.5g"); });
      errors += (errors.empty() ? "" : " ") +
                joined(piece, [](const Point& point) { return number(point.error, "%.3g"); });
      band += 'M' + joined(piece, [&](const Point& point) { return coordinates(point, 1); }) + ' ' +
              joined({piece.rbegin(), piece.rend()},
                     [&](const Point& point) { return coordinates(point, -1); }) +
              'Z';
    }
    if (path.empty() && !line.named()) return;
    bool has_band = std::ranges::any_of(line.points, [](auto& point) { return point.error > 0; });
    std::string colour = colour_class(line.colour);
    if (has_band) svg_.add("<path class=\"band ", colour, "\" d=\"", band, "\"/>");
    svg_.add("<path class=\"curve ", colour, line.style == LineStyle::pale ? " pale" : "",
             line.style == LineStyle::dots ? " unseen" : "",
             line.style == LineStyle::dotted ? " dotted" : "", line.noisy ? " noisy" : "", "\"",
             line.named() ? attribute("data-name", line.name) : "",
             has_times() ? attribute("data-times", times) : "",
             has_band ? attribute("data-errors", errors) : "", " d=\"", path, "\"/>");
  }

  /// Returns the place of a value, or of the end of its error above or below.
  std::string coordinates(const Point& point, int side) const {
    return number(x_.place(point.x), "%.7g") + ' ' +
           number(-y_.place(point.y + side * point.error), "%.5g");
  }

  template <class Words>
  static std::string joined(const std::vector<Point>& points, const Words& words) {
    std::string all;
    for (const Point& point : points) all += (all.empty() ? "" : " ") + words(point);
    return all;
  }

  /// Returns the points of a line between values that are not finite.
  static std::vector<std::vector<Point>> pieces(const Line& line) {
    std::vector<std::vector<Point>> all;
    bool goes_on = false;
    for (const Point& point : line.points) {
      bool finite = is_finite(point);
      if (finite && !goes_on) all.emplace_back();
      if (finite) all.back().push_back(point);
      goes_on = finite;
    }
    return all;
  }

  void add_dots(const Line& line) {
    if (line.style != LineStyle::dotted && line.style != LineStyle::dots) return;
    for (const Point& point : line.points) {
      if (!std::isfinite(point.y)) continue;
      std::string y = percent(1 - y_.share(point.y)), colour = colour_class(line.colour);
      if (point.spread > 0)
        add_line("curve " + colour, percent(x_.share(point.x - point.spread)), y,
                 percent(x_.share(point.x + point.spread)), y);
      svg_.add("<circle class=\"dot ", colour, "\" cx=\"", percent(x_.share(point.x)), "\" cy=\"",
               y, "\" r=\"", line.style == LineStyle::dots ? 4 : 2.2, "\"/>");
    }
  }

  std::string legend() const {
    std::string entries;
    for (const Line& line : chart_.lines)
      if (line.named())
        entries +=
            text("<span class=\"", colour_class(line.colour), "\">", xml(line.name), "</span> ");
    return entries;
  }

  const Chart& chart_;
  ChartSize size_;
  Scale x_, y_;
  std::vector<Tick> y_ticks_;
  Svg svg_;
};

}  // namespace

Drawing drawn(const Chart& chart, const ChartSize& size) { return Panel(chart, size).drawing(); }

std::string sentence_of(const Chart& chart) {
  std::string sentence;
  for (const Line& line : chart.lines) {
    std::vector<Point> drawn;
    std::copy_if(line.points.begin(), line.points.end(), std::back_inserter(drawn), is_finite);
    if (drawn.empty() || !line.named()) continue;
    const Point &first = drawn.front(), &last = drawn.back();
    auto value = [](const Point& point) {
      return number(point.y) + (point.error > 0 ? " ± " + number(point.error, "%.2g") : "");
    };
    sentence += text(sentence.empty() ? "" : "; ", line.name, " goes from ", value(first), " at ",
                     number(first.x, "%.7g"), " to ", value(last), " at ", number(last.x, "%.7g"));
  }
  return sentence.empty() ? "Nothing to draw." : sentence + '.';
}

}  // namespace common
