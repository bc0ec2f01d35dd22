#include "optim/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/errors.h"
#include "core/tape.h"
#include "nn/state_dict.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/clip.h"
#include "optim/fingerprint.h"
#include "optim/parameter_patterns.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

// Independent random numbers from one seed; a model is commonly drawn from stream 0.
constexpr uint64_t batches_stream = 1, dropout_stream = 2, auxiliary_stream = 3;

/// The config, once it is known to be good.
const TrainerConfig& checked(const TrainerConfig& config) {
  auto at_least = [](int64_t least, const char* field, int64_t value) {
    require(value >= least, "trainer: ", field, " ", value, ", expected at least ", least);
  };
  at_least(1, "gradient_accumulation_steps", config.gradient_accumulation_steps);
  at_least(0, "batch_warmup_iters", config.batch_warmup_iters);
  require(config.batch_warmup_iters == 0 || config.gradient_accumulation_steps > 1,
          "trainer: batch_warmup_iters ", config.batch_warmup_iters,
          " needs gradient_accumulation_steps of more than 1");
  at_least(0, "mem_len", config.mem_len);
  require(config.targets <= config.block_size, "trainer: targets ", config.targets,
          ", expected at most block_size ", config.block_size);
  at_least(0, "max_iters", config.max_iters);
  at_least(0, "lr_decay_iters", config.lr_decay_iters);
  at_least(1, "eval_interval", config.eval_interval);
  at_least(0, "eval_iters", config.eval_iters);
  at_least(0, "save_interval", config.save_interval);
  at_least(0, "patience", config.patience);
  require(config.batches == "blocks" || config.batches == "streams", "trainer: batches \"",
          config.batches, "\", expected blocks or streams");
  require(config.mem_len == 0 || config.batches == "streams",
          "trainer: mem_len needs batches \"streams\"");
  require(config.grad_clip >= 0, "trainer: grad_clip ", config.grad_clip, ", expected at least 0");
  return config;
}

/// The length of the training by which everything is scheduled.
int64_t training_iters(const TrainerConfig& config) {
  return config.lr_decay_iters > 0 ? config.lr_decay_iters : config.max_iters;
}

Schedule schedule_of(const TrainerConfig& config, int64_t d_model) {
  Schedule schedule{.type = config.schedule,
                    .learning_rate = config.learning_rate,
                    .min_lr = config.min_lr,
                    .warmup_iters = config.warmup_iters,
                    .lr_decay_iters = training_iters(config),
                    .d_model = d_model};
  schedule.check();
  return schedule;
}

AuxiliaryLosses auxiliary_losses(const TrainerConfig& config, const LanguageModelConfig& model) {
  Random random{config.seed, auxiliary_stream};
  return {{.intermediate_losses = config.intermediate_losses,
           .targets = config.targets,
           .extra_targets_weight = config.extra_targets_weight,
           .training_iters = training_iters(config)},
          model,
          random};
}

std::vector<Parameter> all_parameters(const LanguageModel& model,
                                      const AuxiliaryLosses& auxiliary) {
  Visitor visitor;
  model.visit(visitor);
  visitor("auxiliary", auxiliary);
  return std::move(visitor.parameters);
}

UpdateRule update_rule(const TrainerConfig& config) {
  if (config.optimizer == "adamw")
    return AdamW{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay};
  if (config.optimizer == "adam")
    return Adam{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay};
  if (config.optimizer == "sgd")
    return SGD{.momentum = config.momentum, .weight_decay = config.weight_decay};
  fail("trainer: optimizer \"", config.optimizer, "\", expected adamw, adam or sgd");
}

std::variant<RandomBlocks, ParallelStreams> batches(const TrainerConfig& config,
                                                    std::span<const int32_t> text) {
  if (config.batches == "streams")
    return ParallelStreams(text, config.batch_size, config.block_size);
  return RandomBlocks(text, config.batch_size, config.block_size,
                      Random{config.seed, batches_stream});
}

TrainerState start(const TrainerConfig& config, const std::vector<Parameter>& parameters,
                   std::span<const int32_t> text) {
  std::vector<Parameter> learning = not_frozen(parameters, config.freeze);
  std::vector<double> factors = learning_rate_factors(learning, config.lr_scale);
  return {.random = Random{config.seed, dropout_stream},
          .batches = batches(config, text),
          .memory = {},
          .optimizer = Optimizer(std::move(learning), update_rule(config), std::move(factors))};
}

constexpr const char *train_text_name = "train_text", *validation_text_name = "validation_text";
constexpr std::string_view auxiliary_prefix = "auxiliary.";

/// Removes the tensors whose names begin with `prefix` and returns them without it.
std::map<std::string, StoredTensor> take(std::map<std::string, StoredTensor>& tensors,
                                         std::string_view prefix) {
  std::map<std::string, StoredTensor> taken;
  std::erase_if(tensors, [&](auto& entry) {
    if (!entry.first.starts_with(prefix)) return false;
    taken[entry.first.substr(prefix.size())] = std::move(entry.second);
    return true;
  });
  return taken;
}

