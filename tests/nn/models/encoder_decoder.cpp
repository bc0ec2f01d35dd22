// Encoder-decoders over every mixer against their formula: logits, loss, gradients, padding, and
// targets fed in pieces.

#include "nn/models/encoder_decoder.h"

#include "core/machine/allocator.h"
#include "nn/state_dict.h"
#include "ops/concat.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "tests/support/layer_gradients.h"
#include "tests/support/mismatch.h"
#include "tests/support/models.h"
#include "tests/support/refusal.h"
#include "tests/support/translators.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int32_t ignored = -1;
constexpr CrossEntropyOptions loss_options{.label_smoothing = 0.1, .ignored = ignored};

/// Pairs of sequences of unequal length, and what is to be predicted.
struct PairExample {
  Padded<Tokens> source, targets;
  Tokens next;  // ignored where targets are filled up

  explicit PairExample(uint64_t seed, int32_t fill = 0)
      : source(pad(random_sequences(3, 5, 6, seed), fill)) {
    auto sequences = random_sequences(3, 4, 6, seed + 1);
    // No mask: nothing sees what is behind it.
    targets.values = pad(sequences, fill).values;
    for (auto& sequence : sequences)
      for (int32_t& token : sequence) token = 5 - token;
    next = pad(sequences, ignored).values;
  }
};

/// The loss, the logits, and with a gradient of all parameters.
struct PairOutcome {
  Tensor logits, loss;
  std::vector<Tensor> gradients;

  PairOutcome(const EncoderDecoder& model, const PairExample& example) {
    for (const Parameter& parameter : parameters(model)) parameter.value.zero_gradient();
    Context context;
    Tape tape;
    logits = model(example.source, example.targets, context);
    loss = cross_entropy(logits, example.next, loss_options);
    tape.backward(loss);
    for (const Parameter& parameter : parameters(model)) {
      Tensor gradient = parameter.value.gradient();
      gradients.push_back(gradient.defined() ? gradient.detach()
                                             : Tensor::zeros(parameter.value.shape()));
    }
  }
};

/// The first `length` tokens of batch member b of [B, T, …].
Tensor beginning(const Tensor& x, int64_t b, int64_t length) {
  return slice(slice(x, 0, b, b + 1), 1, 0, length);
}

}  // namespace

TEST_CASE("an encoder-decoder is its formula, gradients of the loss included") {
  for (const TranslatorRow& row : translator_rows()) {
    CAPTURE(row.json);
    RandomValues random(101);
    EncoderDecoder model = row.make(random);
    PairExample example(102);
    PairOutcome outcome(model, example);
    Weights weights(model);
    Values expected = oracle(row.config, weights, example.source, example.targets);
    CHECK(relative_error(outcome.logits, expected) <= exactness);
    auto expected_loss = [&] {
      return cross_entropy_oracle(oracle(row.config, weights, example.source, example.targets),
                                  example.next, loss_options.label_smoothing, ignored);
    };
    CHECK(std::abs(static_cast<double>(outcome.loss.item()) - expected_loss()) <=
          exactness * expected_loss());
    GradientCheck check;
    size_t n = 0;
    for (const Parameter& parameter : parameters(model))
      check.expect(parameter.name, Values(outcome.gradients[n++]),
                   differences(weights.all[parameter.name], expected_loss));
  }
}

TEST_CASE("padding of a target is hidden too, wherever it is") {
  for (const TranslatorRow& row : translator_rows()) {
    if (std::holds_alternative<LocalRnnConfig>(row.config.decoder_mixer)) continue;
    CAPTURE(row.json);
    RandomValues random(103);
    EncoderDecoder model = row.make(random);
    PairExample example(104);
    Mask mask{example.targets.values.shape, {0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}};
    example.targets.mask = std::make_shared<const Mask>(mask);
    Context context;
    Tensor logits = model(example.source, example.targets, context);
    Values expected = oracle(row.config, Weights(model), example.source, example.targets);
    CHECK(relative_error(logits, expected) <= exactness);
  }
}

