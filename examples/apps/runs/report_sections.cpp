#include <algorithm>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "examples/apps/draw/fixed.h"
#include "examples/apps/draw/heat_map.h"
#include "examples/apps/draw/html.h"
#include "examples/apps/draw/json_text.h"
#include "examples/apps/draw/printable.h"
#include "examples/apps/draw/status_line.h"
#include "report.h"

namespace apps {

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

/// The maps of one text: all of them small, and the one that is chosen large.
std::string attention_maps(const RunInReport& run, const AttentionExample& example,
                           const std::string& id, size_t layers, size_t heads) {
  std::string maps, choice;
  for (size_t layer = 0; layer < layers; ++layer)
    for (size_t head = 0; head < heads; ++head) {
      std::string content =
          text("<p>", xml(run.name), " has no head ", head, " in a layer ", layer, ".</p>");
      if (layer < example.layers.size() && head < example.layers[layer].size()) {
        HeatMap map = heat_map(example.layers[layer][head], {"query", example.queries},
                               {"key", example.keys});
        map.title = printable(run.name) + ": " + map.title;
        map.id = text(id, "-layer-", layer, "-head-", head);
        double cell = cell_within(map, 320);
        content = in_page(drawn(map, cell));
        if (head == 0) choice += text("<span>layer ", layer, "</span>");
        choice += text("<button type=\"button\" data-layer=\"", layer, "\" data-head=\"", head,
                       "\" aria-label=\"layer ", layer, ", head ", head, "\">",
                       cells_again(map, cell), "</button>\n");
      }
      maps += alternative({{"layer", layer}, {"head", head}}, content);
    }
  size_t most = 0;
  for (const std::vector<AttentionMap>& line : example.layers) most = std::max(most, line.size());
  if (example.layers.size() * most > 1)
    choice = text("<map-choice aria-label=\"Heads of all layers\" style=\"--heads:", most, "\">\n",
                  choice, "</map-choice>\n");
  else
    choice.clear();
  return text("<div class=\"attention\"><div>", maps, token_line("query", "row", example.queries),
              token_line("key", "column", example.keys), "</div>", choice, "</div>\n");
}

/// The values of flags by name, as the page shows them. Looking for one in an object that keeps the
/// order of its keys takes time with their number.
using ShownFlags = std::map<std::string, std::string>;

ShownFlags shown_flags(const Json& flags) {
  auto shown = [](const Json& value) {
    if (value.is_null()) return std::string(none);
    if (value.is_string()) return value == "" ? "(none)" : bytes_of(value.get<std::string>());
    return value.dump();
  };
  ShownFlags all;
  for (const auto& [name, value] : flags.items()) all.emplace(name, shown(value));
  return all;
}

std::string flag_in(const ShownFlags& flags, const std::string& name) {
  auto found = flags.find(name);
  return found == flags.end() ? none : found->second;
}

/// The loss that runs are compared by: of all that was scored, or in training up to a step.
std::optional<double> loss_at(const RunInReport& run, const std::optional<double>& step) {
  if (!step) return run.validation_loss;
  auto point = run.course.value ? run.course.value->validation_at(*step) : std::nullopt;
  return point ? std::optional(point->value) : std::nullopt;
}

std::string median_speed(const RunCourse& course) {
  std::vector<Measured> speeds = course.speeds;
  if (speeds.empty()) return none;
  auto middle = speeds.begin() + std::ssize(speeds) / 2;
  std::ranges::nth_element(speeds, middle, {}, &Measured::value);
  return fixed(middle->value, 0);
}

/// What the summary says of a run, in words.
struct Summary {
  std::string bits = none, nats = none, scored, time = none, speed = none, best = none, steps;
};

Summary summary_of(const RunInReport& run) {
  Summary summary{.scored = run.scored.empty() ? none : run.scored,
                  .steps = std::to_string(run.state.step)};
  if (run.validation_loss) {
    summary.bits = fixed(*run.validation_loss / std::numbers::ln2, 3);
    summary.nats = fixed(*run.validation_loss, 4);
  }
  if (!run.course.value) return summary;
  const RunCourse& course = *run.course.value;
  summary.steps = fixed(course.last_step(), 0);
  if (course.seconds > 0) summary.time = clock_time(course.seconds);
  summary.speed = median_speed(course);
  if (auto best = course.best()) summary.best = fixed(best->step, 0);
  return summary;
}

/// The last word of a unit such as "nats per character".
std::string token_of(const std::string& unit) { return unit.substr(unit.rfind(' ') + 1); }

std::vector<Fact> facts_of(const RunInReport& run, const std::string& unit) {
  Summary summary = summary_of(run);
  std::vector<Fact> all{{"score", summary.bits,
                         text("bits per ", token_of(unit), ", which are ", summary.nats, ' ', unit,
                              run.scored.empty() ? "" : ", for " + run.scored)}};
  all.push_back({"training", summary.time,
                 text("minutes for ", summary.steps, " steps, without evaluations")});
  all.push_back({"speed", summary.speed, "tokens/s, the median"});
  all.push_back(
      {"parameters", std::to_string(count_of(run)), text("in ", run.tensors.size(), " tensors")});
  all.push_back({"best step", summary.best,
                 text("of ", summary.steps, "; the report is about step ", run.state.step)});
  std::string model = model_of(run);
  all.push_back({"model", model.empty() ? none : model, run.checkpoint});
  return all;
}

/// Says which run is best: where they have unequal lengths, at the end of the shortest.
std::string verdict(const std::vector<RunInReport>& runs, const std::string& unit,
                    const std::optional<double>& step) {
  const RunInReport* best = nullptr;
  double lowest = std::numeric_limits<double>::infinity();
  int measured = 0;
  for (const RunInReport& run : runs) {
    std::optional<double> loss = loss_at(run, step);
    if (!loss) continue;
    ++measured;
    if (*loss < lowest) {
      best = &run;
      lowest = *loss;
    }
  }
  if (measured < 2) return "";
  std::string place =
      step ? text("The runs have unequal lengths. At step ", *step, ", where the shortest ends, ")
           : "";
  return text("<p>", place, xml(best->name), " has the lowest validation loss, ", fixed(lowest, 4),
              ' ', unit, ".</p>\n");
}

std::string comparison(const std::vector<RunInReport>& runs, const std::string& unit) {
  std::optional<double> step = end_of_shortest(runs);
  std::vector<std::string> columns{"run",     "model",    "bits per " + token_of(unit),
                                   unit,      "scored",   "parameters",
                                   "minutes", "tokens/s", "best step",
                                   "steps"};
  if (step) columns.push_back(text("loss at step ", *step));
  std::vector<std::vector<std::string>> rows;
  for (const RunInReport& run : runs) {
    Summary summary = summary_of(run);
    rows.push_back({run.name, model_of(run), summary.bits, summary.nats, summary.scored,
                    std::to_string(count_of(run)), summary.time, summary.speed, summary.best,
                    summary.steps});
    std::optional<double> loss = loss_at(run, step);
    if (step) rows.back().push_back(loss ? fixed(*loss, 4) : none);
  }
  return verdict(runs, unit, step) + table("The runs", columns, rows);
}

}  // namespace

