// Models whose mixers are a case of another variant, converted to it: the same function in all
// ways to run it, and a model that can be trained.

#include "nn/models/convert.h"

#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/evaluate.h"
#include "tests/support/layer_gradients.h"
#include "tests/support/mismatch.h"
#include "tests/support/models.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// A model, the function that converts it, and the config of the mixer that this makes.
struct Conversion {
  ModelRow row;
  LanguageModel (*convert)(const LanguageModel&);
  std::string mixer;
};

ModelRow with_mixer(const std::string& mixer, const std::string& more = "") {
  return ModelRow(R"("mixer": {"type": )" + mixer + "}" + (more.empty() ? "" : ", " + more));
}

Conversion to_xl(const ModelRow& row, const std::string& window, const std::string& biases,
                 int64_t rows) {
  return {row, to_transformer_xl,
          text(R"({"type":"transformer_xl_attention",)", window, biases,
               R"("positions":"learned","max_positions":)", rows, '}')};
}

Conversion to_full(const ModelRow& row) {
  return {row, to_aft_full,
          R"({"type":"aft","form":"full","max_len":12,"causal":true,"bias":true})"};
}

std::vector<Conversion> conversions() {
  std::string labml = R"("relative_multi_head_attention", "max_positions": )";
  std::string music = R"("relative_global_attention", "max_seq": )";
  std::string shaw = R"("shaw_attention", "value_positions": false, "max_distance": )";
  std::string aft = R"("aft", "max_len": 12, )";
  std::string u = R"("content_bias":false,)", s = R"("position_bias":false,)";
  std::string biases = R"("projection_bias":true,)";
  return {
      to_xl(with_mixer(labml + "8"), R"("window":9,)", biases, 9),
      to_xl(with_mixer(labml + "20", R"("tie_embedding": true, "norm_first": false)"),
            R"("window":21,)", biases, 21),
      to_xl(with_mixer(music + "5"), R"("window":5,)", u + biases, 5),
      to_xl(with_mixer(music + R"(20, "relative_bias": false)", R"("position": "sinusoid")"),
            R"("window":20,)", u + s + biases, 20),
      to_xl(with_mixer(shaw + "0"), "", u + s + biases, 1),
      to_xl(with_mixer(shaw + R"(3, "bias": false)", R"("final_norm": false)"), "", u + s, 4),
      to_xl(with_mixer(shaw + R"(2, "key_positions": false)"), "", u + s + biases, 1),
      to_xl(with_mixer(R"("multi_head_attention", "bias": false)"), "", u + s, 1),
      to_xl(with_mixer(R"("multi_head_attention", "position": "alibi", "window": 5)"),
            R"("window":5,)", u + biases, 5),
      to_full(with_mixer(aft + R"("form": "local", "window": 3)")),
      to_full(with_mixer(aft + R"("form": "local", "window": 3, "factor_rank": 2)",
                         R"("position": "sinusoid")")),
      to_full(with_mixer(aft + R"("factor_rank": 2)")),
  };
}

/// A model of the row and what it is converted to.
struct Both {
  LanguageModel model, converted;

  explicit Both(const Conversion& conversion) : Both(conversion, RandomValues(51)) {}

 private:
  Both(const Conversion& conversion, RandomValues random)
      : model(conversion.row.make(random)), converted(conversion.convert(model)) {}
};

}  // namespace

TEST_CASE("a converted model has the same logits and block inputs, behind its memory too") {
  for (const Conversion& conversion : conversions())
    for (auto [T, M] : {std::pair{5, 0}, {3, 4}, {1, 8}}) {
      CAPTURE(conversion.row.json);
      Both both(conversion);
      Tokens past = random_tokens(2, std::max(M, 1), 7, 52), tokens = random_tokens(2, T, 7, 53);
      Context context;
      std::vector<ModelOutput> outputs;
      for (const LanguageModel* model : {&both.model, &both.converted}) {
        Memory memory = (*model)(past, {}, context).block_inputs;
        outputs.push_back((*model)(tokens, M > 0 ? memory : Memory(), context));
      }
      CHECK(relative_error(outputs[1].logits, outputs[0].logits) <= exactness);
      REQUIRE(outputs[0].block_inputs.size() == outputs[1].block_inputs.size());
      for (size_t l = 0; l < outputs[0].block_inputs.size(); ++l)
        CHECK(relative_error(outputs[1].block_inputs[l], outputs[0].block_inputs[l]) <= exactness);
    }
}