/// Throws unless the text is the one of which the fingerprint was saved.
void check_text(const char* name, std::span<const int32_t> text,
                const std::map<std::string, StoredTensor>& saved) {
  auto [tokens, hash] = fingerprint(text);
  Fingerprint before = loaded_fingerprint(name, saved);
  require(tokens == before.tokens, "the ", name, " has ", tokens, " tokens, the run's had ",
          before.tokens);
  require(hash == before.hash, "the ", name, " is another than the run's of the same ", tokens,
          " tokens");
}

/// Throws unless the memory is one that such a training can have.
void check_memory(const Memory& memory, const LanguageModelConfig& model,
                  const TrainerConfig& config) {
  if (memory.empty()) return;
  auto layers = static_cast<int64_t>(memory.size());
  require(layers == model.n_layer, "a memory of ", layers, " layers, expected ", model.n_layer);
  const Dims& first = memory[0].shape();
  int64_t length = first.size() == 3 ? std::min(first[1], config.mem_len) : config.mem_len;
  Dims expected{config.batch_size, length, model.d_model};
  for (const Tensor& layer : memory)
    require(layer.shape() == expected, "a memory of ", layer.shape(), ", expected ", expected);
}

}  // namespace

Trainer::Trainer(LanguageModel& model, std::span<const int32_t> train_text,
                 std::span<const int32_t> validation_text, const TrainerConfig& config,
                 Peers& peers)
    : model_(model),
      train_text_(train_text),
      validation_text_(validation_text.empty() ? train_text : validation_text),
      config_(checked(config)),
      peers_(peers),
      schedule_(schedule_of(config, model.config.d_model)),
      auxiliary_(auxiliary_losses(config, model.config)),
      state_(start(config, all_parameters(model, auxiliary_), train_text)),
      gradient_sums_(peers, state_.optimizer.parameters()) {
  require(config.batch_size >= peers.size(), "trainer: batch_size ", config.batch_size, " for ",
          peers.size(), " peers, expected a row for each");
  require(validation_text_.size() >= 2, "trainer: a validation text of ", validation_text_.size(),
          " tokens, expected at least 2");
  for (const Parameter& parameter : all_parameters(model, auxiliary_))
    parameter.value.require_gradient(false);
  for (const Parameter& learning : state_.optimizer.parameters()) learning.value.require_gradient();
}

void Trainer::check_peers() const {
  if (peers_.size() == 1) return;
  auto tensors = saved();
  tensors.merge(state_dict(model_));
  // Another text may be why other things differ.
  std::vector<std::string> names{train_text_name, validation_text_name};
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  std::vector<uint64_t> hashes;
  for (const std::string& name : names) hashes.push_back(hash(tensors.at(name).bytes));
  std::vector<std::vector<std::byte>> all = peers_.gather(std::as_bytes(std::span(hashes)));
  for (size_t peer = 1; peer < all.size(); ++peer) {
    auto [first, other] = std::ranges::mismatch(all[0], all[peer]);
    if (first == all[0].end() && other == all[peer].end()) continue;
    size_t n = static_cast<size_t>(first - all[0].begin()) / sizeof(uint64_t);
    fail("trainer: rank ", peer, " begins with another ", n < names.size() ? names[n] : "state",
         " than rank 0");
  }
}

std::vector<Batch> Trainer::next_batches() {
  int64_t count =
      warmed_up(config_.gradient_accumulation_steps, config_.batch_warmup_iters, state_.step);
  std::vector<Batch> batches;
  for (int64_t n = 0; n < count; ++n)
    batches.push_back(std::visit([](auto& source) { return source.next(); }, state_.batches));
  return batches;
}

double Trainer::accumulate(const Batch& batch, double weight, Memory& memory, Context& context,
                           bool last) {
  if (batch.starts_over) memory.clear();
  std::vector<Tensor> block_inputs;
  Tape tape;
  Tensor features = model_.features(batch.inputs, memory, context, &block_inputs);
  Tensor loss = cross_entropy(model_.logits(features), batch.targets);
  Tensor others = auxiliary_(block_inputs, features, batch.targets, state_.step, context);
  Tensor total = others.defined() ? loss + others : loss;
  std::function<void()> start_sums = [&] { gradient_sums_.start(); };
  tape.backward(total, Tensor::full({}, static_cast<Scalar>(weight)), last ? start_sums : nullptr);
  if (config_.mem_len > 0) memory = remember(memory, block_inputs, config_.mem_len);
  return static_cast<double>(loss.item());
}