Section summary_section(const std::vector<RunInReport>& runs, const std::string& unit) {
  if (runs.size() == 1) return {"Summary", facts(facts_of(runs.front(), unit))};
  return {"Summary", comparison(runs, unit)};
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
    for (size_t n = 0; n < titles.size(); ++n) {
      std::string id = text("run-", columns.size(), "-text-", n);
      const AttentionExample& example = (*examples)[std::min(n, examples->size() - 1)];
      texts += alternative({{"example", n}}, attention_maps(*run, example, id, layers, heads));
    }
    columns.push_back(texts);
  }
  return {"Attention",
          figure({{"example", "pair", titles},
                  {"layer", "layer", numbers_below(layers)},
                  {"head", "head", numbers_below(heads)}},
                 beside(columns),
                 "What each query attends to, a row for each. Hatched keys are hidden from it. A "
                 "small map shows its head large. The cursor or the arrow keys read a weight and "
                 "the sum of its row, and mark its query and its key in the text.") +
              reasons(runs, &RunInReport::attention)};
}

Section flags_section(const std::vector<RunInReport>& runs) {
  std::vector<std::string> columns{"flag"}, names;
  std::set<std::string> known;
  std::vector<ShownFlags> flags, defaults;
  for (const RunInReport& run : runs) {
    columns.push_back(runs.size() > 1 ? run.name : "value");
    for (const auto& [name, value] : run.flags.items())
      if (known.insert(name).second) names.push_back(name);
    flags.push_back(shown_flags(run.flags));
    defaults.push_back(shown_flags(run.defaults));
  }
  if (runs.size() == 1 && !runs.front().defaults.empty()) columns.emplace_back("default");
  std::vector<std::vector<std::string>> differing, others;
  for (const std::string& name : names) {
    std::vector<std::string> row{name};
    bool differs = false;
    for (size_t run = 0; run < runs.size(); ++run) {
      row.push_back(flag_in(flags[run], name));
      differs |= row.back() != row[1] || row.back() != flag_in(defaults[run], name);
    }
    if (columns.size() > row.size()) row.push_back(flag_in(defaults.front(), name));
    (differs ? differing : others).push_back(row);
  }
  std::string html =
      table(runs.size() > 1 ? "Flags that differ between the runs or from their defaults"
                            : "Flags that differ from their defaults",
            columns, differing);
  if (!others.empty())
    html += folded(text(others.size(), others.size() > 1 ? " flags have" : " flag has",
                        " the default in ", runs.size() > 1 ? "all runs" : "this run"),
                   table("Flags with their defaults", columns, others));
  return {"Flags", html};
}

Section parameters_section(const std::vector<RunInReport>& runs) {
  std::string html;
  for (const RunInReport& run : runs) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, shape] : run.tensors)
      rows.push_back({name, text(shape), std::to_string(product(shape))});
    html +=
        folded(text(run.name, ": ", run.tensors.size(), " tensors, ", count_of(run), " numbers"),
               table("Parameters of " + run.name, {"name", "shape", "numbers"}, rows));
  }
  return {"Parameters", html};
}

}  // namespace apps
