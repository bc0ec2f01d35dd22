#include "optim/training_loop.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "core/io/tensor_file.h"
#include "core/machine/precision.h"
#include "optim/clip.h"
#include "optim/random_streams.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Throws unless the saved tensors have the names of those of a training that starts, with a memory
/// of any depth, and perhaps an evaluation that is due.
void check_state_names(const std::map<std::string, StoredTensor>& start,
                       const std::map<std::string, StoredTensor>& saved) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : start)
    if (!name.starts_with(memory_prefix) && name != evaluation_due_name) names.push_back(name);
  for (size_t n = 0; saved.contains(memory_name(n)); ++n) names.push_back(memory_name(n));
  if (saved.contains(evaluation_due_name)) names.push_back(evaluation_due_name);
  check_names(names, saved);
}

/// Throws unless the saved fingerprint is that of the data.
void check_data(const std::string& name, const Fingerprint& data, SavedState& saved) {
  Fingerprint before;
  saved(name, before.tokens, before.hash);
  require(data.tokens == before.tokens, name, ": ", data.tokens, ' ', data.unit, ", the run's had ",
          before.tokens);
  require(data.hash == before.hash, name, ": others than the run's ", data.tokens, ' ', data.unit);
}

/// Returns those parameters of a list that share no storage with what the optimizer updates. Parts
/// of one storage require a gradient together.
std::vector<Parameter> frozen(std::vector<Parameter> all, const Optimizer& optimizer) {
  std::erase_if(all, [&](const Parameter& one) {
    return std::ranges::any_of(optimizer.parameters(), [&](const Parameter& learning) {
      return learning.value.shares_storage(one.value);
    });
  });
  return all;
}

/// A parameter that requires a gradient while this lives.
class Learning {
 public:
  explicit Learning(const Parameter& parameter)
      : value_(parameter.value), before_(value_.requires_gradient()) {
    value_.require_gradient();
    require(value_.requires_gradient(), "trainer: parameter ", parameter.name,
            " is frozen in a step of another training, which is still running");
  }
  Learning(Learning&&) noexcept = default;
  ~Learning() {
    if (value_.defined() && !before_) value_.require_gradient(false);
  }

 private:
  Tensor value_;
  bool before_;
};

/// Returns the config with a decay that ends with the training, unless it has an end of its own.
LoopConfig with_end(LoopConfig config) {
  check_fields("trainer", config);
  if (config.schedule.lr_decay_iters == 0)
    config.schedule.lr_decay_iters = std::max<int64_t>(1, config.max_iters);
  return config;
}

}  // namespace

TrainingLoop::TrainingLoop(LoopConfig config, std::vector<Parameter> all, Optimizer optimizer,
                           std::map<std::string, Fingerprint> data, ProcessGroup& peers)
    : peers_(peers),
      config_(with_end(std::move(config))),
      listed_(std::move(all)),
      frozen_(frozen(listed_, optimizer)),
      data_(std::move(data)),
      state_{.random = {config_.seed, random_stream::dropout},
             .optimizer = std::move(optimizer),
             .rates = config_.rate ? std::optional(RateInput{}) : std::nullopt},
      gradient_reducer_(peers, state_.optimizer.parameters()) {
  require(config_.batch_size >= peers.size(), "trainer: batch_size ", config_.batch_size, " for ",
          peers.size(), " peers, expected a row for each");
}

void TrainingLoop::check_peers() {
  if (peers_.size() == 1) return;
  PeerConsistency common;
  for (const auto& [name, fingerprint] : data_) common(fingerprint.hash, {name.c_str()});
  note(common);
  common(product_precision(), {"precision"});
  common(saved_view());
  common.check_same(peers_);
}

void TrainingLoop::note(PeerConsistency& common) const {
  LoopConfig(config_).fields(common);
  std::map<std::string, StoredTensor> values;
  for (const auto& [name, value, decay] : listed_) values[name] = stored_view(value);
  common(values);
}

void TrainingLoop::backward(Tape& tape, const Tensor& loss, const Tensor& objective, double weight,
                            bool last) {
  for (const Tensor& one : {loss, objective})
    require(one.shape().empty(), "trainer: step ", state_.step + 1, ": a loss of shape ",
            one.shape(), ", expected []");
  if (!listed_.empty()) require_listed(tape, listed_);
  listed_.clear();
  std::function<void()> start_sums = [&] { gradient_reducer_.start(); };
  tape.backward(objective, Tensor::full({}, static_cast<Scalar>(weight)),
                last ? start_sums : nullptr);
  loss_ = loss_.value_or(0) + weight * static_cast<double>(loss.item());
}

double TrainingLoop::next_rate() {
  if (!config_.rate) return config_.schedule.at(state_.step);
  std::string name = text("trainer: step ", state_.step + 1, ": rate");
  state_.rates->step = state_.step;
  double rate = 0;
  try {
    rate = config_.rate(*state_.rates);
  } catch (const std::exception& error) {
    fail(name, ": ", error.what());
  }
  require(rate >= 0 && std::isfinite(rate), name, " of ", rate, ", expected at least 0");
  return rate;
}

