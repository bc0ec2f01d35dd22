// char_lm context shows how the loss of models depends on how much earlier text they read.

#include <algorithm>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>

#include "command.h"
#include "context_losses.h"
#include "context_picture.h"
#include "effective_context.h"
#include "examples/common/draw_picture.h"
#include "examples/common/fixed.h"
#include "examples/common/flags.h"
#include "examples/common/picture.h"
#include "examples/common/progress.h"
#include "run_folder.h"
#include "scored_text.h"
#include "shiftgrad/optim/evaluate.h"

namespace char_lm {

using common::add_list_flag;
using common::fixed;
using common::limit_threads;
using common::Picture;
using common::Progress;
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
  int threads = 0;

  bool exact() const { return mode == "exact"; }
};

/// A run to score: its model, and the text as characters and as tokens.
struct ScoredRun {
  std::string name;
  std::shared_ptr<shiftgrad::LanguageModel> model;
  int64_t block_size;
  std::string text;
  std::vector<int32_t> tokens;
};

/// Function report(done) that receives the number of characters fed so far.
using Report = std::function<void(int64_t done)>;

/// One of the two ways to score a text, by contexts or by blocks of n characters.
struct Scoring {
  /// Returns how many characters are fed.
  std::function<int64_t(const ScoredRun&, int64_t n)> fed;
  /// Returns -log p of each scored character.
  std::function<std::vector<double>(const ScoredRun&, int64_t n, const Report&)> losses;
};

ScoredRun read_run(const std::string& out_dir, const std::string& name, const ContextFlags& flags) {
  SavedRun saved = load_run(out_dir, flags.checkpoint);
  ScoredRun run{
      name,
      std::make_shared<shiftgrad::LanguageModel>(make_model(saved.checkpoint, saved.source)),
      saved.flags.model.block_size,
      {},
      flags.text.read(saved)};
  for (int32_t token : run.tokens) run.text += saved.vocabulary.decode(token);
  return run;
}

