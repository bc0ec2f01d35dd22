#include "report_parts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "charts.h"
#include "examples/apps/draw/html.h"
#include "examples/apps/draw/printable.h"

namespace char_lm {

using namespace apps;
using shiftgrad::text;

Section sample_section(const std::vector<FullReport>& runs) {
  auto able = having(runs, &FullReport::sample);
  std::string html;
  std::vector<std::string> samples;
  for (const auto& [run, sample] : able)
    samples.push_back(
        text("<h3>", xml(run->name), "</h3>",
             prompted_text(sample->prompt, sample->text, "sample of " + run->name)));
  if (!able.empty())
    html = figure({}, beside(samples),
                  text("What each model writes after the prompt, which is marked (",
                       able.front().second->settings, ")."));
  return {"Samples", html + reasons(runs, &FullReport::sample)};
}

/// A chart for each run that has tables of the chosen kind.
Section distance_section(const std::vector<FullReport>& runs) {
  auto able = having(runs, &FullReport::distances);
  std::vector<std::string> titles, columns;
  size_t layers = 0;
  for (const auto& [run, found] : able) {
    layers = std::max(layers, found->layers.size());
    for (const DistanceTable& table : found->layers.front())
      if (std::ranges::find(titles, table.title) == titles.end()) titles.push_back(table.title);
  }
  for (const auto& [run, found] : able) {
    std::string charts;
    for (size_t layer = 0; layer < found->layers.size(); ++layer)
      for (const DistanceTable& table : found->layers[layer]) {
        auto kind = static_cast<size_t>(std::ranges::find(titles, table.title) - titles.begin());
        apps::Chart chart = distance_chart(text(apps::printable(run->name), ", layer ", layer),
                                           table, found->trained);
        chart.x.title = "distance δ";
        charts += alternative({{"kind", kind}, {"layer", layer}},
                              in_page(drawn(chart, apps::chart_in_page)));
      }
    columns.push_back(charts);
  }
  std::string html;
  if (!able.empty())
    html = figure({{"kind", "show", titles}, {"layer", "layer", apps::numbers_below(layers)}},
                  beside(columns),
                  "What a layer has learned about each distance δ, a curve for each head: "
                  "biases of the score after the factor 1/√D, and norms of embeddings. A "
                  "dashed line marks the longest distance in training.");
  return {"Distances", html + reasons(runs, &FullReport::distances)};
}

Section context_section(const std::vector<FullReport>& runs) {
  auto able = having(runs, &FullReport::context);
  std::vector<ContextCurve> curves;
  std::set<int64_t> lengths;
  for (const auto& [run, context] : able)
    lengths.insert(context->lengths.begin(), context->lengths.end());
  std::string trained;
  for (const auto& [run, context] : able) {
    ContextCurve curve = context->curve;
    trained +=
        text(trained.empty() ? "" : "; ", curve.name, " was trained on blocks of ", curve.trained);
    curve.losses.clear();
    for (int64_t length : lengths) {
      auto at = std::ranges::find(context->lengths, length) - context->lengths.begin();
      curve.losses.push_back(at < std::ssize(context->lengths)
                                 ? context->curve.losses[static_cast<size_t>(at)]
                                 : MeanLoss{.bits = std::nan("")});
    }
    curves.push_back(curve);
  }
  std::string html;
  if (!able.empty()) {
    apps::Chart chart = context_chart(curves, {lengths.begin(), lengths.end()}, "characters read");
    chart.title = "Loss by the length of the context, " + scored_characters(curves);
    html = figure({}, in_page(drawn(chart, apps::chart_in_page)),
                  "How well the models predict from exactly N characters of the validation text, "
                  "the same ones for each N; the band is ± a standard error: " +
                      trained + ".");
  }
  return {"Context", html + reasons(runs, &FullReport::context)};
}

}  // namespace char_lm
