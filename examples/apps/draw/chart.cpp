#include "chart.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "fixed.h"

namespace apps {

using nlohmann::json;
using shiftgrad::text;

namespace {

constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::min();

/// Returns a number that can be written: one beyond all others as the largest, NaN as 0.
double bounded(double value) {
  return std::isnan(value) ? 0 : std::clamp(value, -largest, largest);
}

/// Returns a length beside a point, or 0 where there is none to draw.
double drawable(double length) { return std::isfinite(length) ? length : 0; }

/// Returns `digits`, and as many more as tell values of this size apart where they differ by a
/// small part of it, at most as many as a double has.
int digits_for(int digits, double size, double difference) {
  double more = std::log10(size / difference);
  return std::isfinite(more) ? std::clamp(static_cast<int>(std::ceil(more)), digits, 17) : digits;
}

/// The digits of a place on the x axis. A number of steps is written out, however large it is.
int x_digits(double value) {
  if (value != std::floor(value)) return 7;
  return std::abs(value) < 1e15 ? 15 : 17;
}

std::string x_text(double value) { return significant(value, x_digits(value)); }

/// Returns a number of at most so many digits.
json rounded(double value, int digits) {
  double kept = bounded(std::strtod(significant(value, digits).c_str(), nullptr));
  bool is_whole = kept == std::floor(kept) && std::abs(kept) < 1e15;
  return is_whole ? json(static_cast<int64_t>(kept)) : json(kept);
}

/// A map from the values of an axis, or their logarithms, to shares of its length. It halves
/// places, since all of a range may be more than a double can hold.
struct Scale {
  double low, high;
  bool logarithmic = false;

