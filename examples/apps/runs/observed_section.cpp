#include <algorithm>
#include <set>

#include "examples/apps/draw/heat_map.h"
#include "examples/apps/draw/html.h"
#include "examples/apps/draw/printable.h"
#include "report.h"

namespace apps {

using shiftgrad::text;

namespace {

using Runs = std::vector<std::pair<const RunInReport*, const RunCourse*>>;

/// Returns the runs with observations.
Runs observed_runs(const std::vector<RunInReport>& runs) {
  Runs able = having(runs, &RunInReport::course);
  std::erase_if(able, [](const auto& run) { return run.second->observations.empty(); });
  return able;
}

/// How many steps leave room for the rest of a report, or 0 where one alone would; a map has a bar
/// and names, too.
size_t most_steps(const Runs& runs) {
  constexpr size_t bytes = 400'000, bytes_of_weight = 18, bytes_beside = 7'000, most = 24;
  size_t one = 0;
  for (const auto& [run, course] : runs) {
    const auto& attended = course->observations.back().attended;
    one += bytes_beside + bytes_of_weight * (attended ? attended->values.size() : 0);
  }
  return bytes / one < 2 ? 0 : std::min(bytes / one, most);
}

/// Returns steps at which something was observed, evenly spread up to the last.
std::vector<double> steps_of(const Runs& runs) {
  std::set<double> all;
  for (const auto& [run, course] : runs)
    for (const Observation& observed : course->observations) all.insert(observed.step);
  std::vector<double> steps(all.begin(), all.end()), some;
  size_t count = std::min(steps.size(), most_steps(runs));
  for (size_t n = 0; n < count; ++n) some.push_back(steps[(n + 1) * steps.size() / count - 1]);
  return some;
}

/// Returns what was written behind a prompt, or beside what was expected.
std::string samples_of(const RunInReport& run, const Observation& observed) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> classes;
  std::string html;
  for (const ReadAndWritten& sample : observed.samples) {
    if (sample.expected.empty()) {
      html += prompted_text(sample.read, sample.written, "sample of " + run.name);
      continue;
    }
    bool is_right = sample.written == sample.expected;
    rows.push_back({sample.read, sample.written, sample.expected, is_right ? "✓" : "✗"});
    classes.emplace_back(is_right ? "right" : "wrong");
  }
  if (!rows.empty())
    html += table("What it wrote", {"source", "translation", "reference", "right"}, rows, classes);
  return html;
}

std::string attended_map(const RunInReport& run, const Observation& observed) {
  if (!observed.attended) return "";
  const TokenWeights& weights = *observed.attended;
  HeatMap map = heat_map({weights.title, weights.values}, {weights.row_title, weights.rows},
                         {"key", weights.tokens});
  map.title = printable(run.name) + ": " + weights.title;
  return in_page(drawn(map, cell_within(map, 420)));
}

/// Returns what was observed of a run at a step, or last before it.
std::string observed_at(const RunInReport& run, const RunCourse& course, double step) {
  auto after = std::ranges::upper_bound(course.observations, step, {}, &Observation::step);
  if (after == course.observations.begin())
    return text("<h3>", xml(run.name), "</h3><p>Nothing was observed before step ", after->step,
                ".</p>\n");
  const Observation& observed = *(after - 1);
  return text("<h3>", xml(run.name), ", step ", observed.step, "</h3>", samples_of(run, observed),
              attended_map(run, observed));
}

}  // namespace

Section observed_section(const std::vector<RunInReport>& runs) {
  Runs able = observed_runs(runs);
  if (able.empty()) return {"Evaluations", ""};
  std::vector<double> steps = steps_of(able);
  if (steps.empty())
    return {"Evaluations",
            "<p>Fewer runs leave room for what each wrote after its evaluations.</p>\n"};
  Choice at{.name = "at", .label = "step", .options = {}, .on_slider = true};
  for (double step : steps) at.options.push_back(text(step));
  std::vector<std::string> columns;
  for (const auto& [run, course] : able) {
    std::string parts;
    for (size_t n = 0; n < steps.size(); ++n)
      parts += alternative({{"at", n}}, observed_at(*run, *course, steps[n]));
    columns.push_back(parts);
  }
  return {
      "Evaluations",
      figure({at}, beside(columns),
             "What each model wrote and attended to after an evaluation, while it was in training, "
             "each time from the same text and with the same draws. Head 0.1 is head 1 of "
             "layer 0.")};
}

}  // namespace apps
