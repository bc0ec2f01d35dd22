#include "optim/pair_trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/errors.h"
#include "core/tape.h"
#include "nn/tensor_names.h"
#include "ops/loss.h"
#include "optim/clip.h"
#include "optim/fingerprint.h"
#include "optim/stored_numbers.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

using Clock = std::chrono::steady_clock;

// Independent random numbers from one seed; a model is commonly drawn from stream 0.
constexpr uint64_t dropout_stream = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The config, once it is known to be good.
const PairTrainerConfig& checked(const PairTrainerConfig& config) {
  auto at_least = [](int64_t least, const char* field, int64_t value) {
    require(value >= least, "trainer: ", field, " ", value, ", expected at least ", least);
  };
  at_least(1, "batch_size", config.batch_size);
  at_least(0, "max_iters", config.max_iters);
  at_least(0, "lr_decay_iters", config.lr_decay_iters);
  at_least(1, "eval_interval", config.eval_interval);
  at_least(0, "eval_pairs", config.eval_pairs);
  at_least(0, "save_interval", config.save_interval);
  require(config.grad_clip >= 0, "trainer: grad_clip ", config.grad_clip, ", expected at least 0");
  require(0 <= config.label_smoothing && config.label_smoothing < 1, "trainer: label_smoothing ",
          config.label_smoothing, ", expected 0 to less than 1");
  return config;
}

Schedule schedule_of(const PairTrainerConfig& config, int64_t d_model) {
  Schedule schedule{
      .type = config.schedule,
      .learning_rate = config.learning_rate,
      .min_lr = config.min_lr,
      .warmup_iters = config.warmup_iters,
      .lr_decay_iters = config.lr_decay_iters > 0 ? config.lr_decay_iters : config.max_iters,
      .d_model = d_model};
  schedule.check();
  return schedule;
}

Fingerprint fingerprint(std::span<const TokenPair> pairs) {
  // Each sequence behind its length.
  std::vector<int32_t> tokens;
  for (const TokenPair& pair : pairs)
    for (const auto* side : {&pair.source, &pair.target}) {
      tokens.push_back(static_cast<int32_t>(side->size()));
      tokens.insert(tokens.end(), side->begin(), side->end());
    }
  return shiftgrad::fingerprint(std::span<const int32_t>(tokens));
}

/// So many of the pairs, evenly spaced; 0 and more than there are: all.
std::vector<TokenPair> spaced(std::span<const TokenPair> pairs, int64_t count) {
  auto all = std::ssize(pairs);
  if (count == 0 || count > all) count = all;
  std::vector<TokenPair> result;
  for (int64_t n = 0; n < count; ++n) result.push_back(pairs[static_cast<size_t>(n * all / count)]);
  return result;
}

constexpr const char *train_name = "train_pairs", *validation_name = "validation_pairs";

void check_pairs(const char* name, std::span<const TokenPair> pairs,
                 const std::map<std::string, StoredTensor>& saved) {
  Fingerprint now = fingerprint(pairs), before = loaded_fingerprint(name, saved);
  require(now.tokens == before.tokens && now.hash == before.hash, name, ": others than the run's");
}

}  // namespace

Evaluation evaluate(const EncoderDecoder& model, std::span<const TokenPair> pairs,
                    const TargetEnds& ends, int64_t batch_size) {
  Tape::Pause constant;
  Clock::time_point start = Clock::now();
  Evaluation result;
  double total = 0;
  Context context;
  for (const std::vector<int64_t>& members : batches_by_length(pairs, batch_size)) {
    PairBatch batch = make_batch(pairs, members, ends);
    Tensor logits = model.forward(batch.source, batch.inputs, context);  // [B, T, V]
    Tensor loss = cross_entropy(logits, batch.next, {.ignored = PairBatch::filled_up});
    total += static_cast<double>(loss.item()) * static_cast<double>(batch.tokens);
    result.tokens += batch.tokens;
  }
  result.nats = total / static_cast<double>(result.tokens);
  result.seconds = seconds_since(start);
  return result;
}

PairTrainer::PairTrainer(EncoderDecoder& model, std::span<const TokenPair> train,
                         std::span<const TokenPair> validation, const TargetEnds& ends,
                         const PairTrainerConfig& config)
    : model_(model),
      train_(train),
      validation_(validation.empty() ? train : validation),
      ends_(ends),
      config_(checked(config)),
      schedule_(schedule_of(config, model.config.d_model)),
      batches_(train, config.batch_size, config.seed),
      optimizer_(
          parameters(model),
          AdamW{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay}),
      random_{.seed = config.seed, .stream = dropout_stream} {}

