#include "examples/apps/char_lm/attention_maps.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/small_models.h"
#include "tests/support/values.h"

using namespace shiftgrad;
using namespace shiftgrad::test;
using char_lm::attention_maps;
using char_lm::AttentionMap;

namespace {

constexpr int64_t length = 5;

LanguageModel model_with(const MixerConfig& mixer) {
  LanguageModelConfig config = small_transformer_xl();
  config.mixer = mixer;
  return loud_model(config);
}

/// Returns the weights that each layer gives to a recorder.
std::vector<Values> recorded_weights(const LanguageModel& model, const std::vector<int32_t>& text) {
  std::vector<Values> weights;
  Context context;
  context.recorder = [&](const Tensor& told) { weights.emplace_back(told); };
  model({{1, length}, text}, Memory{}, context);
  return weights;
}

void check_rows(const std::vector<std::vector<AttentionMap>>& layers) {
  for (const auto& maps : layers)
    for (const AttentionMap& map : maps) {
      REQUIRE(std::ssize(map.weights) == length * length);
      for (int64_t query = 0; query < length; ++query) {
        double sum = 0;
        for (int64_t key = 0; key < length; ++key) {
          sum += map.weights[query * length + key];
          if (key > query) CHECK(map.weights[query * length + key] == 0);
        }
        CHECK(std::abs(sum - 1) < near);
      }
    }
}

}  // namespace

TEST_CASE("attention maps: one per head, with the weights that the layer records") {
  LanguageModelConfig r_transformer = small_transformer_xl();
  r_transformer.block = BlockType::r_transformer_block;
  r_transformer.mixer = {};
  r_transformer.window = 3;
  std::vector<int32_t> text = random_text(length, 7);
  for (const LanguageModelConfig& config : {small_transformer_xl(), r_transformer}) {
    LanguageModel model = loud_model(config);
    std::vector<Values> expected = recorded_weights(model, text);
    std::vector<std::vector<AttentionMap>> layers = attention_maps(model, text);
    REQUIRE(layers.size() == 2);
    check_rows(layers);
    for (int64_t layer = 0; layer < 2; ++layer) {
      REQUIRE(layers[layer].size() == 2);
      for (int64_t h = 0; h < 2; ++h) {
        CHECK(layers[layer][h].title == "head " + std::to_string(h));
        for (int64_t query = 0; query < length; ++query)
          for (int64_t key = 0; key < length; ++key)
            CHECK(layers[layer][h].weights[query * length + key] ==
                  expected[layer](0, h, query, key));
      }
    }
  }
}

TEST_CASE("attention maps: AFT has the mean over its channels") {
  LanguageModel model = model_with(AftConfig{.form = AftForm::full, .max_len = length});
  std::vector<int32_t> text = random_text(length, 7);
  std::vector<Values> expected = recorded_weights(model, text);
  std::vector<std::vector<AttentionMap>> layers = attention_maps(model, text);
  REQUIRE(layers.size() == 2);
  check_rows(layers);
  for (int64_t layer = 0; layer < 2; ++layer) {
    REQUIRE(layers[layer].size() == 1);
    CHECK(layers[layer][0].title == "mean of 16 channels");
    for (int64_t query = 0; query < length; ++query)
      for (int64_t key = 0; key < length; ++key) {
        double mean = 0;
        for (int64_t c = 0; c < 16; ++c) mean += expected[layer](0, query, key, c) / 16;
        CHECK(std::abs(layers[layer][0].weights[query * length + key] - mean) < near);
      }
  }
}

TEST_CASE("attention maps: AFT-conv has one per head, whose channels agree") {
  LanguageModel model = model_with(AftConfig{.form = AftForm::conv, .window = 3});
  std::vector<int32_t> text = random_text(length, 7);
  std::vector<Values> expected = recorded_weights(model, text);
  std::vector<std::vector<AttentionMap>> layers = attention_maps(model, text);
  REQUIRE(layers.size() == 2);
  check_rows(layers);
  for (int64_t layer = 0; layer < 2; ++layer) {
    REQUIRE(layers[layer].size() == 2);
    CHECK(layers[layer][1].title == "head 1");
    for (int64_t c = 0; c < 16; ++c)
      for (int64_t query = 0; query < length; ++query)
        for (int64_t key = 0; key < length; ++key)
          CHECK(std::abs(layers[layer][c / 8].weights[query * length + key] -
                         expected[layer](0, query, key, c)) < near);
  }
}

TEST_CASE("attention maps: none without attention") {
  LanguageModel model = model_with(LocalRnnConfig{.window = 3, .cell = RecurrentCell::gru});
  CHECK(attention_maps(model, random_text(length, 7)).empty());
}

TEST_CASE("attention maps: later keys are hidden from what is drawn, and no weight is lost") {
  std::vector<std::vector<AttentionMap>> layers =
      attention_maps(model_with(TransformerXLAttentionConfig{}), random_text(length, 7));
  std::vector<std::vector<AttentionMap>> drawn = layers;
  char_lm::hide_later_keys(drawn, length);
  for (size_t layer = 0; layer < layers.size(); ++layer)
    for (size_t h = 0; h < layers[layer].size(); ++h)
      for (int64_t query = 0; query < length; ++query)
        for (int64_t key = 0; key < length; ++key) {
          double weight = drawn[layer][h].weights[query * length + key];
          if (key > query)
            CHECK(std::isnan(weight));
          else
            CHECK(weight == layers[layer][h].weights[query * length + key]);
        }
}
