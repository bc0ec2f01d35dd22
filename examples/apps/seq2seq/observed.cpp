#include "observed.h"

#include <algorithm>
#include <utility>

#include "alignments.h"
#include "scores.h"

namespace seq2seq {

namespace {

/// Returns the likeliest targets, token by token. None gets far longer than the longest reference,
/// as those of a model that has not learned to end do.
std::vector<std::vector<int32_t>> greedy_targets(const shiftgrad::EncoderDecoder& model,
                                                 const std::vector<Example>& sources,
                                                 const Symbols& symbols) {
  size_t longest = 1;
  std::vector<std::vector<int32_t>> tokens;
  for (const Example& example : sources) {
    tokens.push_back(example.tokens);
    for (const std::string& reference : example.references)
      longest = std::max(longest, split(reference, symbols.unit()).size());
  }
  shiftgrad::DecodingOptions options = decoding_options(model, 2 * static_cast<int64_t>(longest));
  std::vector<std::vector<int32_t>> targets;
  for (auto& found : beam_search(model, shiftgrad::pad(tokens), options, {.width = 1})) {
    targets.push_back(std::move(found.front().tokens));
    // A model that has learned little may write the token that begins a target.
    std::erase_if(targets.back(), [](int32_t token) { return token < first_symbol; });
  }
  return targets;
}

/// Returns the weights of a source's tokens in the last block, the mean of its heads, for each
/// token of a target.
apps::TokenWeights alignment(const shiftgrad::EncoderDecoder& model, const Example& example,
                             const std::vector<int32_t>& target, const Data& data) {
  apps::AttentionMap map = alignments(model, example.tokens, target, false).back().front();
  const Symbols& symbols = data.target_symbols;
  return {.title = map.title,
          .row_title = "target",
          .rows = rows_of(symbols.decode(target), symbols.unit()),
          .tokens = split(example.source, data.source_symbols.unit()),
          .values = map.weights};
}

}  // namespace

std::vector<Example> first_sources(const Data& data, size_t most) {
  std::vector<Example> list;
  for (const shiftgrad::TokenPair& pair : data.validation) {
    auto known = std::ranges::find(list, pair.source, &Example::tokens);
    if (known == list.end() && list.size() == most) continue;
    if (known == list.end())
      known = list.insert(list.end(), {data.source_symbols.decode(pair.source), pair.source, {}});
    known->references.push_back(data.target_symbols.decode(pair.target));
  }
  return list;
}

apps::Observation observed(const shiftgrad::EncoderDecoder& model,
                           const std::vector<Example>& sources, const Data& data) {
  constexpr size_t shown = 4;
  std::vector<std::vector<int32_t>> targets = greedy_targets(model, sources, data.target_symbols);
  apps::Observation found;
  Scores scores;
  for (size_t n = 0; n < sources.size(); ++n) {
    std::string target = data.target_symbols.decode(targets[n]);
    Unit unit = data.target_symbols.unit();
    scores.add(split(target, unit), split_references(sources[n], unit));
    if (n >= shown) continue;
    const auto& references = sources[n].references;
    bool is_right = std::ranges::find(references, target) != references.end();
    found.samples.push_back({sources[n].source, target, is_right ? target : references.front()});
  }
  found.exact_match = 1 - scores.sequence_error_rate();
  found.edit_rate = scores.token_error_rate();
  found.attended = alignment(model, sources.front(), targets.front(), data);
  return found;
}

}  // namespace seq2seq
