// char_lm context shows how the loss of models depends on how much earlier text they read.

#include <algorithm>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "charts.h"
#include "command.h"
#include "context_curves.h"
#include "examples/apps/draw/fixed.h"
#include "examples/apps/draw/json_text.h"
#include "examples/apps/draw/picture.h"
#include "examples/apps/draw/progress.h"
#include "examples/apps/flags/flags.h"
#include "figures.h"
#include "run_folder.h"
#include "scored_text.h"

namespace char_lm {

using apps::add_list_flag;
using apps::Chart;
using apps::fixed;
using apps::limit_threads;
using apps::Progress;
using shiftgrad::require;

namespace {

struct ContextFlags {
  std::vector<std::string> runs;
  std::string checkpoint = "best";
  std::string mode = "exact";
  std::vector<int64_t> lengths;
  std::optional<int64_t> tokens;
  ScoredText text;
  std::string out = "context.svg";
  bool json = false;
  int threads = 0;

  bool exact() const { return mode == "exact"; }
};

std::vector<ScoredRun> read_runs(const ContextFlags& flags) {
  std::vector<std::string> names = run_names(flags.runs);
  std::vector<ScoredRun> runs;
  for (size_t n = 0; n < names.size(); ++n) {
    SavedRun saved = load_run(flags.runs[n], flags.checkpoint);
    runs.push_back(scored_run(saved, names[n], flags.text.read(saved).tokens()));
    const ScoredRun &first = runs.front(), &last = runs.back();
    require(last.text == first.text && last.tokens.size() == first.tokens.size(), flags.runs[n],
            ": scored on another text than ", flags.runs[0],
            "; --data gives all runs the same text");
  }
  return runs;
}

/// Returns --lengths. The default is up to twice the block length T in steps of T/8, or T to 8T.
std::vector<int64_t> lengths(const ContextFlags& flags, int64_t T) {
  if (flags.lengths.empty() && !flags.exact()) return {T, 2 * T, 4 * T, 8 * T};
  std::vector<int64_t> result = flags.lengths;
  if (result.empty())
    for (int64_t step = std::max<int64_t>(1, T / 8), n = step; n <= 2 * T; n += step)
      result.push_back(n);
  int64_t before = 0;
  for (int64_t length : result) {
    require(length > before, "--lengths: ", length, " after ", before, ", expected them to rise");
    before = length;
  }
  return result;
}

void check(const ScoredRun& run, const std::vector<int64_t>& lengths) {
  require(lengths.front() <= run.model->limits().keys, "--lengths: ", lengths.front(), ", but ",
          run.name, " has learned positions for only ", run.model->limits().keys);
  require(lengths.back() < std::ssize(run.tokens), "--lengths: ", lengths.back(),
          ", expected less than the ", run.tokens.size(), " characters of the text");
}

/// A table with right-aligned columns under the names.
class Columns {
 public:
  explicit Columns(const std::vector<std::string>& names) {
    for (const std::string& name : names) widths_.push_back(std::max<size_t>(8, name.size() + 2));
    print(names);
  }
  void print(const std::vector<std::string>& row) const {
    for (size_t n = 0; n < row.size(); ++n)
      std::cout << std::setw(static_cast<int>(widths_[n])) << row[n];
    std::cout << std::endl;
  }