TEST_CASE("a converted model has the same logits in a cache, however long and however bounded") {
  for (const Conversion& conversion : conversions())
    for (int64_t limit : {unlimited, int64_t{4}, int64_t{0}}) {
      CAPTURE(conversion.row.json);
      CAPTURE(limit);
      Both both(conversion);
      int64_t length = std::min<int64_t>(30, both.model.limits().length);
      Tokens tokens = random_tokens(2, length, 7, 55);
      auto cache = both.model.make_cache(limit), converted = both.converted.make_cache(limit);
      Context context;
      for (int64_t t = 0; t < length; ++t) {
        Tokens one = part(tokens, t, t + 1);
        Tensor expected = both.model.step(one, *cache, context);
        CHECK(relative_error(both.converted.step(one, *converted, context), expected) <= exactness);
      }
    }
}

TEST_CASE("a converted model gives each token of a text the same log probability") {
  std::vector<int32_t> tokens = random_tokens(1, 50, 7, 56).values;
  for (const Conversion& conversion : conversions())
    for (EvaluationMode mode : {EvaluationMode::memory, EvaluationMode::chunks}) {
      CAPTURE(conversion.row.json);
      Both both(conversion);
      if (mode == EvaluationMode::memory && both.model.limits().length < unlimited) continue;
      EvaluationConfig config{.mode = mode, .tgt_len = 4, .batch_size = 1};
      if (mode == EvaluationMode::memory) config.mem_len = 5;
      std::vector<double> expected, losses;
      evaluate(both.model, tokens, config, &expected);
      evaluate(both.converted, tokens, config, &losses);
      REQUIRE(losses.size() == expected.size());
      for (size_t n = 0; n < losses.size(); ++n)
        CHECK(std::abs(losses[n] - expected[n]) <= exactness * expected[n]);
    }
}

TEST_CASE("a converted model learns: with dropout, what it shares has the same gradients") {
  for (Conversion conversion : conversions()) {
    CAPTURE(conversion.row.json);
    conversion.row.config.dropout = conversion.row.config.attention_dropout = 0.2;
    Both both(conversion);
    Tokens tokens = random_tokens(2, 6, 7, 57), targets = random_tokens(2, 6, 7, 58);
    for (const LanguageModel* model : {&both.model, &both.converted}) {
      Context context{.training = true};
      Tape tape;
      tape.backward(cross_entropy((*model)(tokens, {}, context).logits, targets));
    }
    std::map<std::string, Tensor> originals;
    for (const Parameter& parameter : parameters(both.model))
      originals[parameter.name] = parameter.value;
    for (const Parameter& parameter : parameters(both.converted)) {
      CAPTURE(parameter.name);
      REQUIRE(parameter.value.gradient().defined());
      bool of_mixer = parameter.name.find(".mixer.") != std::string::npos;
      if (of_mixer && !parameter.name.ends_with("weight")) continue;
      CHECK(relative_error(gradient_of(parameter.value),
                           gradient_of(originals.at(parameter.name))) <= 10 * exactness);
    }
  }
}

TEST_CASE("a converted model's config says what its mixer is, and keeps all else") {
  for (const Conversion& conversion : conversions()) {
    CAPTURE(conversion.row.json);
    Both both(conversion);
    LanguageModelConfig expected = conversion.row.config;
    std::string before = config_to_json(expected), after = both.converted.config_text();
    size_t at = before.find(R"("mixer":)") + 8, end = before.find('}', at) + 1;
    CHECK(after == before.substr(0, at) + conversion.mixer + before.substr(end));
    Random random;
    LanguageModel made(config_from_json<LanguageModelConfig>(after), random);
    CHECK(parameter_count(made) == parameter_count(both.converted));
  }
}

