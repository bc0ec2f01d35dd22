// seq2seq translate translates standard input, line by line.

#include <unistd.h>

#include <iostream>
#include <memory>

#include "command.h"
#include "core/errors.h"
#include "decoding.h"
#include "examples/apps/draw/progress.h"
#include "examples/apps/flags/flags.h"
#include "lines.h"

namespace seq2seq {

using shiftgrad::require;

namespace {

struct TranslateFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  bool skip_bad_rows = false;
  DecodingFlags decoding{};
};

void write(const std::string& line) { std::cout << line << '\n'; }

/// Lines of the input, in order, to be translated. A line that the model cannot read gives an empty
/// one. The first line has the number `first`.
class Batch {
 public:
  Batch(const std::vector<std::string>& lines, int64_t first, const SavedRun& run, BadRows bad)
      : first_(first) {
    for (size_t n = 0; n < lines.size() && !refusal_; ++n) {
      Line line = read_line(lines[n], run.source_symbols, run.flags.model.max_len);
      if (!line.error) {
        places_.push_back(n);
        sources_.push_back(std::move(line.tokens));
      } else if (bad == BadRows::skip) {
        report_bad_row("standard input", first + static_cast<int64_t>(n), *line.error, bad);
      } else {
        refusal_ = shiftgrad::text("standard input: line ", first + static_cast<int64_t>(n), ": ",
                                   *line.error);
        break;
      }
      ++count_;
    }
  }

  /// Writes the translations. At a line that is refused it throws, after it has written those
  /// before.
  void translate(const Translator& translator, apps::Progress& progress) const {
    std::vector<std::string> results(count_);
    if (!sources_.empty()) {
      progress.show(first_ - 1, 0);
      std::vector<std::string> targets = translator.translate(sources_, first_ - 1);
      for (size_t n = 0; n < targets.size(); ++n) results[places_[n]] = targets[n];
      progress.pause();
    }
    for (const std::string& result : results) write(result);
    apps::flush_output();
    if (refusal_) shiftgrad::fail(*refusal_);
  }

 private:
  int64_t first_;
  size_t count_ = 0;
  std::vector<size_t> places_;
  std::vector<std::vector<int32_t>> sources_;
  std::optional<std::string> refusal_;
};

Command::Work prepare(const TranslateFlags& flags) {
  auto run = std::make_shared<SavedRun>(load_run(flags.out_dir, flags.checkpoint));
  auto translator = std::make_shared<Translator>(*run, flags.decoding);
  BadRows bad = flags.skip_bad_rows ? BadRows::skip : BadRows::refuse;
  return [run, translator, bad, batch_size = flags.decoding.batch_size] {
    Lines input(STDIN_FILENO);
    apps::Progress progress("lines");
    int64_t first = 1;
    while (true) {
      std::vector<std::string> lines = input.next(static_cast<size_t>(batch_size));
      if (lines.empty()) return;
      Batch(lines, first, *run, bad).translate(*translator, progress);
      first += std::ssize(lines);
    }
  };
}

}  // namespace

Command translate_command(CLI::App& program) {
  CLI::App& app = add_command(program, "translate",
                              "Translate standard input to standard output, line by line");
  auto flags = std::make_shared<TranslateFlags>();
  set_required(
      add_argument(app, "OUT_DIR", flags->out_dir, "folder of the training run, or a file in it"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  add_switch(app, "skip_bad_rows", flags->skip_bad_rows,
             "write an empty line for each line that the model cannot read, and report it on "
             "standard error; without this flag the first such line ends the program");
  flags->decoding.add_to(app);
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace seq2seq
