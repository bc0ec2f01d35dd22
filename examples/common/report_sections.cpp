#include <algorithm>
#include <numbers>

#include "fixed.h"
#include "heat_map.h"
#include "html.h"
#include "printable.h"
#include "report.h"

namespace common {

using shiftgrad::text;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* none = "–";

int64_t count_of(const RunInReport& run) {
  int64_t sum = 0;
  for (const auto& [name, shape] : run.tensors) sum += product(shape);
  return sum;
}

std::string model_of(const RunInReport& run) {
  for (const char* flag : {"model", "encoder"})
    if (run.flags.contains(flag) && run.flags[flag].is_string()) return run.flags[flag];
  return "";
}

/// A chart of one kind of losses.
std::string loss_chart(const std::vector<std::pair<const RunInReport*, const LossCurve*>>& runs,
                       const std::string& title, const std::string& unit,
                       std::vector<LossPoint> LossCurve::*kind) {
  Chart chart{.title = title, .x = {.title = "step"}, .y = {.title = unit, .room = 0.05}};
  for (const auto& [run, curve] : runs)
    chart.lines.push_back(
        loss_line(printable(run->name), curve->*kind, LineStyle::plain, chart.lines.size()));
  return in_page(drawn(chart, chart_in_page));
}

/// The tokens of a text, of which a page marks those that a map's cell is about.
std::string token_line(const char* title, const char* axis,
                       const std::vector<std::string>& tokens) {
  bool words = std::ranges::any_of(tokens, [](auto& token) { return width_of(token, 1) > 1; });
  std::string line;
  for (const std::string& token : visible_symbols(tokens))
    line += text("<span>", xml(token), "</span>");
  return text("<p class=\"tokens", words ? " words" : "", "\" data-axis=\"", axis, "\">", title,
              ": ", line, "</p>\n");
}

/// The maps of one text, of which one shows.
std::string attention_maps(const RunInReport& run, const AttentionExample& example, size_t layers,
                           size_t heads) {
  std::string maps;
  for (size_t layer = 0; layer < layers; ++layer)
    for (size_t head = 0; head < heads; ++head) {
      bool has = layer < example.layers.size() && head < example.layers[layer].size();
      std::string content =
          text("<p>", xml(run.name), " has no head ", head, " in a layer ", layer, ".</p>");
      if (has) {
        HeatMap map = heat_map(example.layers[layer][head], {"query", example.queries},
                               {"key", example.keys});
        map.title = printable(run.name) + ": " + map.title;
        content = in_page(drawn(map, cell_within(map, 320)));
      }
      maps += alternative({{"layer", layer}, {"head", head}}, content);
    }
  return maps + token_line("query", "row", example.queries) +
         token_line("key", "column", example.keys);
}

std::string shown_flag(const Json& flags, const std::string& name) {
  if (!flags.contains(name) || flags[name].is_null()) return none;
  const Json& value = flags[name];
  if (value.is_string()) return value == "" ? "(none)" : value.get<std::string>();
  return value.dump();
}

}  // namespace

Section overview_section(const std::vector<RunInReport>& runs, const std::string& unit) {
  std::vector<std::vector<std::string>> rows;
  const RunInReport* best = nullptr;
  size_t measured = 0;
  for (const RunInReport& run : runs) {
    const std::optional<double>& loss = run.validation_loss;
    rows.push_back({run.name, model_of(run), std::to_string(count_of(run)),
                    std::to_string(run.state.step), loss ? fixed(*loss, 4) : none,
                    loss ? fixed(*loss / std::numbers::ln2, 3) : none,
                    run.scored.empty() ? none : run.scored, run.checkpoint});
    if (!loss) continue;
    ++measured;
    if (!best || *loss < *best->validation_loss) best = &run;
  }
  std::string sentence;
  if (best)
    sentence =
        text("<p>", xml(best->name),
             measured > 1 ? " has the lowest validation loss, " : " has a validation loss of ",
             fixed(*best->validation_loss, 4), ' ', unit, ".</p>\n");
  return {"Runs",
          sentence + table("The runs",
                           {"run", "model", "parameters", "step", unit,
                            "bits per " + unit.substr(unit.rfind(' ') + 1), "scored", "checkpoint"},
                           rows)};
}