StepReport TrainingLoop::step() {
  Stopwatch watch;
  std::vector<Frozen> constant;
  for (const Parameter& parameter : frozen_) constant.emplace_back(parameter.value);
  std::vector<Learning> learning;
  for (const Parameter& one : state_.optimizer.parameters()) learning.emplace_back(one);
  state_.optimizer.zero_gradients();
  loss_.reset();
  Context context{.training = true, .random = state_.random};
  StepReport report{
      .step = state_.step + 1, .learning_rate = next_rate(), .tokens = learn(context)};
  require(loss_.has_value(), "trainer: step ", report.step,
          ": learn has made no call of TrainingLoop::backward, expected one for each batch");
  report.waiting_seconds = gradient_reducer_.finish();
  report.loss = sums(peers_, {*loss_})[0];
  report.gradient_norm = clip_gradient_norm(state_.optimizer.parameters(), config_.grad_clip);
  require(std::isfinite(report.loss) && std::isfinite(report.gradient_norm), "trainer: step ",
          report.step, ": loss ", report.loss, ", gradient norm ", report.gradient_norm,
          ": not finite; the weights are those before this step");
  state_.optimizer.step(report.learning_rate);
  state_.random = context.random;
  state_.step = report.step;
  if (state_.rates) {
    state_.rates->learning_rate = report.learning_rate;
    state_.rates->is_evaluated = false;
  }
  state_.evaluation_due = false;
  report.seconds = watch.seconds();
  return report;
}

EvaluationReport TrainingLoop::evaluation(const EvaluationProgress& progress) {
  auto [train, validation] = in_name_of(text("trainer: evaluation after step ", state_.step),
                                        [&] { return scores(progress); });
  for (const Evaluation& one : {train, validation})
    require(std::isfinite(one.nats), "trainer: evaluation after step ", state_.step, ": a loss of ",
            one.nats, ", expected a finite one");
  bool best = validation.nats < state_.best_loss;
  if (best) state_.best_loss = validation.nats;
  state_.evaluations_since_best = best ? 0 : state_.evaluations_since_best + 1;
  if (state_.rates) {
    state_.rates->losses.push_back(validation.nats);
    state_.rates->is_evaluated = true;
  }
  state_.evaluation_due = false;
  return {state_.step, train, validation, best};
}

std::map<std::string, StoredTensor> TrainingLoop::saved() {
  std::map<std::string, StoredTensor> tensors = saved_view();
  for (auto& [name, tensor] : tensors)
    tensor.bytes = std::vector(tensor.bytes.begin(), tensor.bytes.end());
  return tensors;
}

std::map<std::string, StoredTensor> TrainingLoop::saved_view() {
  SavedState saved;
  TrainerState(state_).visit(saved);
  visit_state(saved);
  for (auto& [name, data] : data_) saved(name, data.tokens, data.hash);
  return std::move(saved.tensors);
}

void TrainingLoop::resume(std::map<std::string, StoredTensor> tensors, const std::string& source) {
  in_name_of(source, [&] {
    check_state_names(saved_view(), tensors);
    SavedState saved(std::move(tensors));
    for (const auto& [name, fingerprint] : data_) check_data(name, fingerprint, saved);
    TrainerState resumed = state_;
    resumed.visit(saved);
    visit_state(saved);
    saved.fill();
    state_ = std::move(resumed);
  });
}

bool TrainingLoop::out_of_patience() const {
  return config_.patience > 0 && state_.evaluations_since_best >= config_.patience;
}

void TrainingLoop::leave_if_asked() const {
  if (asks_) leave_if_any(peers_, asks_());
}

bool TrainingLoop::advance(const TrainerCallbacks& callbacks) try {
  struct Asking {
    std::function<bool()>& asks;
    ~Asking() { asks = nullptr; }
  } asking{asks_};
  asks_ = [&] { return callbacks.should_stop && callbacks.should_stop(); };
  if (!state_.evaluation_due) {
    StepReport report = step();
    if (callbacks.on_step) callbacks.on_step(report);
    state_.evaluation_due = is_due(config_.eval_interval);
  }
  if (state_.evaluation_due) {
    EvaluationReport scores = evaluation([&](int64_t done, int64_t total) {
      if (callbacks.on_evaluation_progress) callbacks.on_evaluation_progress(done, total);
      leave_if_asked();
    });
    if (callbacks.on_evaluation) callbacks.on_evaluation(scores);
  }
  return true;
} catch (const WorkLeft&) {
  return false;
}

bool TrainingLoop::is_due(int64_t interval) const {
  return state_.step % interval == 0 || state_.step == config_.max_iters;
}

void TrainingLoop::run(const TrainerCallbacks& callbacks) {
  int64_t save_interval = config_.save_interval > 0 ? config_.save_interval : config_.eval_interval;
  while (state_.evaluation_due || (state_.step < config_.max_iters && !out_of_patience())) {
    bool left = !advance(callbacks);
    bool asked = left || (callbacks.should_stop && callbacks.should_stop());
    bool stop = sums(peers_, {asked ? 1.0 : 0.0})[0] > 0;
    if (callbacks.on_save && (stop || out_of_patience() || is_due(save_interval)))
      callbacks.on_save();
    if (stop) return;
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
