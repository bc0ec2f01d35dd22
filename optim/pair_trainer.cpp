#include "optim/pair_trainer.h"

#include <algorithm>
#include <chrono>

#include "core/checked.h"
#include "core/errors.h"
#include "core/io/fingerprint.h"
#include "core/io/stored_numbers.h"
#include "core/io/tensor_file.h"
#include "core/tape.h"
#include "nn/models/config.h"
#include "ops/loss.h"
#include "optim/random_streams.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

PairTrainerState start(const EncoderDecoder& model, std::span<const TokenPair> pairs,
                       const PairTrainerConfig& config) {
  PairBatches batches(pairs, config.batch_size, config.seed);
  AdamW rule{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay};
  return {{.random = {.seed = config.seed, .stream = random_stream::dropout},
           .optimizer = Optimizer(parameters(model), rule)},
          std::move(batches)};
}

Fingerprint fingerprint(std::span<const TokenPair> pairs) {
  // Each sequence follows its length.
  std::vector<int32_t> tokens;
  for (const TokenPair& pair : pairs)
    for (const auto* side : {&pair.source, &pair.target}) {
      tokens.push_back(static_cast<int32_t>(side->size()));
      tokens.insert(tokens.end(), side->begin(), side->end());
    }
  return shiftgrad::fingerprint(std::span<const int32_t>(tokens));
}

/// Returns `count` of the pairs, evenly spaced; all of them if `count` is 0 or greater than their
/// number.
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

void PairTrainerConfig::check() const { PairTrainerConfig(*this).fields(InRange{"trainer"}); }

Evaluation evaluate(const EncoderDecoder& model, std::span<const TokenPair> pairs,
                    const TargetEnds& ends, int64_t batch_size, Peers& peers,
                    const EvaluationProgress& progress) {
  Tape::Pause constant;
  Clock::time_point start = Clock::now();
  std::vector<std::vector<int64_t>> batches = batches_by_length(pairs, batch_size);
  double nats = 0, tokens = 0;
  Context context;
  Rows own = own_rows(peers, std::ssize(batches));
  for (int64_t n = own.begin; n < own.end; ++n) {
    PairBatch batch = make_batch(pairs, batches[static_cast<size_t>(n)], ends);
    Tensor logits = model(batch.source, batch.inputs, context);  // [B, T, V]
    Tensor loss = cross_entropy(logits, batch.next, {.ignored = PairBatch::filled_up});
    nats += static_cast<double>(loss.item()) * static_cast<double>(batch.tokens);
    tokens += static_cast<double>(batch.tokens);
    if (progress) progress(n + 1 - own.begin, std::ssize(batches));
  }
  std::vector<double> total = sums(peers, {nats, tokens});
  return {total[0] / total[1], static_cast<int64_t>(total[1]), seconds_since(start)};
}

PairTrainer::PairTrainer(EncoderDecoder& model, std::span<const TokenPair> train,
                         std::span<const TokenPair> validation, const TargetEnds& ends,
                         const PairTrainerConfig& config, Peers& peers)
    : TrainingLoop(loop_config(checked(config), model.config.d_model), peers),
      model_(model),
      train_(train),
      validation_(validation.empty() ? train : validation),
      ends_(ends),
      config_(config),
      state_(start(model, train, config)),
      gradient_sums_(peers, state_.optimizer.parameters()) {
  listed_ = parameters(model);
}

void PairTrainer::note(PeerConsistency& common) const {
  common({{train_name, stored(fingerprint(train_))},
          {validation_name, stored(fingerprint(validation_))}});
  PairTrainerConfig(config_).fields(common);
  const EncoderDecoderConfig& config = model_.config;
  common.model(config_to_json(config), config.dropout, config.attention_dropout, model_);
}

StepReport PairTrainer::step() {
  StepReport report = begin_step();
  PairBatch batch = make_batch(train_, state_.batches.next(), ends_);
  report.tokens = batch.tokens;

  Rows own = own_rows(peers_, batch.count());
  // A peer without a row of a small batch takes one with weight 0, since all must make the same
  // sums.
  PairBatch part = rows(batch, own.begin, std::max(own.end, own.begin + 1));
  double weight =
      own.count() == 0 ? 0 : static_cast<double>(part.tokens) / static_cast<double>(batch.tokens);
  Context context{.training = true, .random = state_.random, .first_member = own.begin};
  Tape tape;
  Tensor logits = model_(part.source, part.inputs, context);  // [B, T, V]
  Tensor loss =
      cross_entropy(logits, part.next,
                    {.label_smoothing = config_.label_smoothing, .ignored = PairBatch::filled_up});
  check_listed(tape);
  tape.backward(loss, Tensor::full({}, static_cast<Scalar>(weight)),
                [&] { gradient_sums_.start(); });
  report.loss = weight * static_cast<double>(loss.item());
  end_step(report, gradient_sums_, context);
  return report;
}

EvaluationReport PairTrainer::evaluate(const EvaluationProgress& progress) {
  auto score = [&](std::span<const TokenPair> pairs) {
    return shiftgrad::evaluate(model_, spaced(pairs, config_.eval_pairs), ends_, config_.batch_size,
                               peers_, progress);
  };
  return report_of(score(train_), score(validation_));
}

std::map<std::string, StoredTensor> PairTrainer::saved() const {
  std::map<std::string, StoredTensor> tensors{
      {"batches", stored_numbers<int64_t>({state_.batches.epoch(), state_.batches.position()})},
      {train_name, stored(fingerprint(train_))},
      {validation_name, stored(fingerprint(validation_))}};
  save(state_, tensors);
  return tensors;
}

void PairTrainer::resume(std::map<std::string, StoredTensor> saved_state,
                         const std::string& source) try {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : saved()) names.push_back(name);
  check_names(names, saved_state);
  check_pairs(train_name, train_, saved_state);
  check_pairs(validation_name, validation_, saved_state);
  PairTrainerState resumed = state_;
  load(resumed, saved_state);
  auto place = loaded_numbers<int64_t>("batches", saved_state.at("batches"), 2);
  resumed.batches.go_to(place[0], place[1]);
  state_ = std::move(resumed);
} catch (const Error& error) {
  fail(source, ": ", error.what());
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