TEST_CASE("a model that is no case of the other is not converted, and the error says why") {
  auto refused = [](const ModelRow& row, auto convert) {
    RandomValues random(59);
    LanguageModel model = row.make(random);
    return refusal([&] { convert(model); });
  };
  auto xl = [](const LanguageModel& model) { return to_transformer_xl(model); };
  auto full = [](const LanguageModel& model) { return to_aft_full(model); };
  std::string endless = ": has terms for any distance, expected a window";
  CHECK(refused(with_mixer(R"("multi_head_attention", "position": "alibi")"), xl) ==
        "multi_head_attention" + endless);
  CHECK(refused(with_mixer(R"("transformer_xl_attention")"), xl) ==
        "transformer_xl_attention" + endless);
  CHECK(refused(with_mixer(R"("multi_head_attention", "position": "rope")"), xl) ==
        "multi_head_attention: computes more than its terms by distance say");
  CHECK(refused(with_mixer(R"("aft", "form": "simple")"), xl) ==
        "to_transformer_xl: aft, expected attention");
  CHECK(refused(with_mixer(R"("shaw_attention", "max_distance": 3)"), xl) ==
        "shaw_attention: has embeddings of distances for values, but transformer_xl_attention has "
        "none");
  std::string two_way =
      ": sees the future, but transformer_xl_attention with learned positions "
      "sees the past alone";
  CHECK(refused(with_mixer(R"("shaw_attention", "max_distance": 3, "causal": false)"), xl) ==
        "shaw_attention" + two_way);
  CHECK(refused(with_mixer(R"("relative_global_attention", "max_seq": 3, "bidirectional": true)"),
                xl) == "relative_global_attention" + two_way);
  CHECK(refused(with_mixer(R"("relative_multi_head_attention", "causal": false)"), xl) ==
        "relative_multi_head_attention" + two_way);
  ModelRow recurrent(R"("block": "r_transformer_block", "window": 3, "cell": "rnn")");
  CHECK(refused(recurrent, xl) ==
        "to_transformer_xl: r_transformer_block, expected transformer_block");
  for (const char* form : {R"("simple")", R"("conv", "window": 3)"})
    CHECK(refused(with_mixer(text(R"("aft", "form": )", form)), full) ==
          "aft: reads texts of any length, form full those of max_len alone");
  CHECK(refused(with_mixer(R"("shaw_attention", "max_distance": 3)"), full) ==
        "to_aft_full: shaw_attention, expected aft");
}

TEST_CASE("sinusoids in a window are learned distances, with v·r_δ as their scores") {
  RandomValues random(60);
  auto sinusoid = random_layer(
      Sized{TransformerXLAttentionConfig{.d_head = 4, .sight = {.window = 5}}, {6, 2}}, random);
  TransformerXLAttention learned = to_transformer_xl(sinusoid);
  CHECK(learned.position_scalar_bias.shape() == Dims{5, 2});
  CHECK_FALSE(learned.position_bias.defined());
  Tensor x = random.tensor({2, 9, 6}), memory = random.tensor({2, 3, 6});
  Context context;
  CHECK(relative_error(learned(x, memory, context), Values(sinusoid(x, memory, context))) <=
        exactness);
}

TEST_CASE("what a conversion only copies keeps its bits") {
  RandomValues random(61);
  auto labml = random_layer(
      Sized{RelativeMultiHeadAttentionConfig{.max_positions = 3}, {4, 2}}, random);
  TransformerXLAttention xl = to_transformer_xl(labml);
  CHECK(same_bits(xl.qkv.weight, labml.qkv.weight));
  CHECK(same_bits(xl.output.weight, labml.output.weight));
  CHECK(same_bits(xl.output.bias, labml.output.bias));
  CHECK(same_bits(xl.content_bias, labml.query_pos_bias));
  CHECK(same_bits(xl.position_embeddings, slice(labml.key_pos_embeddings, 0, 0, 4)));
  CHECK(same_bits(xl.position_scalar_bias, slice(labml.key_pos_bias, 0, 0, 4)));
  CHECK(same_bits(slice(xl.qkv.bias, 0, 8, 12), labml.value_bias));
  auto shaw = random_layer(
      Sized{ShawAttentionConfig{.max_distance = 3, .value_positions = false}, {4, 2}},
      random);
  CHECK(same_bits(select(to_transformer_xl(shaw).position_embeddings, 1, 1),
                  slice(shaw.key_distance_embeddings, 0, 0, 4)));
  auto aft = random_layer(Sized{AftConfig{.max_len = 6}, {4}}, random);
  CHECK(same_bits(to_aft_full(aft).position_bias, aft.position_bias));
}
