#include "translated.h"

#include <algorithm>

#include "core/errors.h"
#include "examples/apps/draw/fixed.h"
#include "examples/apps/draw/html.h"

namespace seq2seq {

using shiftgrad::text;

namespace {

constexpr size_t most_worst = 12, most_best = 6;

double share_of_edits(const Translated& one) {
  return static_cast<double>(one.edits) / static_cast<double>(std::max<int64_t>(1, one.symbols));
}

/// The wrong ones, those with most edits for their length first, and then the right ones, the
/// longest first.
std::vector<const Translated*> worst_first(const std::vector<Translated>& pairs) {
  std::vector<const Translated*> order;
  for (const Translated& one : pairs) order.push_back(&one);
  std::ranges::stable_sort(order, [](const Translated* a, const Translated* b) {
    if (a->edits == 0 && b->edits == 0) return a->symbols > b->symbols;
    return share_of_edits(*a) > share_of_edits(*b);
  });
  return order;
}

std::string rows_of(const std::string& caption, const std::vector<const Translated*>& pairs) {
  if (pairs.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> classes;
  for (const Translated* one : pairs) {
    bool is_right = one->edits == 0;
    rows.push_back({one->example.source, one->target, one->example.references.front(),
                    is_right ? "✓" : text("✗ ", one->edits, one->edits > 1 ? " edits" : " edit")});
    classes.emplace_back(is_right ? "right" : "wrong");
  }
  return apps::table(caption, {"source", "translation", "reference", "right"}, rows, classes);
}

std::string column_of(const std::string& name, const Translations& found) {
  std::vector<const Translated*> order = worst_first(found.pairs);
  auto right = std::ranges::find(order, 0, [](const Translated* one) { return one->edits; });
  auto first = [](auto begin, auto end, size_t most) {
    return std::vector<const Translated*>(begin, std::min(end, begin + static_cast<int64_t>(most)));
  };
  const Scores& scores = found.scores;
  return text("<h3>", apps::xml(name), "</h3><p>",
              apps::fixed(100 * (1 - scores.sequence_error_rate()), 1), " % of ", scores.sources,
              " translations are exact, and ", apps::fixed(100 * scores.token_error_rate(), 1),
              " % of the symbols are edits.</p>\n",
              rows_of("The worst", first(order.begin(), right, most_worst)),
              rows_of("The best", first(right, order.end(), most_best)));
}

}  // namespace

Translations translations_of(const SavedRun& run, const Translator& translator, size_t most) {
  std::vector<Example> list = examples_of(read_split(run.flags).validation, run, BadRows::skip);
  shiftgrad::require(!list.empty(), "no validation row that the model can read");
  if (list.size() > most) list.resize(most);
  constexpr int64_t batch_size = 64;
  std::vector<std::string> targets = translations(translator, list, batch_size);
  Translations found;
  for (size_t n = 0; n < list.size(); ++n) {
    Scores one;
    Unit unit = run.target_symbols.unit();
    auto references = split_references(list[n], unit);
    one.add(split(targets[n], unit), references);
    found.scores.add(split(targets[n], unit), references);
    found.pairs.push_back({list[n], targets[n], one.edits, one.symbols});
  }
  return found;
}

apps::Section translation_section(const std::vector<FullReport>& runs) {
  auto able = apps::having(runs, &FullReport::translations);
  std::vector<std::string> columns;
  for (const auto& [run, found] : able) columns.push_back(column_of(run->name, *found));
  std::string html;
  if (!able.empty())
    html = apps::figure({}, apps::beside(columns),
                        "Translations of validation sources beside their first references. An edit "
                        "is an insertion, a deletion or a substitution of a symbol; the nearest "
                        "reference counts.");
  return {"Translations", html + apps::reasons(runs, &FullReport::translations)};
}

}  // namespace seq2seq