  double place(double value) const {
    return (logarithmic ? std::log(std::max(bounded(value), smallest)) : bounded(value)) / 2;
  }
  double share(double value) const {
    return (place(value) - place(low)) / (place(high) - place(low));
  }
  bool has(double value) const {
    return std::isfinite(value) && std::abs(share(value) - 0.5) < 0.5 + 1e-9;
  }
  /// The largest of its values, without their signs.
  double size() const { return std::max(std::abs(low), std::abs(high)); }
  /// The digits that tell a value from another one `share` of the range away, at least `digits`.
  int digits(int digits, double share) const {
    return digits_for(digits, size() / 2, (high / 2 - low / 2) * share);
  }
};

/// Returns multiples of 1, 2 or 5 times a power of ten, at most `most` of them.
std::vector<Tick> round_ticks(double low, double high, double most) {
  double least_step = high / most - low / most;
  double step = std::pow(10, std::floor(std::log10(least_step)));
  for (double factor : {2.0, 2.5, 2.0})
    if (least_step > step) step *= factor;
  int digits = digits_for(7, std::max(std::abs(low), std::abs(high)), step / 10);
  double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  std::vector<Tick> ticks;
  for (int n = 0; n <= static_cast<int>(last - first); ++n) {
    double value = (first + n) * step;
    ticks.push_back({value, significant(value, digits)});
  }
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
    if (scale.has(tick.value) && std::ranges::none_of(kept, near)) kept.push_back(tick);
  }
  return kept;
}

/// Whether an axis can show a value.
bool can_show(const Axis& axis, double value) {
  return std::isfinite(value) && (!axis.logarithmic || value >= smallest);
}

/// Returns the scale around all values of an axis. A range that has hardly a double within it is
/// that of one value.
Scale scale_of(const Axis& axis, const Chart& chart, double Point::*coordinate) {
  double low = axis.low.value_or(std::numeric_limits<double>::infinity());
  double high = axis.high.value_or(-std::numeric_limits<double>::infinity());
  for (const Line& line : chart.lines)
    for (const Point& point : line.points) {
      double value = point.*coordinate;
      double spread = drawable(coordinate == &Point::x ? point.spread : point.error);
      if (!can_show(axis, value)) continue;
      low = std::min(low, can_show(axis, value - spread) ? value - spread : value);
      high = std::max(high, can_show(axis, value + spread) ? value + spread : value);
    }
  if (!(low <= high)) low = high = axis.logarithmic ? 1 : 0;
  if (axis.logarithmic) return {low / 1.05, bounded(high * 1.05), true};
  double size = std::max(std::abs(low), std::abs(high));
  bool is_one = high / 2 - low / 2 <= std::max(size * 1e-12, 1e-300);
  double room = is_one ? 0 : high * axis.room - low * axis.room;
  if (is_one) room = size > 1e-300 ? size / 20 : 1;
  return {bounded(low - room), bounded(high + room)};
}

bool is_seen(const Chart& chart, const Point& point) {
  return can_show(chart.x, point.x) && can_show(chart.y, point.y);
}

/// The width and the height of the plane, as the coordinates of its curves count them.
constexpr double plane = 1000;

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
            .content = text("<metadata>", metadata(), "</metadata>\n<svg class=\"plane\" y=\"", top,
                            "\" width=\"100%\" height=\"", size_.height, "\">\n", svg_.content,
                            "</svg>\n"),
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
    Scale right{bounded(y_.low * factor), bounded(y_.high * factor)};
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
    if (!can_show(chart_.x, mark.x) || !x_.has(mark.x)) return;
    svg_.add("<svg class=\"at\" x=\"", percent(x_.share(mark.x)), "\" data-x=\"", x_text(mark.x),
             "\">");
    add_line("mark", "0", "0", "0", "100%");
    if (!mark.name.empty()) svg_.words("class=\"faint\" dx=\"5\" y=\"15\"", mark.name);
    svg_.add("</svg>");
  }

  /// The curves stretch with the plane, their strokes do not.
  void add_curves() {
    svg_.add("<svg class=\"curves\" viewBox=\"0 0 ", plane, ' ', plane,
             "\" width=\"100%\" height=\"100%\" preserveAspectRatio=\"none\">");
    for (const Line& line : chart_.lines)
      if (is_drawn(line)) add_curve(line);
    svg_.add("</svg>");
  }

  /// A name stands for its curve also where that has no points.
  bool is_drawn(const Line& line) const { return line.named() || !pieces(line).empty(); }

  static bool has_band(const Line& line) {
    return std::ranges::any_of(line.points, [](auto& point) { return point.error > 0; });
  }

  /// Returns what a page reads of the chart, in JSON.
  std::string metadata() const {
    json curves = json::array();
    for (const Line& line : chart_.lines)
      if (is_drawn(line)) curves.push_back(numbers_of(line));
    json all = {{"x", ends_of(x_)}, {"y", ends_of(y_)}, {"curves", curves}};
    return xml(all.dump(-1, ' ', true, json::error_handler_t::replace));
  }

  static json ends_of(const Scale& scale) {
    int digits = scale.digits(9, 1e-6);
    return {rounded(scale.low, digits), rounded(scale.high, digits)};
  }

  json numbers_of(const Line& line) const {
    int y_digits = y_.digits(size_.digits, std::pow(10, 1 - size_.digits));
    json all = {{"xs", values(line, [](auto& at) { return rounded(at.x, x_digits(at.x)); })},
                {"ys", values(line, [&](auto& at) { return rounded(at.y, y_digits); })}};
    if (line.named()) all["name"] = line.name;
    if (line.noisy) all["noisy"] = true;
    if (has_times())
      all["times"] =
          values(line, [&](auto& at) { return rounded(bounded(at.time), size_.digits); });
    if (has_band(line))
      all["errors"] = values(line, [](auto& at) { return rounded(drawable(at.error), 3); });
    return all;
  }

  /// Returns a value of each point of a line, and null between its pieces.
  template <class Value>
  json values(const Line& line, const Value& value) const {
    json all = json::array();
    for (const std::vector<Point>& piece : pieces(line)) {
      if (!all.empty()) all.push_back(nullptr);
      for (const Point& point : piece) all.push_back(value(point));
    }
    return all;
  }

  /// A curve, begun anew after each value that is not finite, on its band.
  void add_curve(const Line& line) {
    std::string path, band;
    for (const std::vector<Point>& piece : pieces(line)) {
      path += 'M' + joined(piece, [&](const Point& point) { return coordinates(point, 0); });
      band += 'M' + joined(piece, [&](const Point& point) { return coordinates(point, 1); }) + ' ' +
              joined({piece.rbegin(), piece.rend()},
                     [&](const Point& point) { return coordinates(point, -1); }) +
              'Z';
    }
    std::string colour = colour_class(line.colour);
    if (has_band(line)) svg_.add("<path class=\"band ", colour, "\" d=\"", band, "\"/>");
    svg_.add("<path class=\"curve ", colour, line.style == LineStyle::pale ? " pale" : "",
             line.style == LineStyle::dots ? " unseen" : "",
             line.style == LineStyle::dotted ? " dotted" : "", line.noisy ? " noisy" : "", "\"",
             line.named() ? attribute("data-name", line.name) : "", " d=\"", path, "\"/>");
  }

  /// Returns the place of a value, or of the end of its error above or below.
  std::string coordinates(const Point& point, int side) const {
    return coordinate(x_.share(point.x)) + ' ' +
           coordinate(1 - y_.share(point.y + side * drawable(point.error)));
  }

  static std::string coordinate(double share) {
    return significant(std::round(share * plane * 10) / 10, 9);
  }

  template <class Words>
  static std::string joined(const std::vector<Point>& points, const Words& words) {
    std::string all;
    for (const Point& point : points) all += (all.empty() ? "" : " ") + words(point);
    return all;
  }

  /// Returns the points of a line between values that are not finite.
  std::vector<std::vector<Point>> pieces(const Line& line) const {
    std::vector<std::vector<Point>> all;
    bool goes_on = false;
    for (const Point& point : line.points) {
      bool finite = is_seen(chart_, point);
      if (finite && !goes_on) all.emplace_back();
      if (finite) all.back().push_back(point);
      goes_on = finite;
    }
    return all;
  }

  void add_dots(const Line& line) {
    if (line.style != LineStyle::dotted && line.style != LineStyle::dots) return;
    for (const Point& point : line.points) {
      if (!is_seen(chart_, point)) continue;
      std::string y = percent(1 - y_.share(point.y)), colour = colour_class(line.colour);
      if (double spread = drawable(point.spread); spread > 0) {
        auto end = [&](double x) { return percent(std::clamp(x_.share(x), 0.0, 1.0)); };
        add_line("curve " + colour, end(point.x - spread), y, end(point.x + spread), y);
      }
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
  Scale scale = scale_of(chart.y, chart, &Point::y);
  int digits = scale.digits(4, 0.01);
  std::string sentence;
  for (const Line& line : chart.lines) {
    std::vector<Point> drawn;
    for (const Point& point : line.points)
      if (is_seen(chart, point)) drawn.push_back(point);
    if (drawn.empty() || !line.named()) continue;
    const Point &first = drawn.front(), &last = drawn.back();
    auto value = [&](const Point& point) {
      double error = drawable(point.error);
      return significant(point.y, digits) + (error > 0 ? " ± " + significant(error, 2) : "");
    };
    sentence += text(sentence.empty() ? "" : "; ", line.name, " goes from ", value(first), " at ",
                     x_text(first.x), " to ", value(last), " at ", x_text(last.x));
  }
  return sentence.empty() ? "Nothing to draw." : sentence + '.';
}

}  // namespace apps
