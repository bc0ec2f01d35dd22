#include "optim/pair_trainer.h"

#include "core/machine/parallel.h"
#include "nn/models/beam_search.h"
#include "tests/support/mismatch.h"
#include "tests/support/named_parameters.h"
#include "tests/support/refusal.h"
#include "tests/support/reversals.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

std::vector<Scalar> weights_of(const EncoderDecoder& model) {
  std::vector<Scalar> all;
  for (const Parameter& parameter : parameters(model)) {
    std::vector<Scalar> values = parameter.value.values();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

constexpr PairTrainerConfig short_run{.batch_size = 4, .max_iters = 12, .warmup_iters = 2};

}  // namespace

TEST_CASE("what learns and is not listed is refused in the first step") {
  struct Forgetful : EncoderDecoder {
    using EncoderDecoder::EncoderDecoder;
    void visit(Visitor& visitor) const override {
      Visitor all;
      EncoderDecoder::visit(all);
      for (const auto& [name, value, decay] : all.parameters)
        if (name != "output.bias") visitor(name, value, decay);
    }
  };
  std::vector<TokenPair> train = reversals(30, 163);
  Random random;
  Forgetful model(small_translator().config, random);
  PairTrainer trainer(model, train, {}, reversal_ends, short_run);
  CHECK(refusal([&] {
          trainer.step();
        }).starts_with("parameters: the forward pass reads a tensor of shape "));
}

TEST_CASE("a small model learns to turn sequences around, and says so when it writes") {
  std::vector<TokenPair> train = reversals(400, 161), validation = reversals(40, 162);
  EncoderDecoder model = small_translator();
  PairTrainer trainer(model, train, validation, reversal_ends,
                      {.batch_size = 32,
                       .max_iters = 300,
                       .learning_rate = 1e-2,
                       .warmup_iters = 20,
                       .label_smoothing = 0.05});
  double first = trainer.evaluation().validation.nats;
  trainer.run({});
  CHECK(trainer.state().step == 300);
  double last = trainer.evaluation().validation.nats;
  CHECK(first > 1.5);
  CHECK(last < 0.3);
  std::vector<std::vector<int32_t>> sources;
  for (const TokenPair& pair : validation) sources.push_back(pair.source);
  DecodingOptions options{.begin = reversal_ends.begin, .end = reversal_ends.end, .max_length = 10};
  auto beams = beam_search(model, pad(sources), options, {});
  int64_t right = 0;
  for (size_t n = 0; n < validation.size(); ++n)
    right += beams[n].front().tokens == validation[n].target ? 1 : 0;
  CHECK(right >= 36);
}

TEST_CASE("a resumed training has the bits of one that was never interrupted, on any threads") {
  std::vector<TokenPair> train = reversals(30, 163);
  EncoderDecoder whole = small_translator(0.1);
  PairTrainer uninterrupted(whole, train, {}, reversal_ends, short_run);
  uninterrupted.run({});

  EncoderDecoder begun = small_translator(0.1), resumed = small_translator(0.1);
  PairTrainer first(begun, train, {}, reversal_ends, short_run);
  ThreadLimit limit(1);
  for (int n = 0; n < 9; ++n) first.step();
  std::vector<Scalar> weights = weights_of(begun);
  const Scalar* next = weights.data();
  for (const Parameter& parameter : parameters(resumed)) {
    std::copy_n(next, parameter.value.count(), parameter.value.mutable_data());
    next += parameter.value.count();
  }
  PairTrainer second(resumed, train, {}, reversal_ends, short_run);
  second.resume(first.saved(), "test");
  CHECK(second.state().step == 9);
  second.run({});
  CHECK(same_bits(weights_of(resumed), weights_of(whole)));
}

TEST_CASE("a score is the mean over the targets' tokens, whatever the batches") {
  std::vector<TokenPair> pairs = reversals(13, 164);
  EncoderDecoder model = small_translator();
  double sum = 0, tokens = 0;
  for (const TokenPair& pair : pairs) {
    std::span<const TokenPair> alone(&pair, 1);
    Evaluation one = evaluate(model, alone, reversal_ends, 1);
    CHECK(one.tokens == std::ssize(pair.target) + 1);
    sum += one.nats * static_cast<double>(one.tokens);
    tokens += static_cast<double>(one.tokens);
  }
  for (int64_t batch_size : {1, 4, 20})
    CHECK(evaluate(model, pairs, reversal_ends, batch_size).nats ==
          doctest::Approx(sum / tokens).epsilon(10 * exactness));
}

TEST_CASE("pair_trainer: what is refused") {
  std::vector<TokenPair> pairs = reversals(10, 165), others = reversals(10, 166);
  EncoderDecoder model = small_translator();
  auto refused = [&](auto change) {
    PairTrainerConfig config = short_run;
    change(config);
    return refusal([&] { PairTrainer(model, pairs, {}, reversal_ends, config); });
  };
  using Config = PairTrainerConfig;
  CHECK(refused([](Config& c) { c.batch_size = 0; }) ==
        "trainer: batch_size 0, expected at least 1");
  CHECK(refused([](Config& c) { c.label_smoothing = 1; }) ==
        "trainer: label_smoothing 1, expected 0 to less than 1");
  CHECK(refused([](Config& c) { c.eval_interval = 0; }) ==
        "trainer: eval_interval 0, expected at least 1");

  PairTrainer trainer(model, pairs, {}, reversal_ends, short_run);
  auto saved = PairTrainer(model, others, {}, reversal_ends, short_run).saved();
  CHECK(refusal([&] { trainer.resume(saved, "old.file"); }) ==
        "old.file: train_pairs: 72 tokens and lengths, the run's had 82");
  saved = trainer.saved();
  saved.erase("batches");
  CHECK(refusal([&] { trainer.resume(saved, "old.file"); }).starts_with("old.file: "));
  CHECK(trainer.state().step == 0);
}

TEST_CASE("a training that diverges ends with the weights before it") {
  std::vector<TokenPair> pairs = reversals(10, 167);
  EncoderDecoder model = small_translator();
  parameter(model, "output.bias").mutable_data()[2] = std::numeric_limits<Scalar>::infinity();
  std::vector<Scalar> before = weights_of(model);
  PairTrainer trainer(model, pairs, {}, reversal_ends, short_run);
  CHECK(refusal([&] { trainer.step(); }).starts_with("trainer: step 1: loss "));
  CHECK(same_bits(weights_of(model), before));
}
