#include "examples/studies/wrong_on_purpose/mistakes.h"

#include <doctest/doctest.h>

#include "ops/concat.h"
#include "ops/shape.h"
#include "tests/support/layer_rows.h"
#include "tests/support/named_parameters.h"

using namespace shiftgrad;
using namespace shiftgrad::test;
using wrong_on_purpose::Exhibit;
using wrong_on_purpose::Form;
using wrong_on_purpose::Mistake;

namespace {

constexpr int64_t mixer_width = 8, mixer_heads = 2, tokens_mixed = 6;

/// A mixer of the exhibit, with the same random parameters whatever its mistake.
std::unique_ptr<Layer> mixer_of(const Exhibit& exhibit) {
  Random start;
  RandomValues random(71);
  auto mixer = wrong_on_purpose::make_mixer(
      exhibit,
      {.d_model = mixer_width, .n_head = mixer_heads, .max_len = tokens_mixed, .max_distance = 2},
      start);
  randomize(*mixer, random);
  return mixer;
}

Tensor tokens_to_mix() { return RandomValues(72).tensor({2, tokens_mixed, mixer_width}); }

/// The library's layer with the mixer's parameters. Those that only the layer has are 0.
template <class Config>
Tensor of_the_library(const Config& config, const Layer& mixer, const char* table = "",
                      const char* future = "", const char* content_bias = "content_bias") {
  Random start;
  auto layer = make_layer(config, start);
  for (const Parameter& entry : parameters(layer)) assign(layer, entry.name, 0);
  assign_shared(layer, mixer);
  Weights weights(mixer);
  for (auto [name, there] : {std::pair{"table", table}, std::pair{"future", future},
                             std::pair{"content_bias", content_bias}}) {
    if (!*there || !weights[name].defined()) continue;
    Tensor value = parameter(mixer, name);
    Tensor target = parameter(layer, there);
    if (target.shape() != value.shape()) value = transpose(value, 0, 1);  // [H, rows, D]
    assign(layer, there, Values(value));
  }
  return layer(tokens_to_mix());
}

Tensor of_the_library(Form form, const Layer& mixer) {
  switch (form) {
    case Form::transformer_xl: {
      // The layer has no biases of projections.
      assign(mixer, "qkv.bias", 0);
      assign(mixer, "output.bias", 0);
      return of_the_library(Sized{TransformerXLAttentionConfig{}, {mixer_width, mixer_heads}},
                            mixer);
    }
    case Form::labml:
      assign(mixer, "qkv.bias", 0);
      return of_the_library(Sized{RelativeMultiHeadAttentionConfig{.max_positions = tokens_mixed},
                                  {mixer_width, mixer_heads}},
                            mixer, "key_pos_embeddings", "", "query_pos_bias");
    case Form::shaw:
      return of_the_library(Sized{ShawAttentionConfig{.max_distance = 2, .value_positions = false},
                                  {mixer_width, mixer_heads}},
                            mixer, "key_distance_embeddings");
    case Form::two_way:
      return of_the_library(
          Sized{RelativeGlobalAttentionConfig{
                    .max_seq = tokens_mixed, .causal = false, .relative_bias = false},
                {mixer_width, mixer_heads}},
          mixer, "past_embeddings", "future_embeddings");
    default:
      return of_the_library(Sized{AftConfig{.max_len = tokens_mixed}, {mixer_width}}, mixer);
  }
}

/// The outputs for half of the tokens at once and then one by one.
Tensor fed_in_order(const Layer& mixer, const Tensor& x) {
  Context context;
  auto cache = mixer.make_cache();
  std::vector<Tensor> y{mixer(slice(x, 1, 0, tokens_mixed / 2), *cache, context)};
  for (int64_t t = tokens_mixed / 2; t < tokens_mixed; ++t)
    y.push_back(mixer(slice(x, 1, t, t + 1), *cache, context));
  return concat(y, 1);
}

/// Whether the outputs before the last token depend on it.
bool sees_the_future(const Layer& mixer) {
  Tensor x = tokens_to_mix();
  auto before_the_last = [&] { return Values(slice(mixer(x), 1, 0, tokens_mixed - 1)); };
  Values before = before_the_last();
  Tensor last = slice(x, 1, tokens_mixed - 1, tokens_mixed);
  x = concat({slice(x, 1, 0, tokens_mixed - 1), last * Scalar(-1)}, 1);
  return relative_error(before_the_last().tensor(), before) > exactness;
}

/// What a mistake changes.
struct Symptoms {
  bool in_one_pass, sees_the_future, in_pieces;
};

Symptoms symptoms_of(Mistake mistake) {
  switch (mistake) {
    case Mistake::none:
    case Mistake::maximum_of_all:
    case Mistake::unnormed_feed_forward:  // of the block around the mixer
      return {false, false, false};
    case Mistake::unmasked_prompt:
    case Mistake::table_without_memory:
      return {false, false, true};
    case Mistake::softmax_over_heads_1e9:
    case Mistake::softmax_over_queries:
    case Mistake::no_mask:
      return {true, true, true};
    default:
      return {true, false, false};
  }
}

}  // namespace