TEST_CASE("the content of padding changes no bit, neither of logits nor of gradients") {
  for (const TranslatorRow& row : translator_rows()) {
    CAPTURE(row.json);
    RandomValues random(105);
    EncoderDecoder model = row.make(random);
    PairExample zeros(106), others(106, 4);
    REQUIRE(zeros.source.values.values != others.source.values.values);
    REQUIRE(zeros.targets.values.values != others.targets.values.values);
    PairOutcome a(model, zeros), b(model, others);
    CHECK(same_bits(a.loss, b.loss));
    for (int64_t member = 0; member < 3; ++member) {
      int64_t length = std::ssize(random_sequences(3, 4, 6, 107)[static_cast<size_t>(member)]);
      CHECK(same_bits(beginning(a.logits, member, length), beginning(b.logits, member, length)));
    }
    for (size_t n = 0; n < a.gradients.size(); ++n) {
      CAPTURE(parameters(model)[n].name);
      CHECK(same_bits(a.gradients[n], b.gradients[n]));
    }
  }
}

TEST_CASE("the amount of padding changes nothing, and neither do other members of a batch") {
  for (const TranslatorRow& row : translator_rows()) {
    CAPTURE(row.json);
    RandomValues random(108);
    EncoderDecoder model = row.make(random);
    auto sources = random_sequences(3, 5, 6, 109), targets = random_sequences(3, 4, 6, 110);
    auto wide_sources = sources, wide_targets = targets;
    wide_sources.push_back(random_sequences(1, 9, 6, 111)[0]);
    wide_targets.push_back(random_sequences(1, 8, 6, 112)[0]);
    Context context;
    Tensor wide = model(pad(wide_sources), {pad(wide_targets).values}, context);
    for (size_t b = 0; b < sources.size(); ++b) {
      Tensor alone = model(pad({sources[b]}), pad({targets[b]}), context);
      Tensor among = beginning(wide, static_cast<int64_t>(b), std::ssize(targets[b]));
      CHECK(relative_error(among, alone) <= exactness);
    }
  }
}

TEST_CASE("targets fed in pieces, several for a source, reordered and cut, are those of one pass") {
  for (const TranslatorRow& row : translator_rows()) {
    CAPTURE(row.json);
    RandomValues random(113);
    EncoderDecoder model = row.make(random);
    Padded<Tokens> source = pad(random_sequences(3, 5, 6, 114));
    Context context;
    std::unique_ptr<Cache> cache = model.make_cache(model.encode(source, context));
    // Two rows for each source; rows 2 and 3 change places, then source 1 and its rows leave.
    Tokens before = random_tokens(6, 3, 6, 115), after = random_tokens(4, 4, 6, 116);
    model.decode(part(before, 0, 1), *cache, context);
    model.decode(part(before, 1, 3), *cache, context);
    cache->reorder({0, 0, 3, 2, 4, 5});
    std::unique_ptr<Cache> copy = cache->clone();
    cache->reorder({1, 0, 4, 5});
    Tensor first = model.decode(part(after, 0, 3), *cache, context);
    Tensor last = model.decode(part(after, 3, 4), *cache, context);
    Tensor got = concat({first, last}, 1);  // [4, 4, V]
    CHECK(model.decode(random_tokens(6, 1, 6, 1), *copy, context).size(0) == 6);

    const int64_t histories[] = {0, 0, 4, 5}, sources[] = {0, 0, 2, 2};
    auto source_sequences = random_sequences(3, 5, 6, 114);
    for (size_t n = 0; n < 4; ++n) {
      auto row_of = [](const Tokens& tokens, int64_t r) {
        auto begin = tokens.values.begin() + r * tokens.shape[1];
        return std::vector<int32_t>(begin, begin + tokens.shape[1]);
      };
      std::vector<int32_t> target = row_of(before, histories[n]);
      std::vector<int32_t> rest = row_of(after, static_cast<int64_t>(n));
      target.insert(target.end(), rest.begin(), rest.end());
      Tensor whole =
          model(pad({source_sequences[static_cast<size_t>(sources[n])]}), pad({target}), context);
      Tensor member = slice(got, 0, static_cast<int64_t>(n), static_cast<int64_t>(n) + 1);
      CHECK(relative_error(member, slice(whole, 1, 3, 7)) <= exactness);
    }
  }
}

