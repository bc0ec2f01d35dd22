#include "optim/trainer.h"

#include <algorithm>

#include "core/checked.h"
#include "core/errors.h"
#include "core/io/tensor_file.h"
#include "core/tape.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/parameter_patterns.h"
#include "optim/random_streams.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

UpdateRule update_rule(const TrainerConfig& config) {
  if (config.optimizer == OptimizerType::sgd)
    return SGD{.momentum = config.momentum, .weight_decay = config.weight_decay};
  if (config.optimizer == OptimizerType::adam) return adam_of<Adam>(config);
  return adam_of<AdamW>(config);
}

std::variant<RandomBlocks, ParallelStreams> batches(const TrainerConfig& config,
                                                    const KeptText& text) {
  if (config.batches == BatchType::streams)
    return ParallelStreams(text, config.batch_size, config.block_size, config.ext_len,
                           config.loss_tokens);
  return RandomBlocks(text, config.batch_size, config.block_size,
                      Random{config.seed, random_stream::batches}, config.loss_tokens,
                      config.block_step);
}

constexpr const char* auxiliary_name = "auxiliary";

Visitor all_of(const SequenceModel& model, const AuxiliaryLoss* auxiliary) {
  Visitor visitor(model);
  if (auxiliary) visitor(auxiliary_name, *auxiliary);
  return visitor;
}

Optimizer optimizer(const TrainerConfig& config, const Visitor& all) {
  std::vector<Parameter> learning = trainable(all.parameters, config.freeze, all.tied);
  std::vector<double> factors = learning_rate_factors(learning, config.lr_scale, all.tied);
  return {std::move(learning), update_rule(config), std::move(factors)};
}

/// Returns the model, which sees no later token.
const SequenceModel& causal(const SequenceModel& model) {
  require_causal("trainer", model);
  return model;
}

}  // namespace

Trainer::Trainer(SequenceModel& model, const KeptText& train_text, const KeptText& validation_text,
                 const TrainerConfig& config, ProcessGroup& peers, const AuxiliaryLoss* auxiliary)
    : TrainingLoop(loop_config(config, causal(model).traits().d_model),
                   all_of(model, auxiliary).parameters,
                   optimizer(checked(config), all_of(model, auxiliary)),
                   {{"train_text", fingerprint(train_text)},
                    {"validation_text", fingerprint(validation_text.or_else(train_text))}},
                   peers),
      model_(model),
      train_text_(train_text),
      validation_text_(validation_text.or_else(train_text)),
      config_(config),
      auxiliary_(auxiliary),
      batches_(shiftgrad::batches(config, train_text)) {
  int64_t scored = validation_text_.size();
  require(scored >= 2, "trainer: a validation text of ", scored, " tokens, expected at least 2");
  require(!auxiliary || (config.ext_len == 0 && config.loss_tokens == 0),
          "trainer: ", config.ext_len > 0 ? "ext_len" : "loss_tokens", " with auxiliary losses");
  require(config.mem_len == 0 || model.traits().n_layer > 0, "trainer: mem_len ", config.mem_len,
          " for a model without memory");
  require(config.ext_len == 0 || config.ext_len + config.block_size <= model.limits().length,
          "trainer: ext_len ", config.ext_len, " and block_size ", config.block_size,
          ", expected at most the model's ", model.limits().length, " positions together");
  // A model whose cache takes no limit, or cannot forget tokens, says so now, and not in the first
  // evaluation.
  if (config.batches == BatchType::streams)
    model.make_cache(saturated_sum(config.mem_len, config.ext_len));
  if (config.ext_len > 0) {
    // As long a text as the cache is then: a shorter one may have a cache of another kind.
    const int64_t tokens = saturated_sum(saturated_sum(config.mem_len, config.ext_len), 2);
    shiftgrad::evaluate(model, validation_text_.part(0, std::min(validation_text_.size(), tokens)),
                        {.tgt_len = config.block_size,
                         .mem_len = config.mem_len,
                         .ext_len = config.ext_len,
                         .batch_size = 1});
  }
}

std::vector<std::string> Trainer::notes() const {
  return tied_notes(all_of(model_, auxiliary_).tied, config_.freeze, config_.lr_scale);
}

void Trainer::note(PeerConsistency& common) const {
  TrainerConfig(config_).fields(common);
  if (auxiliary_) common(auxiliary_->config_text(), {"auxiliary loss"});
  ModelTraits traits = model_.traits();
  common.model(model_.config_text(), traits.dropout, traits.attention_dropout, model_);
}

std::vector<Batch> Trainer::next_batches() {
  int64_t count =
      warmed_up(config_.gradient_accumulation_steps, config_.batch_warmup_iters, state().step);
  std::vector<Batch> batches;
  for (int64_t n = 0; n < count; ++n)
    batches.push_back(std::visit([](auto& source) { return source.next(); }, batches_));
  return batches;
}

