#include "training.h"

#include "core/errors.h"
#include "examples/apps/draw/fixed.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/runs/machine.h"
#include "examples/apps/runs/text.h"
#include "nn/state_dict.h"
#include "optim/parameter_patterns.h"
#include "optim/random_streams.h"

namespace char_lm {

using apps::fixed;
using apps::limit_threads;
using apps::RunFolder;
using apps::text_name;
using apps::TrainingRun;
using shiftgrad::RunState;
using shiftgrad::text;

namespace {

/// Throws where the memory of this machine does not hold what a step needs for sure.
void check_memory(const TrainFlags& flags, const shiftgrad::LanguageModel& model, int64_t peers) {
  const shiftgrad::TrainerConfig& trainer = flags.trainer;
  shiftgrad::ModelTraits traits = model.traits();
  // The logits, and the input of each block.
  double tokens =
      static_cast<double>(trainer.batch_size / peers) * static_cast<double>(trainer.block_size);
  auto per_token = static_cast<double>(model.config.vocab_size + traits.n_layer * traits.d_model);
  int moments = trainer.optimizer != shiftgrad::OptimizerType::sgd ? 2 : trainer.momentum > 0;
  std::vector<shiftgrad::Parameter> all = parameters(model), learning = all;
  std::erase_if(learning,
                [&](auto& one) { return shiftgrad::is_frozen(one.name, trainer.freeze); });
  apps::require_memory(all, learning, moments, tokens * per_token);
}

/// Returns the saved model, with dropout, which a checkpoint's config leaves out.
shiftgrad::LanguageModel saved_model(const TrainFlags& flags, const SavedRun& saved) {
  SavedRun run = saved;
  run.checkpoint.model.dropout = flags.model.dropout;
  run.checkpoint.model.attention_dropout = flags.model.attention_dropout();
  return usable_model(run);
}

/// Returns the corpus. Throws an error that names the file when a text is too short to train on or
/// to be scored.
std::shared_ptr<const Corpus> long_enough(std::shared_ptr<const Corpus> corpus,
                                          const TrainFlags& flags) {
  const shiftgrad::TrainerConfig& trainer = flags.trainer;
  bool in_streams = trainer.batches == shiftgrad::BatchType::streams;
  int64_t streams = in_streams ? trainer.batch_size : 1;
  shiftgrad::require(corpus->train.size() / streams > trainer.block_size, text_name(flags.data),
                     ": ", corpus->train.size(), " characters to train on, too few for ",
                     in_streams ? text("--batch_size ", streams, " streams") : "a block",
                     " of --block_size ", trainer.block_size, " + 1");
  int64_t characters = corpus->validation.size();
  shiftgrad::require(characters >= 2,
                     text_name(flags.val_data.empty() ? flags.data : flags.val_data), ": ",
                     characters, " characters to validate on, expected at least 2");
  return corpus;
}

/// Returns a new model, or the saved one.
shiftgrad::LanguageModel begun_model(const TrainFlags& flags, const SavedRun* saved,
                                     const Corpus& corpus, int64_t peers) {
  int64_t vocab_size = corpus.vocabulary.size();
  if (!saved) {
    auto make = [&](shiftgrad::Init init) { return new_model(flags.model, vocab_size, init); };
    check_memory(flags, apps::without_values(make), peers);
    shiftgrad::Random random{.seed = flags.trainer.seed};
    return make(random);
  }
  shiftgrad::LanguageModel model = saved_model(flags, *saved);
  check_memory(flags, model, peers);
  return model;
}

/// Returns the auxiliary losses that the flags ask for, or null.
std::unique_ptr<AuxiliaryLosses> auxiliary_losses(const TrainFlags& flags,
                                                  const shiftgrad::LanguageModel& model) {
  AuxiliaryLossesConfig config = flags.auxiliary;
  if (!config.any()) return nullptr;
  shiftgrad::require(config.targets <= flags.trainer.block_size, "trainer: targets ",
                     config.targets, ", expected at most block_size ", flags.trainer.block_size);
  config.training_iters = training_iters(flags.trainer);
  shiftgrad::Random random{flags.trainer.seed, shiftgrad::random_stream::auxiliary_losses};
  return std::make_unique<AuxiliaryLosses>(config, model.traits(), random);
}

/// Returns the text about an evaluation, which leaves a line of 80 columns room for the step.
std::string scores(const shiftgrad::EvaluationReport& report) {
  return text("train ", fixed(report.train.nats, 3), "  validation ",
              fixed(report.validation.nats, 3), " nats = ", fixed(report.validation.bits(), 3),
              " bits per character");
}

/// Returns a line about what evaluations leave out, or an empty string.
std::string unscored(const TrainFlags& flags, const Corpus& corpus) {
  int64_t characters = corpus.validation.size();
  int64_t scored = flags.evaluated_tokens(characters);
  if (scored >= characters - 1) return "";
  return text("evaluations score the first ", scored, " of ", characters - 1,
              " characters; char_lm eval scores all");
}

}  // namespace

Training::Training(const TrainFlags& flags, std::shared_ptr<const Corpus> corpus,
                   const SavedRun* saved, const std::function<RunFolder()>& folder,
                   shiftgrad::ProcessGroup& peers)
    : flags_(flags),
      threads_(limit_threads(flags.threads)),
      corpus_(long_enough(std::move(corpus), flags)),
      model_(begun_model(flags, saved, *corpus_, peers.size())),
      auxiliary_(auxiliary_losses(flags, model_)),
      trainer_(model_, corpus_->train, corpus_->validation, flags.trainer, peers, auxiliary_.get()),
      run_(setup(), folder(), {flags.trainer.max_iters, flags.log_interval, flags.trainer.patience},
           peers) {
  set_product_precision(flags.precision);
}

std::vector<std::string> Training::notes() const {
  std::vector<std::string> lines = trainer_.notes();
  if (std::string left_out = unscored(flags_, *corpus_); !left_out.empty())
    lines.push_back(left_out);
  return lines;
}

TrainingRun::Setup Training::setup() {
  return {
      .model = model_,
      .trainer = trainer_,
      .description = text(flags_.model.model, " with ", shiftgrad::parameter_count(model_),
                          " parameters, on ", text_name(flags_.data), ": ", corpus_->train.size(),
                          " characters to train on, ", corpus_->validation.size(),
                          " to validate on, ", corpus_->vocabulary.size(), " distinct"),
      .notes = notes(),
      .scores = scores,
      .observe = [this] { return observed(); },
      .write = [this](const std::string& path, const RunState& state) { write(path, state); }};
}

apps::Observation Training::observed() const {
  constexpr int64_t characters = 120;
  const Vocabulary& known = corpus_->vocabulary;
  std::string prompt = usual_prompt(known);
  shiftgrad::GenerateOptions options{.length = characters, .sampling = {.temperature = 0.8}};
  std::vector<int32_t> written =
      generate(model_, known.encode(prompt), generation_options(flags_, model_.config, options));
  return {.samples = {{prompt, known.decode(written)}},
          .attended = last_row_of_heads(model_, corpus_->validation, known)};
}

void Training::resume(const SavedRun& saved) { run_.resume(saved.checkpoint.state, saved.source); }

void Training::write(const std::string& path, const RunState& state) const {
  shiftgrad::write_checkpoint(path, {.model = model_.config,
                                     .vocabulary = corpus_->vocabulary.codes(),
                                     .state = state,
                                     .training = flags_.to_json(),
                                     .weights = state_view(model_)});
}

}  // namespace char_lm