TEST_CASE("rows of different sources may change places, and there may be none") {
  for (const TranslatorRow& row : translator_rows()) {
    CAPTURE(row.json);
    RandomValues random(119);
    EncoderDecoder model = row.make(random);
    Context context;
    std::unique_ptr<Cache> all =
        model.make_cache(model.encode(pad(random_sequences(2, 5, 6, 120)), context));
    Tokens before = random_tokens(4, 2, 6, 121), after = random_tokens(4, 1, 6, 122);
    model.decode(before, *all, context);
    std::unique_ptr<Cache> mixed = all->clone();
    Tensor whole = model.decode(after, *all, context);
    for (const std::vector<int64_t>& members :
         {std::vector<int64_t>{0, 2}, {0, 2, 1, 3}, {3, 2, 1, 0}, {2}, {0, 1, 1, 2, 3}}) {
      std::unique_ptr<Cache> cache = mixed->clone();
      cache->reorder(members);
      Tokens next{{std::ssize(members), 1}, {}};
      for (int64_t member : members) next.values.push_back(after.values[member]);
      CHECK(relative_error(model.decode(next, *cache, context), members_of(whole, members)) <=
            exactness);
    }
    std::unique_ptr<Cache> none = model.make_cache(model.encode({{{0, 5}, {}}}, context));
    CHECK(model.decode({{0, 1}, {}}, *none, context).shape()[0] == 0);
  }
}

TEST_CASE("an encoder-decoder has as many parameters as its closed form says") {
  for (const TranslatorRow& row : translator_rows()) {
    CAPTURE(row.json);
    RandomValues random(117);
    CHECK(parameter_count(row.make(random)) == count(row.config));
  }
}

TEST_CASE("a shared embedding is one parameter, under the source's name") {
  RandomValues random(118);
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters(paper_transformer().make(random)))
    names.push_back(parameter.name);
  auto times = [&](const std::string& name) { return std::ranges::count(names, name); };
  CHECK(times("source.embedding.weight") == 1);
  CHECK(times("decoder.1.cross_attention.qkv.weight") == 1);
  for (const char* name : {"target.embedding.weight", "output.weight", "encoder_norm.weight"})
    CHECK(times(name) == 0);
}

TEST_CASE("a model made to be loaded holds what the file has, and no more is made for it") {
  EncoderDecoderConfig config;
  config.source_vocab_size = config.target_vocab_size = 600;
  config.d_model = 8;
  config.n_encoder_layer = config.n_decoder_layer = config.n_head = 2;
  config.d_inner = 12;
  auto load = [](const EncoderDecoderConfig& from, const auto& weights) {
    return loaded_model(weights, "file", [&](Init init) { return EncoderDecoder(from, init); });
  };
  for (bool share : {false, true}) {
    config.share_embedding = config.tie_embedding = share;
    Random random{.seed = 5};
    EncoderDecoder model(config, random);
    auto weights = state_dict(model);
    CHECK(state_dict(load(config, weights)) == weights);
    for (int64_t EncoderDecoderConfig::*size :
         {&EncoderDecoderConfig::d_model, &EncoderDecoderConfig::d_inner,
          &EncoderDecoderConfig::n_encoder_layer, &EncoderDecoderConfig::n_decoder_layer}) {
      EncoderDecoderConfig damaged = config;
      damaged.*size *= 5000;
      reset_peak();
      int64_t before = allocator_counters().bytes_in_use;
      CHECK(
          refusal([&] { load(damaged, weights); }).starts_with("file: the config asks for more "));
      CHECK(allocator_counters().peak_bytes_in_use - before < 30'000'000);
    }
  }
}

TEST_CASE("a config goes through JSON and back") {
  for (const TranslatorRow& row : translator_rows()) {
    std::string written = config_to_json(row.config);
    CAPTURE(written);
    CHECK(config_to_json(config_from_json<EncoderDecoderConfig>(written)) == written);
    CHECK(written.find("causal") == std::string::npos);
  }
}

TEST_CASE("alignments are the cross-attention's probabilities, one for each block") {
  RandomValues random(119);
  EncoderDecoder model = paper_transformer().make(random);
  PairExample example(120);
  Context context;
  Encoded source = model.encode(example.source, context);
  std::vector<Tensor> alignments;
  Tensor recorded = model.decode(example.targets, source, context,
                                 [&](const Tensor& p) { alignments.push_back(p); });
  CHECK(relative_error(recorded, model.decode(example.targets, source, context)) <= exactness);
  REQUIRE(alignments.size() == 2);
  for (const Tensor& p : alignments) {
    REQUIRE(p.shape() == Dims{3, 2, 4, 5});
    Values values(p);
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t i = 0; i < 4; ++i) {
          double sum = 0;
          for (int64_t j = 0; j < 5; ++j) {
            sum += values(b, h, i, j);
            if (example.source.mask->values[static_cast<size_t>(5 * b + j)])
              CHECK(values(b, h, i, j) == 0);
          }
          CHECK(sum == doctest::Approx(1).epsilon(1e-5));
        }
  }
}