Section loss_section(const std::vector<RunInReport>& runs, const std::string& unit) {
  auto able = having(runs, &RunInReport::loss);
  std::string html;
  if (!able.empty()) {
    std::vector<std::string> kinds{"of the validation text", "of each batch"};
    std::vector<std::string> charts{
        loss_chart(able, "Loss " + kinds[0], unit, &LossCurve::validation),
        loss_chart(able, "Loss " + kinds[1], unit, &LossCurve::batches)};
    auto validated = [](const auto& run) { return !run.second->validation.empty(); };
    if (std::ranges::none_of(able, validated)) {
      std::ranges::reverse(kinds);
      std::ranges::reverse(charts);
    }
    html =
        figure({{"kind", "loss", kinds}},
               alternative({{"kind", 0}}, charts[0]) + alternative({{"kind", 1}}, charts[1]),
               "The loss by the number of steps. The cursor or the arrow keys read the values of "
               "all runs at a step.");
  }
  return {"Loss", html + reasons(runs, &RunInReport::loss)};
}

Section attention_section(const std::vector<RunInReport>& runs) {
  auto able = having(runs, &RunInReport::attention);
  if (able.empty()) return {"Attention", reasons(runs, &RunInReport::attention)};
  size_t layers = 0, heads = 0;
  std::vector<std::string> titles;
  for (const auto& [run, examples] : able)
    for (size_t n = 0; n < examples->size(); ++n) {
      const AttentionExample& example = (*examples)[n];
      layers = std::max(layers, example.layers.size());
      heads = std::max(heads, example.layers.front().size());
      if (n >= titles.size()) titles.push_back(example.title);
    }
  std::vector<std::string> columns;
  for (const auto& [run, examples] : able) {
    std::string texts;
    for (size_t n = 0; n < titles.size(); ++n)
      texts += alternative(
          {{"example", n}},
          attention_maps(*run, (*examples)[std::min(n, examples->size() - 1)], layers, heads));
    columns.push_back(texts);
  }
  return {"Attention",
          figure({{"example", "pair", titles},
                  {"layer", "layer", numbers_below(layers)},
                  {"head", "head", numbers_below(heads)}},
                 beside(columns),
                 "What each query attends to, a row for each: the bluer a cell, the more of the "
                 "key. The cursor or the arrow keys read a weight, and mark its query and its key "
                 "in the text.") +
              reasons(runs, &RunInReport::attention)};
}

Section flags_section(const std::vector<RunInReport>& runs) {
  std::vector<std::string> columns{"flag"}, names, classes;
  for (const RunInReport& run : runs) {
    columns.push_back(run.name);
    for (const auto& [name, value] : run.flags.items())
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : names) {
    std::vector<std::string> row{name};
    for (const RunInReport& run : runs) row.push_back(shown_flag(run.flags, name));
    bool same = std::ranges::all_of(row.begin() + 1, row.end(),
                                    [&](const std::string& value) { return value == row[1]; });
    classes.push_back(runs.size() > 1 && same ? "same" : "");
    rows.push_back(row);
  }
  std::string html = table("Flags of the training", columns, rows, classes);
  if (runs.size() > 1)
    html =
        "<p class=\"controls\"><label><input type=\"checkbox\" name=\"all\"> also flags that are "
        "the same in all runs</label></p>\n" +
        html;
  return {"Flags", text("<div class=\"flags\">\n", html, "</div>\n")};
}

Section parameters_section(const std::vector<RunInReport>& runs) {
  std::string html;
  for (const RunInReport& run : runs) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, shape] : run.tensors)
      rows.push_back({name, text(shape), std::to_string(product(shape))});
    html += text("<details><summary>", xml(run.name), ": ", run.tensors.size(), " tensors, ",
                 count_of(run), " numbers</summary>\n",
                 table("Parameters of " + run.name, {"name", "shape", "numbers"}, rows),
                 "</details>\n");
  }
  return {"Parameters", html};
}

}  // namespace common
