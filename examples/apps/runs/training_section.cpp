#include <algorithm>

#include "examples/apps/draw/html.h"
#include "examples/apps/draw/printable.h"
#include "report.h"

namespace apps {

using shiftgrad::text;

namespace {

using Runs = std::vector<std::pair<const RunInReport*, const RunCourse*>>;

/// The unit of an axis of times.
struct TimeUnit {
  const char* name;
  double seconds;
};

TimeUnit unit_of(const Runs& runs) {
  double longest = 0;
  for (const auto& [run, course] : runs) longest = std::max(longest, course->seconds);
  if (longest < 300) return {"seconds", 1};
  return longest < 3 * 3600 ? TimeUnit{"minutes", 60} : TimeUnit{"hours", 3600};
}

/// What a training measures: the runs of a report have a line each in its chart.
struct Quantity {
  const char *title, *unit;
  std::vector<Measured> RunCourse::*points;
  bool noisy;
  bool is_share = false;  // its axis goes from 0 to 1
};

constexpr Quantity beside_loss[] = {
    {"Learning rate", "", &RunCourse::learning_rates, false},
    {"Norm of the gradient", "", &RunCourse::gradient_norms, true},
    {"Speed", "tokens/s", &RunCourse::speeds, true},
    {"Exact translations", "share", &RunCourse::exact_matches, false, true},
    {"Edits", "share of the symbols", &RunCourse::edit_rates, false, true},
};

/// The charts of the runs, over steps and over times.
class TrainingCharts {
 public:
  explicit TrainingCharts(const Runs& runs)
      : runs_(runs),
        unit_(unit_of(runs)),
        most_(std::clamp<size_t>(4000 / runs.size(), 50, 1000)) {}

  bool has_times() const {
    return std::ranges::any_of(runs_, [](const auto& run) { return run.second->seconds > 0; });
  }

  /// The losses: of each batch thin and pale, of the texts with points on top. A run without
  /// evaluations has a line for its batches.
  std::string loss(const std::string& unit, const std::optional<double>& end) const {
    Chart chart = empty("Loss", unit);
    for (size_t n = 0; n < runs_.size(); ++n) {
      const RunCourse& course = *runs_[n].second;
      bool evaluated = !course.validation.empty();
      chart.lines.push_back(line(n, "each batch", course.batches,
                                 evaluated ? LineStyle::pale : LineStyle::plain,
                                 is_alone() && evaluated ? 1 : n));
      chart.lines.back().noisy = true;
    }
    for (size_t n = 0; n < runs_.size(); ++n) {
      const RunCourse& course = *runs_[n].second;
      if (course.validation.empty()) continue;
      if (is_alone())
        chart.lines.push_back(line(n, "training", course.training, LineStyle::dotted, 1));
      chart.lines.push_back(line(n, "validation", course.validation, LineStyle::dotted, n));
    }
    if (end) chart.marks.push_back({*end, text("step ", *end, ": the shortest run ends")});
    return in_page(drawn(chart, chart_in_page));
  }

  /// The other quantities, as far as a run has them.
  std::vector<std::string> others() const {
    std::vector<std::string> charts;
    for (const Quantity& quantity : beside_loss) {
      Chart chart = empty(quantity.title, quantity.unit);
      if (quantity.is_share) chart.y = {.title = quantity.unit, .low = 0, .high = 1};
      for (size_t n = 0; n < runs_.size(); ++n) {
        const std::vector<Measured>& points = runs_[n].second->*quantity.points;
        if (points.empty()) continue;
        chart.lines.push_back(line(n, quantity.title, points, LineStyle::plain, n));
        chart.lines.back().noisy = quantity.noisy;
      }
      if (!chart.lines.empty()) charts.push_back(in_page(drawn(chart, chart_in_page)));
    }
    return charts;
  }

 private:
  bool is_alone() const { return runs_.size() == 1; }

  Chart empty(const std::string& title, const std::string& unit) const {
    return {.title = title,
            .x = {.title = "step"},
            .y = {.title = unit, .room = 0.05},
            .time_title = has_times() ? unit_.name : ""};
  }

  /// A line of run n, with its name unless it is alone.
  Line line(size_t n, const char* alone, const std::vector<Measured>& points, LineStyle style,
            size_t colour) const {
    std::string name = is_alone() ? alone : printable(runs_[n].first->name);
    Line line = line_of(name, points, style, colour, most_);
    for (Point& point : line.points) point.time /= unit_.seconds;
    return line;
  }

  const Runs& runs_;
  TimeUnit unit_;
  size_t most_;
};

}  // namespace

std::optional<double> end_of_shortest(const std::vector<RunInReport>& runs) {
  std::vector<double> ends;
  for (const auto& [run, course] : having(runs, &RunInReport::course))
    ends.push_back(course->last_step());
  if (ends.empty() || std::ranges::min(ends) == std::ranges::max(ends)) return std::nullopt;
  return std::ranges::min(ends);
}

Section training_section(const std::vector<RunInReport>& runs, const std::string& unit) {
  auto able = having(runs, &RunInReport::course);
  std::string html;
  if (!able.empty()) {
    TrainingCharts charts(able);
    const std::vector<std::string> scales{"linear", "logarithmic"};
    std::vector<std::string> axes{"steps"};
    if (charts.has_times()) axes.emplace_back("time");
    html = figure(
        {{"time", "x axis", axes},
         {"log_x", "scale of x", scales},
         {"log_y", "scale of y", scales},
         {"smoothing", "smooth over", {"nothing", "5 points", "20 points", "100 points"}}},
        charts.loss(unit, end_of_shortest(runs)) + beside(charts.others()),
        "Losses are in nats; a nat is 1.443 bits. With points, the loss of the texts, as far "
        "as the training evaluated them; pale, of each batch. One cursor, or the arrow keys, "
        "read all charts. Time is that of the steps, without evaluations. Drag over a part to see "
        "it alone, "
        "or press + and −; 0 shows all of it.");
  }
  return {"Training", html + reasons(runs, &RunInReport::course)};
}

}  // namespace apps
