#include "nn/models/sequence_model.h"

#include "core/tape.h"
#include "nn/models/generate.h"
#include "ops/shape.h"
#include "optim/evaluate.h"
#include "optim/trainer.h"
#include "tests/support/layer_rows.h"
#include "tests/support/models.h"
#include "tests/support/own_model.h"
#include "tests/support/refusal.h"
#include "tests/support/small_mixers.h"
#include "tests/support/small_models.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t vocab_size = 7;

Tensor logits(const SequenceModel& model, const Tokens& tokens) {
  Context context;
  return model(tokens, Memory(), context).logits;
}

LanguageModel model_of(const MixerConfig& mixer) {
  LanguageModelConfig config = small_transformer_xl();
  config.mixer = mixer;
  return new_model(config);
}

}  // namespace

TEST_CASE("sequence model: by default, pieces through a cache equal the whole") {
  OwnModel model = own_model();
  Tokens tokens = random_tokens(3, 9, vocab_size, 1);
  Tensor whole = logits(model, tokens);
  Context context;
  std::unique_ptr<Cache> cache = model.make_cache();
  for (auto [begin, end] : {std::pair{0, 1}, {1, 2}, {2, 6}, {6, 9}})
    CHECK(relative_error(model(part(tokens, begin, end), *cache, context),
                         slice(whole, 1, begin, end)) <= exactness);
}

TEST_CASE("sequence model: a limited cache sees the last tokens only") {
  OwnModel model = own_model();
  Tokens tokens = random_tokens(2, 9, vocab_size, 2);
  Context context;
  for (int64_t limit : {0, 1, 4}) {
    CAPTURE(limit);
    std::unique_ptr<Cache> cache = model.make_cache(limit);
    model(part(tokens, 0, 5), *cache, context);
    model(part(tokens, 5, 7), *cache, context);
    Tensor seen = logits(model, part(tokens, 7 - limit, 9));  // [2, limit + 2, V]
    CHECK(relative_error(model(part(tokens, 7, 9), *cache, context),
                         slice(seen, 1, limit, limit + 2)) <= exactness);
  }
}

TEST_CASE("sequence model: a default cache can be cloned, reordered, and forget") {
  OwnModel model = own_model();
  Tokens tokens = random_tokens(2, 6, vocab_size, 3);
  Tensor whole = logits(model, tokens);
  Context context;
  std::unique_ptr<Cache> cache = model.make_cache();
  model(part(tokens, 0, 4), *cache, context);
  std::unique_ptr<Cache> clone = cache->clone();
  model(random_tokens(2, 3, vocab_size, 4), *cache, context);
  cache->forget_newest(3);
  CHECK(relative_error(model(part(tokens, 4, 6), *cache, context), slice(whole, 1, 4, 6)) <=
        exactness);
  clone->reorder({1, 1, 0});
  Tokens rest{{3, 2}, {}};
  for (int64_t member : {1, 1, 0})
    for (int64_t t : {4, 5}) rest.values.push_back(tokens.values[member * 6 + t]);
  Tensor y = model(rest, *clone, context);
  for (auto [b, member] : {std::pair{0, 1}, {1, 1}, {2, 0}})
    CHECK(relative_error(slice(y, 0, b, b + 1),
                         slice(slice(whole, 0, member, member + 1), 1, 4, 6)) <= exactness);
}

TEST_CASE("sequence model: what a default cache refuses") {
  OwnModel model = own_model(), other = own_model();
  Context context;
  std::unique_ptr<Cache> cache = model.make_cache();
  Tokens tokens = random_tokens(2, 3, vocab_size, 5);
  model(tokens, *cache, context);
  CHECK(refusal([&] { other(tokens, *cache, context); }) ==
        "own: the cache of another module; expected one that make_cache of this module gave");
  CHECK(refusal([&] { model(random_tokens(3, 1, vocab_size, 6), *cache, context); }) ==
        "own: a batch of 3 for a cache of 2 members");
  CHECK(refusal([&] {
          model({{3}, {0, 1, 2}}, *cache, context);
        }) == "own: tokens [3], expected [B, T]");
  CHECK(model(Tokens{{0, 3}, {}}, *model.make_cache(), context).shape() == Dims{0, 3, vocab_size});
  CHECK(refusal([&] { cache->reorder({0, 2}); }) == "reorder: member 2, expected 0 to 1");
  Tape tape;
  CHECK(refusal([&] { model(tokens, *cache, context); }) ==
        "own: a cache is for fixed weights, and a tape records; expected a Tape::Pause");
}

