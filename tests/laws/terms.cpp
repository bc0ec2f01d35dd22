// The terms that a layer names are what it computes with, and code that asks for them need not know
// the layer: tables of distances, worked examples and conversions of mixers from outside this
// project.

#include <doctest/doctest.h>

#include <cmath>

#include "examples/apps/char_lm/distance_tables.h"
#include "examples/apps/show_layer/worked_example.h"
#include "nn/layer.h"
#include "nn/models/config.h"
#include "nn/models/convert.h"
#include "nn/state_dict.h"
#include "ops/shape.h"
#include "tests/shell/outside/convolution_mixer.h"
#include "tests/shell/outside/forgetting_attention.h"
#include "tests/support/layer_rows.h"
#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"
#include "tests/support/small_models.h"

using namespace shiftgrad;
using namespace shiftgrad::test;
using outside::ConvolutionMixer;

namespace {

constexpr int64_t width = 8, heads = 2;

std::unique_ptr<outside::ForgettingAttention> forgetting(std::optional<Window> window = {}) {
  Random start;
  auto layer = std::make_unique<outside::ForgettingAttention>(width, heads, start);
  RandomValues random(71);
  randomize(*layer, random);
  layer->window = window;
  return layer;
}

/// Attention whose distances ask the keys, with a factor of its own.
struct AskedKeys : Attention {
  static constexpr int64_t farthest = 16;
  Tensor position_queries;  // [2·farthest + 1, H, D]

  AskedKeys() {
    Random start;
    build("asked_keys", width, ::heads, std::nullopt, true, start);
    position_queries = normal_parameter({2 * farthest + 1, n_head, d_head}, start, 1);
    causal = false;
  }

  Tensor position_table(int64_t first, int64_t last, Context&) const override {
    return slice(position_queries, 0, farthest - first, farthest - last + 1);
  }
  RelativeAttention equation(const Heads& heads, const Tensor& rows) const override {
    RelativeAttention score{.query = heads.query, .key = heads.key, .value = heads.value};
    score.position_queries = rows;
    score.factor = 0.25F;
    return score;
  }
};

/// A model of such mixers, which the library does not know.
LanguageModel own_model(const MixerMaker& mixer) {
  LanguageModelConfig config{
      .vocab_size = 7, .d_model = width, .n_layer = 2, .n_head = heads, .d_inner = 12};
  Random start;
  LanguageModel model(config, start, mixer);
  RandomValues random(72);
  randomize(model, random);
  return model;
}

/// The probabilities [B, H, T, K], or [B, T, K, C], that the layer passes to a recorder.
Tensor recorded(const Layer& layer, const Tensor& x, const Tensor& memory) {
  Context context;
  Tensor p;
  context.recorder = [&](const Tensor& told) { p = told; };
  layer(x, memory, context);
  return p;
}

}  // namespace

TEST_CASE("a layer computes with the terms that it names") {
  int64_t attentions = 0, attention_free = 0;
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    RandomValues random(73);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Tensor x = random.tensor({2, 3, row.d_model}), memory = random.tensor({2, 2, row.d_model});
    if (!row.takes_memory) memory = Tensor();
    Context context;
    LayerTerms terms = layer->terms(x, memory, context);
    if (auto* attention = std::get_if<RelativeAttention>(&terms)) {
      ++attentions;
      auto& mixer = dynamic_cast<const Attention&>(*layer);
      Tensor y = mixer.project_output(mixer.mix(*attention, context), x);
      CHECK(same_bits(y, (*layer)(x, memory, context)));
      CHECK(same_bits(attention_probabilities(*attention), recorded(*layer, x, memory)));
    } else if (auto* aft = std::get_if<AftTerms>(&terms)) {
      ++attention_free;
      Tensor p;
      composed_aft(aft->key, aft->value, aft->band, aft->visibility,
                   [&](const Tensor& weights) { p = weights; });
      CHECK(same_bits(p, recorded(*layer, x, memory)));
    }
  }
  CHECK(attentions >= 10);
  CHECK(attention_free >= 4);
}

TEST_CASE("all layers of a model, by name") {
  std::vector<std::string> names;
  LanguageModel loud = loud_model(small_transformer_xl());
  for (const NamedLayer& layer : layers(loud)) names.push_back(layer.name);
  CHECK(names == std::vector<std::string>{"blocks.0", "blocks.0.mixer", "blocks.0.feed_forward",
                                          "blocks.1", "blocks.1.mixer", "blocks.1.feed_forward"});
}