TEST_CASE("dropout in training is repeatable from the random numbers, and goes on") {
  TranslatorRow row = paper_transformer();
  row.config.dropout = 0.3;
  row.config.attention_dropout = 0.2;
  RandomValues random(121);
  EncoderDecoder model = row.make(random);
  PairExample example(122);
  auto run = [&](Context& context) { return model(example.source, example.targets, context); };
  Context first{.training = true, .random = {.seed = 5}}, second = first, evaluation;
  Tensor once = run(first);
  CHECK(same_bits(once, run(second)));
  CHECK(first.random == second.random);
  CHECK_FALSE(same_bits(once, run(first)));
  CHECK_FALSE(same_bits(once, run(evaluation)));
}

TEST_CASE("what makes no encoder-decoder is refused by name") {
  EncoderDecoderConfig good = paper_transformer().config;
  auto refused = [&](auto change) {
    EncoderDecoderConfig config = good;
    change(config);
    Random random;
    return refusal([&] { EncoderDecoder(config, random); });
  };
  using Config = EncoderDecoderConfig;
  CHECK(refused([](Config& c) { c.n_encoder_layer = 0; }) ==
        "encoder_decoder: n_encoder_layer 0, expected at least 1");
  CHECK(refused([](Config& c) { c.target_vocab_size = -1; }) ==
        "encoder_decoder: target_vocab_size -1, expected at least 1");
  CHECK(refused([](Config& c) { c.target_vocab_size = 7; }) ==
        "encoder_decoder: share_embedding with vocabularies of 6 and 7, expected one size");
  CHECK(refusal([] {
          config_from_json<EncoderDecoderConfig>(
              R"({"encoder_mixer": {"type": "aft"}, "decoder_mixer": {"type": "aft"},
                  "decoder_position": "learnt"})");
        }) ==
        "encoder_decoder: config key \"decoder_position\" is \"learnt\", expected none, sinusoid "
        "or learned");
  CHECK(refused([](Config& c) { c.encoder_max_len = 4; }) ==
        "encoder_decoder: encoder: max_len without learned positions");
  CHECK(refused([](Config& c) { c.encoder_mixer = LocalRnnConfig{.window = 2}; }) ==
        "encoder_decoder: local_rnn sees the past alone, expected a mixer that sees both ways");
  CHECK(refusal([&] {
          TranslatorRow(R"("aft", "form": "simple", "causal": true)", R"("multi_head_attention")");
        }) == "encoder_decoder: the mixer takes causal from the model");

  RandomValues values(123);
  EncoderDecoder model = paper_transformer().make(values);
  Context context;
  Encoded source = model.encode(pad({{1, 2}, {3}}), context);
  CHECK(refusal([&] { model.decode(pad({std::vector{1}}), source, context); }) ==
        "encoder_decoder: 1 targets for 2 sources");
  CHECK(refusal([&] { model.encode(pad({std::vector{6}}), context); }) ==
        "embedding: token 6, expected 0 to 5");
  std::unique_ptr<Cache> cache = model.make_cache(source);
  CHECK(refusal([&] { model.decode(random_tokens(3, 1, 6, 1), *cache, context); }) ==
        "encoder_decoder_block: 3 rows for 2 sources, expected a multiple");
  context.key_padding_mask = source.padding;
  CHECK(refusal([&] { model.encode(pad({std::vector{1}}), context); }) ==
        "encoder_decoder: takes no key_padding_mask");
}

TEST_CASE("positions beyond max_len are refused on either side") {
  RandomValues random(124);
  EncoderDecoder model = TranslatorRow(R"("aft", "form": "simple")", R"("aft", "form": "simple")",
                                       R"("encoder_position": "learned", "encoder_max_len": 4,
                       "decoder_position": "learned", "decoder_max_len": 3)")
                             .make(random);
  CHECK(model.longest_source() == 4);
  CHECK(model.longest_target() == 3);
  Context context;
  CHECK(refusal([&] {
          model.encode(pad({{1, 2, 3, 4, 5}}), context);
        }) == "encoder_decoder: encoder: 5 positions are beyond max_len 4");
  std::unique_ptr<Cache> cache = model.make_cache(model.encode(pad({std::vector{1}}), context));
  model.decode(random_tokens(1, 3, 6, 1), *cache, context);
  CHECK(refusal([&] { model.decode(random_tokens(1, 1, 6, 1), *cache, context); }) ==
        "encoder_decoder: decoder: 4 positions are beyond max_len 3");
}
