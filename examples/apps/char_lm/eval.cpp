// char_lm eval scores a model on the end of a text.

#include <algorithm>
#include <iostream>
#include <memory>
#include <numbers>
#include <optional>
#include <span>

#include "command.h"
#include "core/errors.h"
#include "core/io/atomic_file.h"
#include "examples/apps/draw/fixed.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/precision_flag.h"
#include "optim/evaluate.h"
#include "run_folder.h"
#include "scored_text.h"

namespace char_lm {

using apps::fixed;
using apps::limit_threads;
using shiftgrad::Evaluation;
using shiftgrad::EvaluationConfig;
using shiftgrad::EvaluationMode;
using shiftgrad::KeptText;
using shiftgrad::require;

namespace {

/// Flags of `eval`. Flags not given keep their values from training.
struct EvalFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  ScoredText text;
  std::string losses;
  std::optional<std::string> mode;
  std::optional<int64_t> tgt_len, mem_len, ext_len, clamp_len, window, batch_size;
  apps::PrecisionFlag precision;
  int threads = 0;
};

EvaluationConfig evaluation_config(const EvalFlags& flags, const TrainFlags& trained) {
  TrainFlags changed = trained;
  if (flags.mem_len) changed.model.mem_len = flags.mem_len;
  EvaluationConfig config = changed.default_evaluation();
  config.ext_len = flags.ext_len.value_or(config.ext_len);
  if (config.ext_len > 0) config.mode = EvaluationMode::memory;
  if (flags.mode) config.mode = shiftgrad::value_named<EvaluationMode>(*flags.mode);
  int64_t fed_again = flags.ext_len.value_or(0);
  require(fed_again == 0 || config.mode == EvaluationMode::memory, "--ext_len ", fed_again,
          ": expected 0 with --mode ", config.mode);
  config.tgt_len = flags.tgt_len.value_or(config.tgt_len);
  config.batch_size = flags.batch_size.value_or(config.mode == EvaluationMode::memory ? 1 : 64);
  return config;
}

/// Throws if tokens would have absolute positions that the training did not know. A memory would
/// need more with every segment.
void check_positions(const EvaluationConfig& config, const SavedRun& run,
                     const shiftgrad::LanguageModel& model) {
  if (config.mode != EvaluationMode::memory || !model.traits().absolute_positions) return;
  require(config.mem_len == 0, "--mem_len ", config.mem_len,
          ": the model has absolute positions, which start anew in each block, expected 0");
  int64_t trained = run.flags.trained_positions();
  int64_t most = std::max<int64_t>(0, trained - config.tgt_len);
  require(config.ext_len <= most, "--ext_len ", config.ext_len, ": with --tgt_len ", config.tgt_len,
          ", expected at most ", most, ", as the model was trained on ", trained, " positions");
}

void write_losses(const std::string& path, const std::vector<double>& losses) {
  std::string lines;
  for (double loss : losses) lines += fixed(loss, 6) + '\n';
  shiftgrad::write_file_atomically(path, lines);
}

/// Sets a field of the mixer, on which no weight depends.
template <class Value>
void set_field(shiftgrad::LanguageModelConfig& model, std::string_view name, Value value) {
  bool found = false;
  auto set = [&]<class Own>(Own& own, const shiftgrad::Field& field, const auto&...) {
    if constexpr (std::is_same_v<Own, std::optional<Value>>) {
      if (field.name != name) return;
      own = value;
      found = true;
    }
  };
  if (model.block == shiftgrad::BlockType::transformer_block)
    shiftgrad::fields_of(model.mixer, set);
  require(found, "--", name, ": the model's attention has no ", name);
}

/// Returns the number of bytes in the text without its first token, which is not scored.
int64_t scored_bytes(const KeptText& text, const Vocabulary& vocabulary) {
  int64_t bytes = 0;
  text.each(std::min<int64_t>(1, text.size()), text.size(),
            [&](int32_t token) { bytes += std::ssize(vocabulary.decode(token)); });
  return bytes;
}

/// Prints the result. If characters are longer than a byte, it also prints bits per byte, which can
/// be compared with models of bytes.
void print(const Evaluation& result, int64_t bytes) {
  std::cout << fixed(result.bits(), 3) << " bits per character\n";
  if (bytes > result.tokens)
    std::cout << fixed(result.bits() * static_cast<double>(result.tokens) /
                           static_cast<double>(bytes),
                       3)
              << " bits per byte\n";
  std::cout << fixed(result.nats, 4) << " nats per character\n"
            << fixed(result.perplexity(), 3) << " perplexity\n"
            << result.tokens << " tokens\n"
            << fixed(result.tokens_per_second(), 0) << " tokens/s" << std::endl;
}

/// Returns what training reported for its validation text, if that covered only a part of it; else
/// an empty string.
std::string reported_in_training(const EvalFlags& flags, const SavedRun& run, int64_t characters) {
  const std::optional<double>& nats = run.checkpoint.state.validation_loss;
  int64_t scored = run.flags.evaluated_tokens(characters);
  if (!nats || flags.text.data || flags.text.eval_split || scored == characters - 1) return "";
  return shiftgrad::text("training reported ", fixed(*nats / std::numbers::ln2, 3),
                         " bits per character on the first ", scored, " of ", characters - 1,
                         " characters (--eval_iters ", run.flags.trainer.eval_iters, ")\n");
}

Command::Work prepare(const EvalFlags& flags) {
  auto threads = limit_threads(flags.threads);
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  flags.precision.apply(run.flags.precision);
  if (flags.clamp_len) set_field(run.checkpoint.model, "clamp_len", *flags.clamp_len);
  if (flags.window) set_field(run.checkpoint.model, "window", shiftgrad::Window(*flags.window));
  auto model = std::make_shared<shiftgrad::LanguageModel>(usable_model(run));
  KeptText text = flags.text.read(run);
  EvaluationConfig config = evaluation_config(flags, run.flags);
  check_positions(config, run, *model);
  config.check(*model, text.size());
  return [threads, model, text, config, bytes = scored_bytes(text, run.vocabulary),
          reported = reported_in_training(flags, run, text.size()), path = flags.losses] {
    std::vector<double> losses;
    Evaluation result = score(*model, text, config, path.empty() ? nullptr : &losses);
    if (!path.empty()) write_losses(path, losses);
    print(result, bytes);
    std::cout << reported << std::flush;
  };
}

}  // namespace

