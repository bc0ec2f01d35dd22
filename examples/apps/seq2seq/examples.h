#pragma once

// Sources and what a run makes of them.

#include <map>
#include <string>
#include <vector>

#include "data.h"
#include "decoding.h"

namespace seq2seq {

/// A source and all targets that the data has for it.
struct Example {
  std::string source;
  std::vector<int32_t> tokens;
  std::vector<std::string> references;
};

/// Returns rows by source, in their order. A source that the model cannot read is a bad row; there
/// may be no other.
std::vector<Example> examples_of(const Rows& rows, const SavedRun& run, BadRows bad);

/// Returns the targets for all sources. Sources of similar length are translated in one batch.
std::vector<std::string> translations(const Translator& translator,
                                      const std::vector<Example>& list, int64_t batch_size);

/// Returns the references of an example as lists of symbols.
std::vector<std::vector<std::string>> split_references(const Example& example, Unit unit);

}  // namespace seq2seq