int64_t Trainer::learn(Context& context) {
  auto place = batches_;
  std::vector<Batch> batches = next_batches();
  Memory before = batches.size() > 1 ? memory_ : Memory();
  try {
    return learn_from(batches, context);
  } catch (const WorkLeft&) {
    batches_ = std::move(place);
    memory_ = std::move(before);
    throw;
  }
}

int64_t Trainer::learn_from(const std::vector<Batch>& batches, Context& context) {
  int64_t tokens = 0;
  for (const Batch& batch : batches) tokens += std::ssize(batch.targets.values);

  Interval own = own_rows(peers_, config_.batch_size);
  context.first_member = own.begin;
  for (const Batch& batch : batches) {
    if (&batch != &batches.front()) leave_if_asked();
    Batch part = rows(batch, own.begin, own.end);
    if (part.starts_over) memory_.clear();
    Tape tape;
    ModelOutput output = model_(part.inputs, memory_, context);
    int64_t T = part.inputs.shape[1], scored = part.targets.shape[1];
    Tensor loss = cross_entropy(slice(output.logits, 1, T - scored, T), part.targets);
    Tensor others;
    if (auxiliary_) others = (*auxiliary_)(output, part.targets, state().step, context);
    double weight = static_cast<double>(part.targets.values.size()) / static_cast<double>(tokens);
    backward(tape, loss, others.defined() ? loss + others : loss, weight,
             &batch == &batches.back());
    if (config_.mem_len > 0)
      memory_ = remember(memory_, output.block_inputs, config_.mem_len, config_.ext_len);
  }
  return tokens;
}

std::pair<Evaluation, Evaluation> Trainer::scores(const EvaluationProgress& progress) const {
  int64_t size = validation_text_.size();
  int64_t batch = config_.batch_size * config_.block_size;
  if (config_.eval_iters > 0 && config_.eval_iters <= (size - 1) / batch)
    size = config_.eval_iters * batch + 1;
  bool streams = config_.batches == BatchType::streams;
  auto score = [&](const KeptText& text) {
    int64_t tokens = std::min(size, text.size());
    // Short texts are not cut into streams shorter than a block.
    int64_t most = std::max<int64_t>(1, (tokens - 1) / config_.block_size);
    return shiftgrad::evaluate(model_, text.part(0, tokens),
                               {.mode = streams ? EvaluationMode::memory : EvaluationMode::chunks,
                                .tgt_len = config_.block_size,
                                .mem_len = config_.mem_len,
                                .ext_len = streams ? config_.ext_len : 0,
                                .batch_size = std::min(config_.batch_size, most),
                                .progress = progress},
                               nullptr, peers_);
  };
  Evaluation train = score(train_text_);
  return {train, score(validation_text_)};
}

void Trainer::visit_state(SavedState& saved) {
  auto batches = batches_;
  if (auto* blocks = std::get_if<RandomBlocks>(&batches))
    saved("blocks", blocks->random.seed, blocks->random.stream, blocks->random.counter);
  if (auto* streams = std::get_if<ParallelStreams>(&batches)) {
    saved("streams", streams->position);
    int64_t length = train_text_.size() / config_.batch_size;
    require(streams->position < length, "tensor \"streams\": ", streams->position,
            ", expected less than ", length);
  }
  Memory memory = saved.reads() ? saved_memory(saved) : memory_;
  if (!saved.reads())
    for (size_t n = 0; n < memory.size(); ++n)
      saved.tensors[memory_name(n)] = stored_view(gather_rows(peers_, memory[n]));
  if (auxiliary_) saved(auxiliary_name, *auxiliary_);
  batches_ = std::move(batches);
  memory_ = std::move(memory);
}

Memory Trainer::saved_memory(const SavedState& saved) const {
  Memory memory;
  for (size_t n = 0; saved.tensors.contains(memory_name(n)); ++n)
    memory.push_back(loaded_tensor(memory_name(n), saved.tensors.at(memory_name(n))));
  if (memory.empty() || config_.mem_len == 0) return {};
  ModelTraits model = model_.traits();
  require(std::ssize(memory) == model.n_layer, "a memory of ", memory.size(), " layers, expected ",
          model.n_layer);
  const Dims& first = memory[0].shape();
  // A run that was begun with another mem_len has fewer tokens to remember, or forgets some.
  Dims expected{config_.batch_size, first.size() == 3 ? first[1] : config_.mem_len, model.d_model};
  Interval own = own_rows(peers_, config_.batch_size);
  int64_t M = expected[1];
  for (Tensor& layer : memory) {
    require(layer.shape() == expected, "a memory of ", layer.shape(), ", expected ", expected);
    Tensor newest = slice(layer, 1, std::max<int64_t>(0, M - config_.mem_len), M);
    layer = contiguous(slice(newest, 0, own.begin, own.end));
  }
  return memory;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