Command eval_command(CLI::App& program) {
  CLI::App& app = add_command(
      program, "eval",
      "Score a model on the end of a text; flags not given keep their values from training");
  auto flags = std::make_shared<EvalFlags>();
  set_required(
      add_argument(app, "OUT_DIR", flags->out_dir, "folder of the training run, or a file in it"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  flags->text.add_flags(app);
  add_flag(app, "losses", flags->losses, "FILE",
           "write the loss of each character but the first to this file, in nats, one per line "
           "(default: none)");
  add_flag(app, flags->mode,
           {.name = "mode",
            .help = "memory: blocks, each after a memory of the text before it; chunks: separate "
                    "blocks; sliding: each token from the block just before it, which is slow "
                    "(default: memory if there is one or ext_len is not 0, else chunks)",
            .choices = shiftgrad::choices<EvaluationMode>()});
  add_flag(app, "tgt_len", flags->tgt_len, "TOKENS",
           "length of a block (default: block_size, as in training)", range::one_or_more);
  add_flag(app, "mem_len", flags->mem_len, "TOKENS",
           "length of the memory (default: as in training)", range::zero_or_more);
  add_flag(
      app, "ext_len", flags->ext_len, "TOKENS",
      "tokens to feed again before each block, which needs mode memory (default: as in training)",
      range::zero_or_more);
  add_flag(app, "clamp_len", flags->clamp_len, "TOKENS",
           "treat greater distances as this one, 0 for none (default: as in training)",
           range::zero_or_more);
  add_flag(app, "window", flags->window, "TOKENS",
           "attend to distances below it only, as many keys for each token as in the original's "
           "same_length where it is the memory's length (default: as in training)",
           range::one_or_more);
  add_flag(app, "batch_size", flags->batch_size, "ROWS",
           "pieces of the text to score side by side; in mode memory, each starts with an empty "
           "memory (default: 1 in mode memory, else 64)",
           range::one_or_more);
  flags->precision.add_to(app);
  add_flag(app, "threads", flags->threads, "THREADS", apps::threads_help, range::thread_count);
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
