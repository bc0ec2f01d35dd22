// seq2seq eval translates sources that were not trained on, and counts the errors.

#include <chrono>
#include <iostream>
#include <memory>

#include "command.h"
#include "core/errors.h"
#include "core/io/atomic_file.h"
#include "data.h"
#include "decoding.h"
#include "examples.h"
#include "examples/apps/draw/fixed.h"
#include "examples/apps/flags/flags.h"
#include "scores.h"

namespace seq2seq {

using apps::fixed;
using shiftgrad::require;

namespace {

struct EvalFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  std::string data;
  bool skip_bad_rows = false;
  std::string predictions;
  DecodingFlags decoding{};
};

/// Returns the validation rows of the training, or all rows of another file, by source.
std::vector<Example> read_examples(const EvalFlags& flags, const SavedRun& run) {
  BadRows bad = flags.skip_bad_rows ? BadRows::skip : run.flags.bad_rows();
  Rows rows = flags.data.empty() ? read_split(run.flags).validation
                                 : Rows{flags.data, read_rows(flags.data, bad)};
  std::vector<Example> list = examples_of(rows, run, bad);
  require(!list.empty(), rows.place, ": no rows that the model can read");
  return list;
}

void write_predictions(const std::string& path, const std::vector<Example>& list,
                       const std::vector<std::string>& targets) {
  std::string lines;
  for (size_t n = 0; n < list.size(); ++n)
    lines += list[n].source + '\t' + targets[n] + '\t' + list[n].references.front() + '\n';
  shiftgrad::write_file_atomically(path, lines);
}

void print(const Scores& scores, int64_t tokens, double seconds) {
  double wrong = scores.sequence_error_rate();
  std::cout << fixed(100 * (1 - wrong), 2) << " % of the targets exact\n"
            << fixed(100 * wrong, 2) << " % sequence error rate\n"
            << fixed(100 * scores.token_error_rate(), 2) << " % token error rate\n"
            << scores.sources << " sources\n"
            << fixed(static_cast<double>(tokens) / seconds, 0) << " tokens/s" << std::endl;
}

Command::Work prepare(const EvalFlags& flags) {
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  auto translator = std::make_shared<Translator>(run, flags.decoding);
  std::vector<Example> list = read_examples(flags, run);
  Unit unit = run.target_symbols.unit();
  return [flags, translator, list, unit] {
    auto start = std::chrono::steady_clock::now();
    std::vector<std::string> targets = translations(*translator, list, flags.decoding.batch_size);
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    Scores scores;
    int64_t tokens = 0;
    for (size_t n = 0; n < list.size(); ++n) {
      std::vector<std::string> got = split(targets[n], unit);
      tokens += std::ssize(got) + 1;
      scores.add(got, split_references(list[n], unit));
    }
    if (!flags.predictions.empty()) write_predictions(flags.predictions, list, targets);
    print(scores, tokens, passed.count());
  };
}

}  // namespace

Command eval_command(CLI::App& program) {
  CLI::App& app = add_command(program, "eval",
                              "Translate sources that were not trained on, and count the errors");
  auto flags = std::make_shared<EvalFlags>();
  set_required(
      add_argument(app, "OUT_DIR", flags->out_dir, "folder of the training run, or a file in it"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  add_flag(app, "data", flags->data, "FILE",
           "file of pairs to score, all of them (default: the validation pairs of the training)");
  add_switch(app, "skip_bad_rows", flags->skip_bad_rows,
             "skip rows that are not pairs, and report them (default: as in training)");
  add_flag(
      app, "predictions", flags->predictions, "FILE",
      "write each source, its translation and its first reference to this file, separated by tabs");
  flags->decoding.add_to(app);
  apps::set_footer(
      app,
      "The sequence error rate is the share of translations that equal no reference. The token "
      "error rate is the number of edits that would turn the translations into references, as a "
      "share of the tokens of these references. If a source has several references, the nearest "
      "counts. For pronunciations, the two rates are WER and PER.");
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace seq2seq