StepReport Trainer::step() {
  auto start = std::chrono::steady_clock::now();
  std::vector<Batch> batches = next_batches();
  StepReport report{.step = state_.step + 1, .learning_rate = schedule_.at(state_.step)};
  for (const Batch& batch : batches) report.tokens += std::ssize(batch.targets.values);

  state_.optimizer.zero_gradients();
  Rows own = own_rows(peers_, config_.batch_size);
  Context context{.training = true, .random = state_.random, .first_member = own.begin};
  Memory memory = state_.memory;
  for (const Batch& batch : batches) {
    Batch part = rows(batch, own.begin, own.end);
    double weight =
        static_cast<double>(std::ssize(part.targets.values)) / static_cast<double>(report.tokens);
    report.loss += weight * accumulate(part, weight, memory, context, &batch == &batches.back());
  }
  report.waiting_seconds = gradient_sums_.finish();
  report.loss = sums(peers_, {report.loss})[0];
  report.gradient_norm = clip_gradient_norm(state_.optimizer.parameters(), config_.grad_clip);
  require(std::isfinite(report.loss) && std::isfinite(report.gradient_norm), "trainer: step ",
          report.step, ": loss ", report.loss, ", gradient norm ", report.gradient_norm,
          ": not finite; the weights are those before this step");

  state_.optimizer.step(report.learning_rate);
  state_.memory = memory;
  state_.random = context.random;
  state_.step = report.step;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

EvaluationReport Trainer::evaluate() {
  auto size = static_cast<int64_t>(validation_text_.size());
  int64_t batch = config_.batch_size * config_.block_size;
  if (config_.eval_iters > 0 && config_.eval_iters <= (size - 1) / batch)
    size = config_.eval_iters * batch + 1;
  bool streams = config_.batches == "streams";
  auto score = [&](std::span<const int32_t> text) {
    int64_t tokens = std::min(size, static_cast<int64_t>(text.size()));
    // Short texts are not cut into streams shorter than a block.
    int64_t most = std::max<int64_t>(1, (tokens - 1) / config_.block_size);
    return shiftgrad::evaluate(model_, text.first(tokens),
                               {.mode = streams ? "memory" : "chunks",
                                .tgt_len = config_.block_size,
                                .mem_len = config_.mem_len,
                                .batch_size = std::min(config_.batch_size, most)},
                               nullptr, peers_);
  };
  EvaluationReport report{state_.step, score(train_text_), score(validation_text_)};
  require(std::isfinite(report.train.nats) && std::isfinite(report.validation.nats),
          "trainer: evaluation after step ", state_.step, ": train loss ", report.train.nats,
          ", validation loss ", report.validation.nats, ": not finite");
  report.best = report.validation.nats < state_.best_loss;
  if (report.best) state_.best_loss = report.validation.nats;
  state_.evaluations_since_best = report.best ? 0 : state_.evaluations_since_best + 1;
  return report;
}

std::map<std::string, StoredTensor> Trainer::saved() const {
  TrainerState whole = state_;
  for (Tensor& layer : whole.memory) layer = gather_rows(peers_, layer);
  auto tensors = to_tensors(whole);
  tensors[train_text_name] = stored(fingerprint(train_text_));
  tensors[validation_text_name] = stored(fingerprint(validation_text_));
  for (auto& [name, tensor] : state_dict(auxiliary_))
    tensors[std::string(auxiliary_prefix) + name] = std::move(tensor);
  return tensors;
}

void Trainer::resume(std::map<std::string, StoredTensor> saved, const std::string& source) {
  auto weights = take(saved, auxiliary_prefix);
  TrainerState resumed = state_from(std::move(saved), source);
  load_state_dict(auxiliary_, weights, text(source, ": auxiliary losses"));
  state_ = std::move(resumed);
}

TrainerState Trainer::state_from(std::map<std::string, StoredTensor> saved,
                                 const std::string& source) const try {
  check_text(train_text_name, train_text_, saved);
  check_text(validation_text_name, validation_text_, saved);
  saved.erase(train_text_name);
  saved.erase(validation_text_name);
  TrainerState state = from_tensors(saved, state_);
  check_memory(state.memory, model_.config, config_);
  Rows own = own_rows(peers_, config_.batch_size);
  for (Tensor& layer : state.memory) layer = contiguous(slice(layer, 0, own.begin, own.end));
  return state;
} catch (const Error& error) {
  fail(source, ": ", error.what());
}

bool Trainer::out_of_patience() const {
  return config_.patience > 0 && state_.evaluations_since_best >= config_.patience;
}

void Trainer::run(const TrainerCallbacks& callbacks) {
  auto due = [&](int64_t interval) {
    return state_.step % interval == 0 || state_.step == config_.max_iters;
  };
  int64_t save_interval = config_.save_interval > 0 ? config_.save_interval : config_.eval_interval;
  while (state_.step < config_.max_iters && !out_of_patience()) {
    StepReport report = step();
    if (callbacks.on_step) callbacks.on_step(report);
    if (due(config_.eval_interval)) {
      EvaluationReport scores = evaluate();
      if (callbacks.on_evaluation) callbacks.on_evaluation(scores);
    }
    bool asked = callbacks.should_stop && callbacks.should_stop();
    bool stop = sums(peers_, {asked ? 1.0 : 0.0})[0] > 0;
    if (callbacks.on_save && (stop || out_of_patience() || due(save_interval))) callbacks.on_save();
    if (stop) return;
  }
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
