#include "optim/pair_trainer.h"

#include <algorithm>

#include "core/checked.h"
#include "core/tape.h"
#include "nn/models/config.h"
#include "ops/loss.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The fingerprint of all sequences, each after its length.
Fingerprint fingerprint_of(std::span<const TokenPair> pairs) {
  std::vector<int32_t> tokens;
  for (const TokenPair& pair : pairs)
    for (const auto* side : {&pair.source, &pair.target}) {
      tokens.push_back(static_cast<int32_t>(side->size()));
      tokens.insert(tokens.end(), side->begin(), side->end());
    }
  Fingerprint result = fingerprint(tokens);
  result.unit = "tokens and lengths";
  return result;
}

/// Returns `count` of the pairs, evenly spaced; all of them if `count` is 0 or greater than their
/// number.
std::vector<TokenPair> spaced(std::span<const TokenPair> pairs, int64_t count) {
  auto all = std::ssize(pairs);
  if (count == 0 || count > all) count = all;
  std::vector<TokenPair> result;
  for (int64_t n = 0; n < count; ++n) result.push_back(pairs[n * all / count]);
  return result;
}

}  // namespace

void PairTrainerConfig::check() const { check_fields("trainer", *this); }

Evaluation evaluate(const EncoderDecoder& model, std::span<const TokenPair> pairs,
                    const TargetEnds& ends, int64_t batch_size, ProcessGroup& peers,
                    const EvaluationProgress& progress) {
  Tape::Pause constant;
  Stopwatch watch;
  std::vector<std::vector<int64_t>> batches =
      batches_by_length(std::ssize(pairs), batch_size, shorter_of(pairs));
  double nats = 0;
  int64_t tokens = 0;
  Context context;
  Interval own = own_rows(peers, std::ssize(batches));
  for (int64_t n = own.begin; n < own.end; ++n) {
    PairBatch batch = make_batch(pairs, batches[n], ends);
    Tensor logits = model(batch.source, batch.inputs, context);  // [B, T, V]
    Tensor loss = cross_entropy(logits, batch.next, {.ignored = PairBatch::filled_up});
    nats += static_cast<double>(loss.item()) * static_cast<double>(batch.tokens);
    tokens += batch.tokens;
    if (progress) progress(n + 1 - own.begin, std::ssize(batches));
  }
  return mean_over(peers, nats, tokens, watch);
}

PairTrainer::PairTrainer(EncoderDecoder& model, const ViewOrOwned<TokenPair>& train,
                         const ViewOrOwned<TokenPair>& validation, const TargetEnds& ends,
                         const PairTrainerConfig& config, ProcessGroup& peers)
    : TrainingLoop(loop_config(config, model.config.d_model), parameters(model),
                   Optimizer(parameters(model), adam_of<AdamW>(checked(config))),
                   {{"train_pairs", fingerprint_of(train)},
                    {"validation_pairs", fingerprint_of(validation.or_else(train))}},
                   peers),
      model_(model),
      train_(train),
      validation_(validation.or_else(train)),
      ends_(ends),
      config_(config),
      batches_(std::ssize(train.view()), config.batch_size, config.seed, shorter_of(train)) {}

void PairTrainer::note(PeerConsistency& common) const {
  PairTrainerConfig(config_).fields(common);
  const EncoderDecoderConfig& config = model_.config;
  common.model(config_to_json(config), config.dropout, config.attention_dropout, model_);
}

int64_t PairTrainer::learn(Context& context) {
  PairBatch batch = make_batch(train_, batches_.next(), ends_);
  Interval own = own_rows(peers_, batch.count());
  context.first_member = own.begin;
  // A peer without a row of a small batch takes one with weight 0, since all must make the same
  // sums.
  PairBatch part = rows(batch, own.begin, std::max(own.end, own.begin + 1));
  double weight =
      own.size() == 0 ? 0 : static_cast<double>(part.tokens) / static_cast<double>(batch.tokens);
  Tape tape;
  Tensor logits = model_(part.source, part.inputs, context);  // [B, T, V]
  Tensor loss =
      cross_entropy(logits, part.next,
                    {.label_smoothing = config_.label_smoothing, .ignored = PairBatch::filled_up});
  backward(tape, loss, loss, weight);
  return batch.tokens;
}

std::pair<Evaluation, Evaluation> PairTrainer::scores(const EvaluationProgress& progress) const {
  auto score = [&](std::span<const TokenPair> pairs) {
    return shiftgrad::evaluate(model_, spaced(pairs, config_.eval_pairs), ends_, config_.batch_size,
                               peers_, progress);
  };
  Evaluation train = score(train_);
  return {train, score(validation_)};
}

void PairTrainer::visit_state(SavedState& saved) { batches_.visit(saved); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
