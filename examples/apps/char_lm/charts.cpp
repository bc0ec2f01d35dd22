#include "charts.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

namespace char_lm {

using apps::Chart;
using apps::LineStyle;
using shiftgrad::text;

namespace {

/// Returns ticks for the lengths, round ones first.
std::vector<apps::Tick> ticks_of(std::vector<int64_t> lengths) {
  auto twos = [](int64_t length) { return std::countr_zero(static_cast<uint64_t>(length)); };
  std::ranges::stable_sort(lengths, std::greater<>(), twos);
  std::vector<apps::Tick> ticks;
  for (int64_t length : lengths)
    ticks.push_back({static_cast<double>(length), std::to_string(length)});
  return ticks;
}

}  // namespace

Chart distance_chart(const std::string& title, const DistanceTable& table, int64_t trained) {
  constexpr int64_t most = 400, dotted = 40;
  Chart chart{.title = title, .y = {.title = table.title, .room = 0.05}};
  int64_t count = std::ssize(table.heads.front()), step = (count - 1) / most + 1;
  for (size_t h = 0; h < table.heads.size(); ++h) {
    apps::Line line{table.heads.size() > 1 ? text("head ", h) : "shared",
                    {},
                    count <= dotted ? LineStyle::dotted : LineStyle::plain,
                    h};
    for (int64_t n = 0; n < count; n += step)
      line.points.push_back(
          {static_cast<double>(table.first + n), table.heads[h][static_cast<size_t>(n)]});
    chart.lines.push_back(line);
  }
  if (trained < table.first + count - 1) chart.marks.push_back({static_cast<double>(trained), ""});
  return chart;
}

Chart context_chart(const std::vector<ContextCurve>& curves, const std::vector<int64_t>& lengths,
                    const std::string& x_title) {
  Chart chart{.x = {.title = x_title, .ticks = ticks_of(lengths), .logarithmic = true},
              .y = {.title = "bits per character", .room = 0.05}};
  std::set<int64_t> marks;
  for (size_t n = 0; n < curves.size(); ++n) {
    apps::Line line{curves[n].name, {}, LineStyle::dotted, n};
    for (size_t at = 0; at < curves[n].losses.size(); ++at) {
      const MeanLoss& loss = curves[n].losses[at];
      line.points.push_back(
          {.x = static_cast<double>(lengths[at]), .y = loss.bits, .error = loss.error});
    }
    chart.lines.push_back(line);
    marks.insert(curves[n].trained);
  }
  for (int64_t mark : marks)
    if (lengths.front() <= mark && mark <= lengths.back())
      chart.marks.push_back({static_cast<double>(mark), text("trained on ", mark)});
  return chart;
}

std::string scored_characters(const std::vector<ContextCurve>& curves) {
  auto [least, most] = std::ranges::minmax(curves, {}, &ContextCurve::characters);
  return text("over ", least.characters < most.characters ? text(least.characters, " to ") : "",
              most.characters, " characters");
}

}  // namespace char_lm