 private:
  std::vector<size_t> widths_;
};

/// Returns how many characters are fed to all runs for all lengths.
int64_t fed_in_all(const std::vector<ScoredRun>& runs, const std::vector<int64_t>& lengths,
                   const Scoring& scoring) {
  int64_t sum = 0;
  for (int64_t length : lengths)
    for (const ScoredRun& run : runs)
      if (can_read(run, length)) sum += scoring.fed(run, length);
  return sum;
}

/// Returns the losses of each run for each length that it can read, and gives the bits of each
/// length to `print` as they are found.
std::vector<ModelLosses> measure(
    const std::vector<ScoredRun>& runs, const std::vector<int64_t>& lengths, const Scoring& scoring,
    const std::function<void(const std::vector<std::string>&)>& print) {
  std::vector<ModelLosses> found(runs.size());
  Progress progress("characters");
  int64_t before = 0, all = fed_in_all(runs, lengths, scoring);
  Report report = [&](int64_t done) { progress.show(before + done, all); };
  for (int64_t length : lengths) {
    std::vector<std::string> row{std::to_string(length)};
    for (size_t n = 0; n < runs.size(); ++n) {
      bool readable = can_read(runs[n], length);
      if (readable) {
        found[n].push_back(scoring.losses(runs[n], length, report));
        before += scoring.fed(runs[n], length);
      }
      row.push_back(readable ? fixed(mean_loss(found[n].back()).bits, 3) : "-");
    }
    progress.pause();
    print(row);
  }
  return found;
}

/// Measures, and prints a table as it goes.
std::vector<ModelLosses> measure_in_table(const std::vector<ScoredRun>& runs,
                                          const std::vector<int64_t>& lengths,
                                          const Scoring& scoring, const char* title) {
  std::vector<std::string> names{title};
  for (const ScoredRun& run : runs) names.push_back(run.name);
  Columns table(names);
  auto losses = measure(runs, lengths, scoring,
                        [&](const std::vector<std::string>& row) { table.print(row); });
  for (const ScoredRun& run : runs)
    if (!can_read(run, lengths.back()))
      std::cout << run.name << " has learned positions for only " << run.model->limits().keys
                << " characters\n";
  return losses;
}

void print_effective_context(const std::vector<ScoredRun>& runs,
                             const std::vector<int64_t>& lengths,
                             const std::vector<ModelLosses>& losses) {
  std::cout << "\nRelative effective context length in characters, over the share r of the\n"
               "characters that the models predict worst from a shorter context:\n";
  std::vector<std::string> names{"r"};
  for (const ScoredRun& run : runs) names.push_back(run.name);
  Columns table(names);
  for (double r : {0.1, 0.5, 1.0}) {
    std::vector<std::string> row{fixed(r, 1)};
    for (const EffectiveContext& context : effective_context(losses, lengths, r))
      row.push_back((context.at_least ? ">= " : "") + std::to_string(context.length));
    table.print(row);
  }
}

std::vector<ContextCurve> curves_of(const std::vector<ScoredRun>& runs,
                                    const std::vector<ModelLosses>& losses) {
  std::vector<ContextCurve> curves;
  for (size_t n = 0; n < runs.size(); ++n) curves.push_back(curve_of(runs[n], losses[n]));
  return curves;
}

/// Prints the table of an exact or a block scoring, and draws it.
void show(const std::vector<ScoredRun>& runs, const std::vector<int64_t>& lengths,
          const Scoring& scoring, int64_t scored, const std::string& out) {
  bool exact = scored > 0;
  std::cout << "Bits per character, " << (exact ? "over " : "with the text cut into blocks:\n");
  if (exact)
    std::cout << scored << " characters, each predicted from exactly this many before it:\n";
  std::string x = exact ? "context" : "block";
  auto losses = measure_in_table(runs, lengths, scoring, x.c_str());
  if (exact) print_effective_context(runs, lengths, losses);
  std::vector<ContextCurve> curves = curves_of(runs, losses);
  Chart chart = context_chart(curves, lengths, x + ", characters");
  apps::write_picture(
      out, apps::picture_of_charts(
               "Loss by the length of the " + x,
               "The loss by how much of the text a model reads. " + sentence_of(chart), {{chart}},
               {}, {scored_characters(curves), "band: ± a standard error"}));
}

Command::Work prepare(const ContextFlags& flags) {
  require(flags.exact() || !flags.tokens, "--tokens: --mode blocks scores the whole text");
  auto threads = limit_threads(flags.threads);
  std::vector<ScoredRun> runs = read_runs(flags);
  std::vector<int64_t> chosen_lengths = lengths(flags, runs.front().block_size);
  for (const ScoredRun& run : runs) check(run, chosen_lengths);
  if (!flags.json) apps::check_picture_path(flags.out);
  int64_t characters = std::ssize(runs.front().tokens), longest = chosen_lengths.back();
  int64_t scored =
      flags.exact() ? std::min(flags.tokens.value_or(usual_characters), characters - longest) : 0;
  Scoring scoring = flags.exact() ? exact_scoring(characters, longest, scored) : block_scoring();
  return [=, json = flags.json, out = flags.out] {
    if (!json) return show(runs, chosen_lengths, scoring, scored, out);
    auto losses = measure(runs, chosen_lengths, scoring, [](const auto&) {});
    apps::print_json(context_figure(chosen_lengths, curves_of(runs, losses)));
  };
}

}  // namespace

Command context_command(CLI::App& program) {
  CLI::App& app = add_command(
      program, "context",
      "Score models that read more and more of the text before a character, print their relative "
      "effective context lengths (Dai et al. 2019, appendix C) and draw the curves");
  auto flags = std::make_shared<ContextFlags>();
  set_required(add_argument(app, "RUN", flags->runs, "folders of training runs, or files in them"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  add_flag(
      app, "mode", flags->mode, "exact|blocks",
      "exact: predict each character from exactly the N characters before it; blocks: cut the text "
      "into blocks of N characters, as in training, which shows how a model copes with longer "
      "ones");
  add_list_flag(app, "lengths", flags->lengths, "CHARACTERS",
                "the lengths N, rising, such as 16,32,64 (default: with T the block_size of the "
                "first run, T/8 to 2T in steps of T/8 for exact, and T,2T,4T,8T for blocks)",
                range::zero_or_more);
  add_flag(app, "tokens", flags->tokens, "CHARACTERS",
           "characters to score in mode exact, spread evenly over the text (default: 2000)",
           range::one_or_more);
  flags->text.add_flags(app);
  add_picture_flags(app, flags->out, flags->json);
  add_flag(app, "threads", flags->threads, "THREADS", apps::threads_help, range::thread_count);
  return {.flags = &app, .prepare = [flags] { return prepare(*flags); }, .outlives_readers = true};
}

}  // namespace char_lm
