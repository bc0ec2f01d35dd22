#include "examples.h"

#include "examples/apps/draw/progress.h"
#include "optim/epochs.h"

namespace seq2seq {

std::vector<Example> examples_of(const Rows& rows, const SavedRun& run, BadRows bad) {
  std::vector<Example> list;
  std::map<std::string, size_t> place_of;
  for (const Row& row : rows.rows) {
    Line line = read_line(row.source, run.source_symbols, run.flags.model.max_len);
    if (line.error) {
      report_bad_row(rows.place, row.line, "source: " + *line.error, bad);
      continue;
    }
    auto [place, is_new] = place_of.try_emplace(row.source, list.size());
    if (is_new) list.push_back({row.source, std::move(line.tokens), {}});
    list[place->second].references.push_back(row.target);
  }
  return list;
}

/// Returns the targets for all sources. Sources of similar length are translated in one batch.
std::vector<std::string> translations(const Translator& translator,
                                      const std::vector<Example>& list, int64_t batch_size) {
  std::vector<shiftgrad::TokenPair> sources;
  for (const Example& example : list) sources.push_back({example.tokens, {}});
  std::vector<std::string> result(list.size());
  apps::Progress progress("sources");
  int64_t first = 0;
  for (const std::vector<int64_t>& members : shiftgrad::batches_by_length(
           std::ssize(sources), batch_size, shiftgrad::shorter_of(sources))) {
    progress.show(first, std::ssize(list));
    std::vector<std::vector<int32_t>> batch;
    for (int64_t member : members) batch.push_back(list[static_cast<size_t>(member)].tokens);
    std::vector<std::string> targets = translator.translate(batch, first);
    for (size_t n = 0; n < targets.size(); ++n)
      result[static_cast<size_t>(members[n])] = targets[n];
    first += std::ssize(members);
  }
  return result;
}

std::vector<std::vector<std::string>> split_references(const Example& example, Unit unit) {
  std::vector<std::vector<std::string>> references;
  for (const std::string& reference : example.references)
    references.push_back(split(reference, unit));
  return references;
}

}  // namespace seq2seq
