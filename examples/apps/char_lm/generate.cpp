// char_lm generate writes text, character by character.

#include "nn/models/generate.h"

#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>

#include "command.h"
#include "core/errors.h"
#include "core/io/read_file.h"
#include "examples/apps/draw/status_line.h"
#include "examples/apps/draw/utf8.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/precision_flag.h"
#include "examples/apps/runs/text.h"
#include "run_folder.h"

namespace char_lm {

using apps::drop_byte_order_mark;
using apps::flush_output;
using apps::limit_threads;
using apps::read_text;
using apps::set_exclusive;
using apps::StatusLine;
using apps::WholeCharacters;
using shiftgrad::require;

namespace {

const std::string between_samples = "---------------\n";  // as in nanoGPT

struct GenerateFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  std::optional<std::string> prompt;
  std::string prompt_file;
  std::string stop;
  shiftgrad::GenerateOptions options{.length = 500, .sampling = {.temperature = 0.8}};
  int64_t num_samples = 1;
  std::optional<int64_t> mem_len;
  apps::PrecisionFlag precision;
  int threads = 0;
};

struct Prompt {
  std::string text, source;
};

Prompt read_prompt(const GenerateFlags& flags, const SavedRun& run) {
  const std::string& file = flags.prompt_file;
  if (file.empty()) return {flags.prompt.value_or(usual_prompt(run.vocabulary)), "--prompt"};
  if (file != "-") return {read_text(file), file};
  std::string text = shiftgrad::read_to_end(STDIN_FILENO, "standard input");
  drop_byte_order_mark(text);
  require(!text.empty(), "--prompt_file -: nothing on standard input, expected a text");
  return {text, "standard input"};
}

void write(const std::string& text) {
  std::cout << text;
  flush_output();
}

Command::Work prepare(const GenerateFlags& flags) {
  auto threads = limit_threads(flags.threads);
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  flags.precision.apply(run.flags.precision);
  auto model = std::make_shared<shiftgrad::LanguageModel>(usable_model(run));
  Prompt prompt = read_prompt(flags, run);
  require(!prompt.text.empty(), prompt.source,
          ": an empty prompt, expected at least one character");
  std::vector<int32_t> tokens = run.vocabulary.encode(prompt.text, prompt.source);
  shiftgrad::GenerateOptions options = generation_options(run, flags.options);
  options.mem_len = flags.mem_len.value_or(options.mem_len);
  if (!flags.stop.empty()) options.stop = {run.vocabulary.encode(flags.stop, "--stop")};
  check(*model, tokens, options);
  return [threads, model, prompt, tokens, options, vocabulary = run.vocabulary,
          samples = flags.num_samples] {
    StatusLine status(stderr);
    status.draw(shiftgrad::text("reading the prompt, ", tokens.size(), " characters"));
    shiftgrad::PrefilledPrompt read(*model, tokens, options);
    status.erase();
    for (int64_t n = 0; n < samples; ++n) {
      WholeCharacters shown;
      write((n > 0 ? between_samples : "") + shown.add(prompt.text));
      read.generate(n, [&](int32_t token) { write(shown.add(vocabulary.decode(token))); });
      write(shown.rest() + "\n");
    }
  };
}

}  // namespace

Command generate_command(CLI::App& program) {
  CLI::App& app = add_command(program, "generate",
                              "Generate text, character by character; CHARACTERS are bytes for a "
                              "model trained with --vocab bytes");
  auto flags = std::make_shared<GenerateFlags>();
  shiftgrad::GenerateOptions& options = flags->options;
  shiftgrad::Sampling& sampling = options.sampling;
  set_required(
      add_argument(app, "OUT_DIR", flags->out_dir, "folder of the training run, or a file in it"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  CLI::Option* prompt = add_flag(app, "prompt", flags->prompt, "TEXT",
                                 std::string("text for the model to continue") + prompt_default);
  CLI::Option* file =
      add_flag(app, "prompt_file", flags->prompt_file, "FILE or -",
               "read the prompt from this file, all of it; - for standard input (default: none)");
  set_exclusive(file, prompt);
  add_flag(app, "length", options.length, "CHARACTERS", "characters to generate",
           range::zero_or_more);
  add_flag(app, "stop", flags->stop, "TEXT",
           "end a text as soon as this has been generated, which is printed too (default: none)");
  add_flag(
      app, "num_samples", flags->num_samples, "TEXTS",
      "texts to generate, with a line of --- between two; each is the same whatever their number",
      range::one_or_more);
  add_flag(app, "temperature", sampling.temperature, "FACTOR",
           "divide the logits by this: below 1 is more certain, above 1 more surprising, 0 takes "
           "the likeliest",
           range::rate);
  add_flag(app, "top_k", sampling.top_k, "CHARACTERS",
           "choose among this many likeliest characters, 0 for all", range::zero_or_more);
  add_flag(app, "top_p", sampling.top_p, "PROBABILITY",
           "of these, among the fewest likeliest with this probability together, 1 for all",
           range::share);
  add_flag(app, "min_p", sampling.min_p, "SHARE",
           "of these, among those with at least this share of the likeliest one's probability, 0 "
           "for all",
           range::probability);
  add_flag(app, "repetition_penalty", sampling.repetition_penalty, "FACTOR",
           "above 1 makes recent characters less likely: divides their logits, or multiplies those "
           "below 0; 1 for none",
           range::positive);
  add_flag(app, "repetition_window", sampling.repetition_window, "CHARACTERS",
           "characters that count as recent, the prompt's included, 0 for all",
           range::zero_or_more);
  add_flag(app, "seed", options.seed, "NUMBER",
           "seed of the random choices; equal seeds give equal texts");
  add_flag(app, "mem_len", flags->mem_len, "TOKENS",
           "earlier tokens that the model remembers (default: as in training, but all for aft)",
           range::zero_or_more);
  flags->precision.add_to(app);
  add_flag(app, "threads", flags->threads, "THREADS", apps::threads_help, range::thread_count);
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
