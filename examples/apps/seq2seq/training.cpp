#include "training.h"

#include "core/errors.h"
#include "examples/apps/draw/fixed.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/runs/machine.h"
#include "nn/state_dict.h"
#include "observed.h"

namespace seq2seq {

using apps::fixed;
using shiftgrad::text;

namespace {

shiftgrad::EncoderDecoderConfig config_of(const TrainFlags& flags, const Data& data) {
  return model_config(flags.model, data.source_symbols.tokens(), data.target_symbols.tokens());
}

/// Throws where the memory of this machine does not hold what a step needs for sure.
void check_memory(const TrainFlags& flags, const shiftgrad::EncoderDecoder& model, int64_t peers) {
  // The logits of at least one token of each target.
  double activations = static_cast<double>(flags.trainer.batch_size / peers) *
                       static_cast<double>(model.config.target_vocab_size);
  std::vector<shiftgrad::Parameter> all = parameters(model);
  apps::require_memory(all, all, 2, activations);
}

/// Returns the saved model, with dropout, which a checkpoint's config leaves out.
shiftgrad::EncoderDecoder saved_model(const TrainFlags& flags, SavedRun run) {
  run.model.dropout = run.model.attention_dropout = flags.model.dropout;
  return make_model(run);
}

/// Returns a new model, or the saved one.
shiftgrad::EncoderDecoder begun_model(const TrainFlags& flags, const SavedRun* saved,
                                      const Data& data, int64_t peers) {
  if (!saved) {
    auto make = [&](shiftgrad::Init init) {
      return shiftgrad::EncoderDecoder(config_of(flags, data), init);
    };
    check_memory(flags, apps::without_values(make), peers);
    shiftgrad::Random random{.seed = flags.trainer.seed};
    return make(random);
  }
  shiftgrad::EncoderDecoder model = saved_model(flags, *saved);
  check_memory(flags, model, peers);
  return model;
}

std::string scores(const shiftgrad::EvaluationReport& report) {
  return text("train loss ", fixed(report.train.nats, 4), "  validation loss ",
              fixed(report.validation.nats, 4), " nats per token");
}

}  // namespace

Training::Training(const TrainFlags& flags, Data data, const SavedRun* saved,
                   const std::function<apps::RunFolder()>& folder, shiftgrad::ProcessGroup& peers)
    : flags_(flags),
      threads_(apps::limit_threads(flags.threads)),
      data_(std::move(data)),
      watched_(first_sources(data_, 64)),
      model_(begun_model(flags, saved, data_, peers.size())),
      trainer_(model_, data_.train, data_.validation, target_ends, flags.trainer, peers),
      run_(setup(), folder(), {flags.trainer.max_iters, flags.log_interval, flags.trainer.patience},
           peers) {
  set_product_precision(flags.precision);
}

apps::TrainingRun::Setup Training::setup() {
  return {.model = model_,
          .trainer = trainer_,
          .description =
              text(flags_.model.encoder, " to ", flags_.model.decoder, " with ",
                   shiftgrad::parameter_count(model_), " parameters, on ", data_name(flags_.data),
                   ": ", data_.train.size(), " pairs to train on, ", data_.validation.size(),
                   " to validate on, ", data_.source_symbols.known().size(), " and ",
                   data_.target_symbols.known().size(), " symbols"),
          .scores = scores,
          .observe = [this] { return observed(model_, watched_, data_); },
          .write = [this](const std::string& path, const shiftgrad::RunState& state) {
            write(path, state);
          }};
}

void Training::write(const std::string& path, const shiftgrad::RunState& state) const {
  write_run(path, {.source = {},
                   .flags = flags_,
                   .model = model_.config,
                   .source_symbols = data_.source_symbols,
                   .target_symbols = data_.target_symbols,
                   .state = state,
                   .weights = state_view(model_)});
}

}  // namespace seq2seq