TEST_CASE("sequence model: an output of another shape is refused in the model's name") {
  struct Wrong : OwnModel {
    using OwnModel::OwnModel;
    ModelOutput forward(const Tokens& tokens, const Memory&, Context&) const override {
      if (tokens.shape[1] == 1) return {};
      if (tokens.shape[1] == 2)
        return {.logits = Tensor::zeros({tokens.shape[0], 2, vocab_size}), .block_inputs = {table}};
      return {.logits = Tensor::zeros({tokens.shape[0], vocab_size})};
    }
  };
  Random random;
  Wrong model(vocab_size, random);
  CHECK(refusal([&] { logits(model, random_tokens(2, 3, vocab_size, 7)); }) ==
        "own: logits [2, 7], expected [2, 3, 7]");
  CHECK(refusal([&] { logits(model, random_tokens(2, 1, vocab_size, 7)); }) ==
        "own: returned no logits");
  CHECK(refusal([&] { logits(model, random_tokens(2, 2, vocab_size, 7)); }) ==
        "own: 1 block inputs, expected n_layer 0");
}

TEST_CASE("sequence model: generate continues with the likeliest token after the whole text") {
  OwnModel model = own_model();
  std::vector<int32_t> text = {1, 2, 3};
  std::vector<int32_t> made = generate(model, text, {.length = 12, .sampling = {.temperature = 0}});
  REQUIRE(made.size() == 12);
  for (int32_t token : made) {
    Tensor last = select(select(logits(model, {{1, std::ssize(text)}, text}), 0, 0), 0,
                         std::ssize(text) - 1);  // [V]
    std::vector<Scalar> values = last.values();
    CHECK(token == std::ranges::max_element(values) - values.begin());
    text.push_back(token);
  }
  CHECK(refusal([&] { generate(model, {9}, {.length = 1}); }) ==
        "generate: token 9 in the prompt, expected 0 to 6");
}

TEST_CASE("sequence model: one that sees ahead is refused, and names causal") {
  auto refused = [](const MixerConfig& mixer) {
    LanguageModel model = model_of(mixer);
    CHECK(model.sees_ahead());
    return refusal([&] { require_causal("evaluate", model); });
  };
  const std::string reason =
      "evaluate: language_model: blocks.0 sees later tokens, and so the one to predict; expected "
      "causal true";
  for (const MixerConfig& mixer : small_mixers(8)) {
    CAPTURE(std::string(type_of(mixer)));
    if (sees_both_ways(mixer)) CHECK(refused(with_direction(mixer, false, "test")) == reason);
  }
  CHECK(refused(TransformerXLAttentionConfig{.sight = {.causal = false, .window = Window(4, 1)}}) ==
        reason);
  CHECK(refused(TransformerXLAttentionConfig{.sight = {.causal = false, .chunk = Chunk{2, 1}}}) ==
        reason);
  CHECK(refused(AftConfig{.form = AftForm::simple, .causal = false}) == reason);
}

TEST_CASE("sequence model: one that sees no later token is none of those") {
  auto allowed = [](const MixerConfig& mixer) {
    LanguageModel model = model_of(mixer);
    require_causal("evaluate", model);
    CHECK_FALSE(model.sees_ahead());
  };
  allowed(TransformerXLAttentionConfig{});
  allowed(TransformerXLAttentionConfig{.sight = {.causal = false, .window = Window(4, 0)}});
  allowed(TransformerXLAttentionConfig{.sight = {.causal = false, .chunk = Chunk{1, 3}}});
  allowed(TransformerXLAttentionConfig{.sight = {.window = Window(4, 4)}});
  allowed(AftConfig{.form = AftForm::simple});
  allowed(LocalRnnConfig{.window = 3});
}

TEST_CASE("sequence model: nothing trains, scores or continues a text with one that sees ahead") {
  LanguageModel model = model_of(TransformerXLAttentionConfig{.sight = {.causal = false}});
  std::vector<int32_t> text = random_text(200, 7);
  auto begins = [](const std::string& reason, const char* who) {
    return reason.starts_with(who) && reason.ends_with("expected causal true");
  };
  CHECK(begins(refusal([&] { Trainer(model, text, {}, {}); }), "trainer: "));
  for (EvaluationMode mode :
       {EvaluationMode::memory, EvaluationMode::chunks, EvaluationMode::sliding})
    CHECK(begins(refusal([&] { evaluate(model, text, {.mode = mode}); }), "evaluate: "));
  CHECK(begins(refusal([&] { generate(model, std::vector{1, 2}, {.length = 3}); }), "generate: "));
  CHECK(begins(refusal([&] { PrefilledPrompt(model, std::vector{1, 2}, {}); }), "generate: "));
}
