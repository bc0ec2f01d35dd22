#include "nn/generate.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "command.h"
#include "core/errors.h"
#include "flags.h"
#include "run_folder.h"

namespace char_lm {

namespace {

struct GenerateFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  std::string prompt = "\n";
  shiftgrad::GenerateOptions options{.length = 500, .sampling = {.temperature = 0.8}};
  std::optional<int64_t> mem_len;
  int threads = 0;
};

void write(char character) {
  std::cout << character << std::flush;
  shiftgrad::require(std::cout.good(), "standard output: cannot be written");
}

Command::Work prepare(const GenerateFlags& flags) {
  auto threads = limit_threads(flags.threads);
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  auto model = std::make_shared<shiftgrad::LanguageModel>(make_model(run.checkpoint, run.source));
  std::vector<int32_t> prompt = run.vocabulary.encode(flags.prompt, "--prompt");
  shiftgrad::GenerateOptions options = flags.options;
  options.mem_len = flags.mem_len.value_or(run.flags.written_context());
  check(*model, prompt, options);
  return [threads, model, prompt, options, vocabulary = run.vocabulary, text = flags.prompt] {
    std::cout << text;
    generate(*model, prompt, options, [&](int32_t token) { write(vocabulary.decode(token)); });
    write('\n');
  };
}

}  // namespace

Command generate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("generate", "Lets a model write, character by character");
  auto flags = std::make_shared<GenerateFlags>();
  auto& [length, sampling, seed, mem_len] = flags->options;
  app->add_option("OUT_DIR", flags->out_dir, "folder of the training run")->required();
  add_flag(*app, "checkpoint", flags->checkpoint, "NAME", "best or last");
  add_flag(*app, "prompt", flags->prompt, "TEXT", "what the model continues (default: a new line)")
      ->default_str("");
  add_flag(*app, "length", length, "CHARACTERS", "how much to write");
  add_flag(*app, "temperature", sampling.temperature, "FACTOR",
           "below 1 more certain, above 1 more surprising, 0 always the likeliest");
  add_flag(*app, "top_k", sampling.top_k, "CHARACTERS", "choose among the likeliest, 0 for all");
  add_flag(*app, "seed", seed, "NUMBER", "equal seeds write equal texts");
  add_flag(*app, "mem_len", flags->mem_len, "TOKENS",
           "how much of the text the model remembers (default: as in training)");
  add_flag(*app, "threads", flags->threads, "THREADS", "0 for one a core");
  return {app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
