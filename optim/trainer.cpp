#include "optim/trainer.h"

#include <algorithm>

#include "core/checked.h"
#include "core/errors.h"
#include "core/io/fingerprint.h"
#include "core/tape.h"
#include "nn/state_dict.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/parameter_patterns.h"
#include "optim/random_streams.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

AuxiliaryLosses auxiliary_losses(const TrainerConfig& config, const ModelTraits& model) {
  Random random{config.seed, random_stream::auxiliary_losses};
  return {{.intermediate_losses = config.intermediate_losses,
           .targets = config.targets,
           .extra_targets_weight = config.extra_targets_weight,
           .training_iters = training_iters(config)},
          model,
          random};
}

std::vector<Parameter> all_parameters(const SequenceModel& model,
                                      const AuxiliaryLosses& auxiliary) {
  Visitor visitor;
  model.visit(visitor);
  visitor("auxiliary", auxiliary);
  return std::move(visitor.parameters);
}

UpdateRule update_rule(const TrainerConfig& config) {
  switch (config.optimizer) {
    case OptimizerType::sgd:
      return SGD{.momentum = config.momentum, .weight_decay = config.weight_decay};
    case OptimizerType::adam:
      return Adam{
          .beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay};
    default:
      return AdamW{
          .beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay};
  }
}

std::variant<RandomBlocks, ParallelStreams> batches(const TrainerConfig& config,
                                                    std::span<const int32_t> text) {
  if (config.batches == BatchType::streams)
    return ParallelStreams(text, config.batch_size, config.block_size, config.ext_len);
  return RandomBlocks(text, config.batch_size, config.block_size,
                      Random{config.seed, random_stream::batches});
}

TrainerState start(const TrainerConfig& config, const std::vector<Parameter>& parameters,
                   std::span<const int32_t> text) {
  std::vector<Parameter> learning = not_frozen(parameters, config.freeze);
  std::vector<double> factors = learning_rate_factors(learning, config.lr_scale);
  LoopState loop{
      .random = Random{config.seed, random_stream::dropout},
      .optimizer = Optimizer(std::move(learning), update_rule(config), std::move(factors))};
  auto source = batches(config, text);
  return {std::move(loop), std::move(source), {}};
}

constexpr const char *train_text_name = "train_text", *validation_text_name = "validation_text";
constexpr std::string_view auxiliary_prefix = "auxiliary.";

/// Removes the tensors whose names begin with `prefix` and returns them under names without it.
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

/// Returns the last positions of each row.
Tensor last_positions(const Tensor& x, int64_t count) {
  int64_t T = x.size(1);
  return count == T ? x : slice(x, 1, T - count, T);
}
Tokens last_positions(const Tokens& x, int64_t count) {
  int64_t B = x.shape[0], T = x.shape[1];
  Tokens last{{B, count}, {}};
  for (int64_t b = 0; b < B; ++b) {
    auto end = x.values.begin() + (b + 1) * T;
    last.values.insert(last.values.end(), end - count, end);
  }
  return last;
}

/// Throws unless the saved fingerprint is that of the text.
void check_text(const char* name, std::span<const int32_t> text,
                const std::map<std::string, StoredTensor>& saved) {
  auto [tokens, hash] = fingerprint(text);
  Fingerprint before = loaded_fingerprint(name, saved);
  require(tokens == before.tokens, "the ", name, " has ", tokens, " tokens, the run's had ",
          before.tokens);
  require(hash == before.hash, "the ", name, " is another than the run's of the same ", tokens,
          " tokens");
}