TEST_CASE("each form without a mistake is the library's layer") {
  for (const Exhibit& exhibit : wrong_on_purpose::exhibits) {
    if (exhibit.mistake != Mistake::none) continue;
    CAPTURE(name_of(exhibit.form));
    auto mixer = mixer_of(exhibit);
    Values right(of_the_library(exhibit.form, *mixer));
    CHECK(relative_error((*mixer)(tokens_to_mix()), right) <= exactness);
  }
}

TEST_CASE("each mistake shows where it should, and only there") {
  for (const Exhibit& exhibit : wrong_on_purpose::exhibits) {
    CAPTURE(name_of(exhibit.form));
    CAPTURE(exhibit.name);
    auto mixer = mixer_of(exhibit);
    Tensor x = tokens_to_mix(), y = (*mixer)(x);
    Values right((*mixer_of({exhibit.form, Mistake::none, ""}))(x));
    Symptoms symptoms = symptoms_of(exhibit.mistake);
    CHECK((relative_error(y, right) > 1e-2) == symptoms.in_one_pass);
    CHECK((relative_error(y, right) > exactness) == symptoms.in_one_pass);
    if (exhibit.form == Form::two_way) continue;
    CHECK(sees_the_future(*mixer) == symptoms.sees_the_future);
    CHECK((relative_error(fed_in_order(*mixer, x), Values(y)) > exactness) == symptoms.in_pieces);
  }
}

TEST_CASE("a feed-forward net without a norm: y = h + f(h), where h = x + mixer(norm(x))") {
  LanguageModelConfig config{.vocab_size = 7,
                             .d_model = mixer_width,
                             .n_layer = 1,
                             .n_head = mixer_heads,
                             .d_inner = 4 * mixer_width};
  auto model_of = [&](Mistake mistake) {
    Random start;
    RandomValues random(73);
    LanguageModel model = wrong_on_purpose::make_model({Form::transformer_xl, mistake, ""}, config,
                                                       tokens_mixed, start);
    randomize(*model.blocks.layers[0], random);
    return model;
  };
  LanguageModel right = model_of(Mistake::none), wrong = model_of(Mistake::unnormed_feed_forward);
  CHECK(parameters(wrong).size() + 2 == parameters(right).size());

  const Block& block = *right.blocks.layers[0];
  Tensor x = tokens_to_mix();
  Tensor h = x + (*block.parts[0].function)(block.parts[0].norm(x));
  const Block::Part& feed_forward = block.parts[1];
  auto of_block = [&](const LanguageModel& model) { return (*model.blocks.layers[0])(x); };
  Values normed(h + (*feed_forward.function)(feed_forward.norm(h)));
  CHECK(relative_error(of_block(right), normed) <= exactness);
  CHECK(relative_error(of_block(wrong), Values(h + (*feed_forward.function)(h))) <= exactness);
  CHECK(relative_error(of_block(wrong), normed) > 1e-2);
}
