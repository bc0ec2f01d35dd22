#pragma once

// What a run makes of sources that it was not trained on, and how far that is from the references.

#include "examples.h"
#include "examples/apps/runs/report.h"
#include "scores.h"

namespace seq2seq {

/// A translation, how many edits it is from the nearest reference, and that reference's symbols.
struct Translated {
  Example example;
  std::string target;
  int64_t edits = 0, symbols = 0;
};

struct Translations {
  Scores scores;
  /// In the order of the data.
  std::vector<Translated> pairs;
};

/// Translates the first `most` validation sources of a run. Throws when there are none.
Translations translations_of(const SavedRun& run, const Translator& translator, size_t most);

/// What this program's reports have of a run.
struct FullReport : apps::RunInReport {
  apps::Part<Translations> translations{};
};

/// The worst translations of each run and its best ones, beside their references.
apps::Section translation_section(const std::vector<FullReport>& runs);

}  // namespace seq2seq