/// Throws unless such a training can have this memory.
void check_memory(const Memory& memory, const ModelTraits& model, const TrainerConfig& config) {
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

Trainer::Trainer(SequenceModel& model, std::span<const int32_t> train_text,
                 std::span<const int32_t> validation_text, const TrainerConfig& config,
                 Peers& peers)
    : TrainingLoop(loop_config(checked(config), model.traits().d_model), peers),
      model_(model),
      train_text_(train_text),
      validation_text_(validation_text.empty() ? train_text : validation_text),
      config_(config),
      auxiliary_(auxiliary_losses(config, model.traits())),
      state_(start(config, all_parameters(model, auxiliary_), train_text)),
      gradient_sums_(peers, state_.optimizer.parameters()) {
  require(validation_text_.size() >= 2, "trainer: a validation text of ", validation_text_.size(),
          " tokens, expected at least 2");
  require(config.mem_len == 0 || model.traits().n_layer > 0, "trainer: mem_len ", config.mem_len,
          " for a model without memory");
  require(config.ext_len == 0 || config.ext_len + config.block_size <= model.longest(),
          "trainer: ext_len ", config.ext_len, " and block_size ", config.block_size,
          ", expected at most the model's ", model.longest(), " positions together");
  listed_ = all_parameters(model, auxiliary_);
  for (const Parameter& parameter : listed_) parameter.value.require_gradient(false);
  for (const Parameter& learning : state_.optimizer.parameters()) learning.value.require_gradient();
  // A model that cannot forget tokens says so now, and not in the first evaluation.
  if (config.ext_len > 0)
    shiftgrad::evaluate(
        model, validation_text_.first(2),
        {.tgt_len = 1, .mem_len = config.mem_len, .ext_len = config.ext_len, .batch_size = 1});
}

void Trainer::note(PeerConsistency& common) const {
  common({{train_text_name, stored(fingerprint(train_text_))},
          {validation_text_name, stored(fingerprint(validation_text_))}});
  TrainerConfig(config_).fields(common);
  ModelTraits traits = model_.traits();
  common.model(model_.config_text(), traits.dropout, traits.attention_dropout, model_);
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
  Tape tape;
  ModelOutput output = model_(batch.inputs, memory, context);
  int64_t scored = scored_tokens(batch);
  Tensor loss =
      cross_entropy(last_positions(output.logits, scored), last_positions(batch.targets, scored));
  Tensor others = auxiliary_(output, batch.targets, state_.step, context);
  Tensor total = others.defined() ? loss + others : loss;
  check_listed(tape);
  std::function<void()> start_sums = [&] { gradient_sums_.start(); };
  tape.backward(total, Tensor::full({}, static_cast<Scalar>(weight)), last ? start_sums : nullptr);
  if (config_.mem_len > 0)
    memory = remember(memory, output.block_inputs, config_.mem_len, config_.ext_len);
  return static_cast<double>(loss.item());
}

int64_t Trainer::scored_tokens(const Batch& batch) const {
  int64_t T = batch.targets.shape[1];
  return config_.loss_tokens > 0 ? std::min(config_.loss_tokens, T) : T;
}

StepReport Trainer::step() {
  StepReport report = begin_step();
  std::vector<Batch> batches = next_batches();
  for (const Batch& batch : batches) report.tokens += batch.targets.shape[0] * scored_tokens(batch);

  Rows own = own_rows(peers_, config_.batch_size);
  Context context{.training = true, .random = state_.random, .first_member = own.begin};
  Memory memory = state_.memory;
  for (const Batch& batch : batches) {
    Batch part = rows(batch, own.begin, own.end);
    double weight = static_cast<double>(part.targets.shape[0] * scored_tokens(part)) /
                    static_cast<double>(report.tokens);
    report.loss += weight * accumulate(part, weight, memory, context, &batch == &batches.back());
  }
  end_step(report, gradient_sums_, context);
  state_.memory = memory;
  return report;
}

EvaluationReport Trainer::evaluate(const EvaluationProgress& progress) {
  auto size = static_cast<int64_t>(validation_text_.size());
  int64_t batch = config_.batch_size * config_.block_size;
  if (config_.eval_iters > 0 && config_.eval_iters <= (size - 1) / batch)
    size = config_.eval_iters * batch + 1;
  bool streams = config_.batches == BatchType::streams;
  auto score = [&](std::span<const int32_t> text) {
    int64_t tokens = std::min(size, static_cast<int64_t>(text.size()));
    // Short texts are not cut into streams shorter than a block.
    int64_t most = std::max<int64_t>(1, (tokens - 1) / config_.block_size);
    return shiftgrad::evaluate(model_, text.first(tokens),
                               {.mode = streams ? EvaluationMode::memory : EvaluationMode::chunks,
                                .tgt_len = config_.block_size,
                                .mem_len = config_.mem_len,
                                .ext_len = streams ? config_.ext_len : 0,
                                .batch_size = std::min(config_.batch_size, most),
                                .progress = progress},
                               nullptr, peers_);
  };
  return report_of(score(train_text_), score(validation_text_));
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
  check_memory(state.memory, model_.traits(), config_);
  Rows own = own_rows(peers_, config_.batch_size);
  for (Tensor& layer : state.memory) layer = contiguous(slice(layer, 0, own.begin, own.end));
  return state;
} catch (const Error& error) {
  fail(source, ": ", error.what());
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