std::vector<ScoredRun> read_runs(const ContextFlags& flags) {
  std::vector<std::string> names = run_names(flags.runs);
  std::vector<ScoredRun> runs;
  for (size_t n = 0; n < names.size(); ++n) {
    runs.push_back(read_run(flags.runs[n], names[n], flags));
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
  require(lengths.front() <= run.model->most_keys(), "--lengths: ", lengths.front(), ", but ",
          run.name, " has learned positions for only ", run.model->most_keys());
  require(lengths.back() < std::ssize(run.tokens), "--lengths: ", lengths.back(),
          ", expected less than the ", run.tokens.size(), " characters of the text");
}

/// Returns up to `count` evenly spread positions that have at least `context` characters before
/// them.
std::vector<int64_t> spread(int64_t context, int64_t characters, int64_t count) {
  int64_t there = characters - context;
  count = std::min(count, there);
  std::vector<int64_t> positions;
  for (int64_t k = 0; k < count; ++k) positions.push_back(context + k * there / count);
  return positions;
}

Scoring exact_scoring(const std::vector<int64_t>& positions) {
  return {[=](const ScoredRun&, int64_t length) { return std::ssize(positions) * length; },
          [=](const ScoredRun& run, int64_t length, const Report& report) {
            return context_losses(*run.model, run.tokens, positions, length, report);
          }};
}

std::vector<double> block_losses(const ScoredRun& run, int64_t length, const Report& report) {
  constexpr int64_t tokens_at_once = 8192;
  shiftgrad::EvaluationConfig config{.mode = shiftgrad::EvaluationMode::chunks,
                                     .tgt_len = length,
                                     .batch_size = std::max<int64_t>(1, tokens_at_once / length),
                                     .progress = [&](int64_t done, int64_t) { report(done); }};
  std::vector<double> losses;
  evaluate(*run.model, run.tokens, config, &losses);
  return losses;
}

Scoring block_scoring() {
  return {[](const ScoredRun& run, int64_t) { return std::ssize(run.tokens) - 1; }, block_losses};
}

double bits(const std::vector<double>& nats) {
  double sum = std::accumulate(nats.begin(), nats.end(), 0.0);
  return sum / static_cast<double>(nats.size()) / std::numbers::ln2;
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

bool can_read(const ScoredRun& run, int64_t length) { return length <= run.model->most_keys(); }

/// Returns how many characters are fed to all runs for all lengths.
int64_t fed_in_all(const std::vector<ScoredRun>& runs, const std::vector<int64_t>& lengths,
                   const Scoring& scoring) {
  int64_t sum = 0;
  for (int64_t length : lengths)
    for (const ScoredRun& run : runs)
      if (can_read(run, length)) sum += scoring.fed(run, length);
  return sum;
}

/// Returns the losses of each run for each length that it can read, and prints them as they are
/// found.
std::vector<ModelLosses> measure(const std::vector<ScoredRun>& runs,
                                 const std::vector<int64_t>& lengths, const char* title,
                                 const Scoring& scoring) {
  std::vector<std::string> names{title};
  for (const ScoredRun& run : runs) names.push_back(run.name);
  Columns table(names);
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
      row.push_back(readable ? fixed(bits(found[n].back()), 3) : "-");
    }
    progress.pause();
    table.print(row);
  }
  for (const ScoredRun& run : runs)
    if (!can_read(run, lengths.back()))
      std::cout << run.name << " has learned positions for only " << run.model->most_keys()
                << " characters\n";
  return found;
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

std::vector<ContextCurve> curves(const std::vector<ScoredRun>& runs,
                                 const std::vector<ModelLosses>& losses) {
  std::vector<ContextCurve> result;
  for (size_t n = 0; n < runs.size(); ++n) {
    result.push_back({runs[n].name, runs[n].block_size, {}});
    for (const std::vector<double>& nats : losses[n]) result.back().bits.push_back(bits(nats));
  }
  return result;
}

Picture empty_picture(const std::string& path, const std::vector<ScoredRun>& runs) {
  size_t longest = 0;
  for (const ScoredRun& run : runs) longest = std::max(longest, run.name.size());
  return {path, 700 + 8 * static_cast<int>(longest),
          std::max(440, 80 + 20 * static_cast<int>(runs.size()))};
}

Command::Work prepare(const ContextFlags& flags) {
  require(flags.exact() || !flags.tokens, "--tokens: --mode blocks scores the whole text");
  int64_t count = flags.tokens.value_or(1000);
  auto threads = limit_threads(flags.threads);
  std::vector<ScoredRun> runs = read_runs(flags);
  std::vector<int64_t> chosen_lengths = lengths(flags, runs.front().block_size);
  for (const ScoredRun& run : runs) check(run, chosen_lengths);
  Picture picture = empty_picture(flags.out, runs);
  std::vector<int64_t> positions =
      spread(chosen_lengths.back(), std::ssize(runs.front().tokens), count);
  return [threads, runs, chosen_lengths, picture, positions, exact = flags.exact(),
          out = flags.out]() mutable {
    std::cout << "Bits per character, " << (exact ? "over " : "with the text cut into blocks:\n");
    if (exact)
      std::cout << positions.size()
                << " characters, each predicted from exactly this many before it:\n";
    auto losses = measure(runs, chosen_lengths, exact ? "context" : "block",
                          exact ? exact_scoring(positions) : block_scoring());
    if (exact) print_effective_context(runs, chosen_lengths, losses);
    add_context_curves(picture, curves(runs, losses), chosen_lengths,
                       exact ? "context, characters" : "block, characters");
    draw(picture, out);
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
      app, "mode", flags->mode, "NAME",
      "exact: predict each character from exactly the N characters before it; blocks: cut the text "
      "into blocks of N characters, as in training, which shows how a model copes with longer ones",
      std::string("exact|blocks"));
  add_list_flag(app, "lengths", flags->lengths, "CHARACTERS",
                "the lengths N, rising, such as 16,32,64 (default: with T the block_size of the "
                "first run, T/8 to 2T in steps of T/8 for exact, and T,2T,4T,8T for blocks)",
                range::zero_or_more);
  add_flag(app, "tokens", flags->tokens, "CHARACTERS",
           "characters to score in mode exact, spread evenly over the text (default: 1000)",
           range::one_or_more);
  flags->text.add_flags(app);
  add_flag(app, "out", flags->out, "FILE", "SVG file to write");
  add_flag(app, "threads", flags->threads, "THREADS", "threads to use, 0 for one per core",
           range::thread_count);
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