TEST_CASE("terms from outside: a table of the distances that an attention has learned") {
  auto layer = forgetting();
  auto check = [&](const std::vector<char_lm::DistanceTable>& tables, const Tensor& slope) {
    REQUIRE(tables.size() == 1);
    CHECK(tables[0].title == "bias s / √D");
    CHECK(tables[0].first == 0);
    REQUIRE(tables[0].heads.size() == heads);
    for (int64_t h = 0; h < heads; ++h) {
      REQUIRE(tables[0].heads[h].size() == 5);
      for (int64_t delta = 0; delta < 5; ++delta)
        CHECK(tables[0].heads[h][delta] == doctest::Approx(-slope.values()[h] * delta));
    }
  };
  check(char_lm::distance_tables(*layer, width, 5), layer->slope);
  LanguageModel model = own_model([](Random&) { return forgetting(); });
  auto all = char_lm::distance_tables(model, 5);
  REQUIRE(all.size() == 2);
  std::vector<Tensor> slopes;
  for (const Parameter& parameter : parameters(model))
    if (parameter.name.ends_with("slope")) slopes.push_back(parameter.value);
  for (size_t n = 0; n < 2; ++n) check(all[n], slopes[n]);
}

TEST_CASE("terms from outside: an attention worked through, term by term") {
  for (auto [T, M] : {std::pair{3, 2}, {4, 0}}) {
    auto layer = forgetting();
    show_layer::WorkedExample example = show_layer::worked_example(*layer, width, T, M);
    CHECK(example.layer == "forgetting_attention");
    CHECK(example.formula ==
          "score = (q·k + s) / √D,   p = softmax over the visible j,   y = Σ_j p v_j");
    auto at = [&](const char* name, int64_t i, int64_t j) {
      const show_layer::Table& table = example[name];
      return table.values[static_cast<size_t>(i * table.columns + j)];
    };
    double root = std::sqrt(static_cast<double>(layer->d_head));
    for (int64_t i = 0; i < T; ++i) {
      double sum = 0;
      for (int64_t j = 0; j <= M + i; ++j) {
        double qk = 0;
        for (int64_t d = 0; d < layer->d_head; ++d) qk += at("q", i, d) * at("k", j, d);
        double forgotten = layer->slope.values()[0] * static_cast<double>(M + i - j);
        CHECK(at("s", i, j) == doctest::Approx(-forgotten * root));
        CHECK(at("score", i, j) == doctest::Approx(qk / root - forgotten));
        sum += std::exp(at("score", i, j));
      }
      for (int64_t d = 0; d < layer->d_head; ++d) {
        double y = 0;
        for (int64_t j = 0; j <= M + i; ++j) {
          CHECK(at("p", i, j) == doctest::Approx(std::exp(at("score", i, j)) / sum));
          y += at("p", i, j) * at("v", j, d);
        }
        CHECK(at("y", i, d) == doctest::Approx(y).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("terms from outside: distances that ask the keys") {
  AskedKeys layer;
  auto tables = char_lm::distance_tables(layer, width, 5);
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].title == "norm of p");
  CHECK(tables[0].first == -4);
  Values p(layer.position_queries);
  auto row = [&](int64_t delta) { return AskedKeys::farthest - delta; };
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t delta = -4; delta <= 4; ++delta) {
      double squares = 0;
      for (int64_t d = 0; d < layer.d_head; ++d) squares += std::pow(p(row(delta), h, d), 2);
      CHECK(tables[0].heads[h][delta + 4] == doctest::Approx(std::sqrt(squares)));
    }

  constexpr int64_t T = 3, M = 2;
  show_layer::WorkedExample example = show_layer::worked_example(layer, width, T, M);
  CHECK(example.formula ==
        "score = (q·k + k·p) · 0.25,   p = softmax over the visible j,   y = Σ_j p v_j");
  auto at = [&](const char* name, int64_t i, int64_t j) {
    const show_layer::Table& table = example[name];
    return table.values[static_cast<size_t>(i * table.columns + j)];
  };
  for (int64_t i = 0; i < T; ++i)
    for (int64_t j = 0; j < M + T; ++j) {
      int64_t distance = j + T - 1 - i;  // counted from the farthest on
      double asked = 0;
      for (int64_t d = 0; d < layer.d_head; ++d)
        asked += at("k", j, d) * at("position_queries", distance, d);
      CHECK(at("k·p by distance", j, distance) == doctest::Approx(asked));
      CHECK(at("k·p", i, j) == doctest::Approx(asked));
      CHECK(at("score", i, j) == doctest::Approx((at("q·k", i, j) + asked) / 4));
    }

  Context context;
  context.term_editor = [](std::vector<ScoreTerm>& terms) {
    REQUIRE(terms.size() == 2);
    CHECK(terms[1].name == std::string("position_content"));
  };
  Tensor x = RandomValues(74).tensor({2, 5, width});
  Context plain;
  CHECK(relative_error(layer(x, {}, context), Values(layer(x, {}, plain))) <= exactness);
  layer.causal = true;
  layer.window = 4;
  CHECK(refusal([&] { to_transformer_xl(layer); }) ==
        "asked_keys: computes more than its terms by distance say");
}

TEST_CASE("terms from outside: an attention converted, with the model around it") {
  LanguageModel model = own_model([](Random&) { return forgetting(4); });
  LanguageModel converted = to_transformer_xl(model);
  CHECK_FALSE(converted.config.own_mixer);
  CHECK(converted.config_text().find(
            R"("mixer":{"type":"transformer_xl_attention","window":4,"content_bias":false,)"
            R"("projection_bias":true,"positions":"learned","max_positions":4})") !=
        std::string::npos);
  Tokens tokens{{2, 9}, {}};
  for (int64_t n = 0; n < 18; ++n) tokens.values.push_back(static_cast<int32_t>(n * n % 7));
  Context context;
  CHECK(relative_error(converted(tokens, {}, context).logits,
                       Values(model(tokens, {}, context).logits)) <= exactness);
  auto cache = model.make_cache(), other = converted.make_cache();
  for (int step = 0; step < 2; ++step) {
    Tensor logits = converted(tokens, *other, context);
    CHECK(relative_error(logits, Values(model(tokens, *cache, context))) <= exactness);
  }
  // It is the library's now, so its config is enough to make it.
  Random random;
  LanguageModel made(config_from_json<LanguageModelConfig>(converted.config_text()), random);
  load_state_dict(made, state_dict(converted), "converted");
  CHECK(same_bits(made(tokens, {}, context).logits, converted(tokens, {}, context).logits));
}

TEST_CASE("terms from outside: a mixer without any is told so by its name") {
  auto convolution = [](Random& random) {
    return std::make_unique<ConvolutionMixer>(width, 3, random);
  };
  Random start;
  auto layer = convolution(start);
  LanguageModel model = own_model(convolution);
  CHECK(char_lm::distance_tables(*layer, width, 5).empty());
  CHECK(char_lm::distance_tables(model, 5).empty());
  CHECK(refusal([&] { show_layer::worked_example(*layer, width, 3, 2); }) ==
        "convolution: has no terms to work through");
  CHECK(refusal([&] { to_transformer_xl(model); }) ==
        "to_transformer_xl: convolution, expected attention");
  CHECK(refusal([&] { to_aft_full(model); }) == "to_aft_full: convolution, expected aft");
  CHECK(refusal([&] { to_transformer_xl(*forgetting()); }) ==
        "forgetting_attention: has terms for any distance, expected a window");
}

TEST_CASE("terms from outside: an attention worked through as it is, with memory or without") {
  auto layer = forgetting();
  RandomValues random(72);
  auto drawn = [&](int64_t B, int64_t T) {
    return Tensor::from({B, T, width}, random.vector(B * T * width));
  };
  Tensor x = drawn(1, 3), memory = drawn(1, 2);
  Context context;
  for (const Tensor& past : {Tensor(), memory}) {
    std::vector<Scalar> y = (*layer)(x, past, context).values();  // [1, 3, C]
    show_layer::WorkedExample example = show_layer::worked_example(*layer, x, past);
    CHECK(example["score"].columns == (past.defined() ? 5 : 3));
    const show_layer::Table& shown = example["y"];
    for (int64_t i = 0; i < shown.rows; ++i)
      for (int64_t d = 0; d < shown.columns; ++d)
        CHECK(shown.values[static_cast<size_t>(i * shown.columns + d)] ==
              y[static_cast<size_t>(i * width + d)]);
  }
  CHECK(refusal([&] { show_layer::worked_example(*layer, drawn(2, 3), {}); }) ==
        "forgetting_attention: x is [2, 3, 8], expected [1, T, C]");
}