StepReport PairTrainer::step() {
  Clock::time_point start = Clock::now();
  PairBatch batch = make_batch(train_, batches_.next(), ends_);
  StepReport report{.step = step_ + 1, .learning_rate = schedule_.at(step_)};
  report.tokens = batch.tokens;

  optimizer_.zero_gradients();
  Context context{.training = true, .random = random_};
  Tape tape;
  Tensor logits = model_.forward(batch.source, batch.inputs, context);  // [B, T, V]
  Tensor loss =
      cross_entropy(logits, batch.next,
                    {.label_smoothing = config_.label_smoothing, .ignored = PairBatch::filled_up});
  tape.backward(loss);
  report.loss = static_cast<double>(loss.item());
  report.gradient_norm = clip_gradient_norm(optimizer_.parameters(), config_.grad_clip);
  require(std::isfinite(report.loss) && std::isfinite(report.gradient_norm), "trainer: step ",
          report.step, ": loss ", report.loss, ", gradient norm ", report.gradient_norm,
          ": not finite; the weights are those before this step");

  optimizer_.step(report.learning_rate);
  random_ = context.random;
  step_ = report.step;
  report.seconds = seconds_since(start);
  return report;
}

EvaluationReport PairTrainer::evaluate() {
  auto score = [&](std::span<const TokenPair> pairs) {
    return shiftgrad::evaluate(model_, spaced(pairs, config_.eval_pairs), ends_,
                               config_.batch_size);
  };
  EvaluationReport report{step_, score(train_), score(validation_)};
  require(std::isfinite(report.train.nats) && std::isfinite(report.validation.nats),
          "trainer: evaluation after step ", step_, ": train loss ", report.train.nats,
          ", validation loss ", report.validation.nats, ": not finite");
  report.best = report.validation.nats < best_loss_;
  if (report.best) best_loss_ = report.validation.nats;
  return report;
}

void PairTrainer::run(const TrainerCallbacks& callbacks) {
  auto due = [&](int64_t interval) { return step_ % interval == 0 || step_ == config_.max_iters; };
  int64_t save_interval = config_.save_interval > 0 ? config_.save_interval : config_.eval_interval;
  while (step_ < config_.max_iters) {
    StepReport report = step();
    if (callbacks.on_step) callbacks.on_step(report);
    if (due(config_.eval_interval)) {
      EvaluationReport scores = evaluate();
      if (callbacks.on_evaluation) callbacks.on_evaluation(scores);
    }
    bool stop = callbacks.should_stop && callbacks.should_stop();
    if (callbacks.on_save && (stop || due(save_interval))) callbacks.on_save();
    if (stop) return;
  }
}

std::map<std::string, StoredTensor> PairTrainer::saved() const {
  std::map<std::string, StoredTensor> tensors{
      {"step", stored_numbers<int64_t>({step_})},
      {"best_loss", stored_numbers<double>({best_loss_})},
      {"dropout", stored_random(random_)},
      {"batches", stored_numbers<int64_t>({batches_.epoch(), batches_.position()})},
      {train_name, stored(fingerprint(train_))},
      {validation_name, stored(fingerprint(validation_))}};
  save(optimizer_, tensors);
  return tensors;
}

void PairTrainer::resume(const std::map<std::string, StoredTensor>& saved_state,
                         const std::string& source) try {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : saved()) names.push_back(name);
  check_names(names, saved_state);
  check_pairs(train_name, train_, saved_state);
  check_pairs(validation_name, validation_, saved_state);
  PairBatches batches = batches_;
  Optimizer optimizer = optimizer_;
  int64_t step = loaded_count("step", saved_state);
  double best_loss = loaded_numbers<double>("best_loss", saved_state.at("best_loss"), 1)[0];
  require(!std::isnan(best_loss), "tensor \"best_loss\": nan, expected a loss");
  Random random = loaded_random("dropout", saved_state);
  auto place = loaded_numbers<int64_t>("batches", saved_state.at("batches"), 2);
  batches.go_to(place[0], place[1]);
  load(optimizer, saved_state);
  std::swap(batches_, batches);
  std::swap(optimizer_, optimizer);
  random_ = random;
  step_ = step;
  best_loss_ = best_loss;
} catch (const Error& error) {
  fail(source, ": ", error.what());
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
