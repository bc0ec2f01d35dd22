// Configs as text: what is written is read back, and every field says what it is.

#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "nn/models/config.h"
#include "tests/support/small_mixers.h"

using namespace shiftgrad;

namespace {

/// Visits a config's fields and checks that each is described.
template <class Config>
void check_described(Config config) {
  CAPTURE(Config::type);
  std::set<std::string> names;
  config.fields([&]<class Value>(const Value&, const Field& field, const auto&...) {
    CAPTURE(field.name);
    CHECK(names.insert(field.name).second);
    CHECK(field.help.size() >= 5);
    CHECK(field.help.find('\n') == std::string::npos);
    if constexpr (std::is_same_v<Value, int64_t> || std::is_same_v<Value, std::optional<int64_t>>) {
      CHECK(field.of.range.least >= 0);
      CHECK(field.of.range.greatest <= 1e9);
      CHECK_FALSE(unit_of<Value>(field).empty());
    }
  });
}

}  // namespace

TEST_CASE("a model's config can be written and read back") {
  for (std::string mixer :
       {R"({"type": "multi_head_attention", "position": "rope", "window": 3, "bias": false})",
        R"({"type": "relative_multi_head_attention", "max_positions": 9, "causal": false})",
        R"({"type": "relative_global_attention", "max_seq": 9, "bidirectional": true})",
        R"({"type": "transformer_xl_attention", "d_head": 3, "clamp_len": 4})",
        R"({"type": "aft", "form": "conv", "window": 3})",
        R"({"type": "local_rnn", "window": 3, "cell": "lstm"})"}) {
    auto config = config_from_json<LanguageModelConfig>(
        R"({"vocab_size": 5, "d_model": 8, "n_layer": 2, "n_head": 2, "d_inner": 3,)"
        R"( "position": "learned", "max_len": 7, "tie_embedding": true, "mixer": )" +
        mixer + "}");
    std::string written = config_to_json(config);
    CAPTURE(written);
    CHECK(config_to_json(config_from_json<LanguageModelConfig>(written)) == written);
    CHECK(written.find(R"("max_len":7)") != std::string::npos);
    // Every key that was given is there.
    std::erase(mixer, ' ');
    std::istringstream keys(mixer.substr(1, mixer.size() - 2));
    for (std::string key; std::getline(keys, key, ',');)
      CHECK(written.find(key) != std::string::npos);
  }
}

TEST_CASE("each size and each yes or no of a mixer can be written and read back") {
  for (const MixerConfig& mixer : small_mixers(9)) {
    LanguageModelConfig model;
    model.mixer = mixer;
    int changed = 0;
    auto change = [&]<class Value>(Value& value, const Field& field, const auto&...) {
      CAPTURE(std::string(type_of(mixer)));
      CAPTURE(std::string(field.name));
      const Value before = value;
      if constexpr (std::is_same_v<Value, bool>)
        value = !value;
      else if constexpr (std::is_same_v<Value, int64_t> ||
                         std::is_same_v<Value, std::optional<int64_t>>)
        value = 7;
      else
        return;
      auto read = config_from_json<LanguageModelConfig>(config_to_json(model));
      CHECK(*find_field<Value>(read.mixer, field.name) == value);
      value = before;
      ++changed;
    };
    fields_of(model.mixer, change);
    CHECK(changed > 0);
  }
}

TEST_CASE("a config for people has every field") {
  auto all = [](const char* name, const std::string& config) {
    return config_to_json(*config_named<AnyConfig>(name, config), true);
  };
  CHECK(all("local_rnn", R"({"d_model": 4, "window": 2})") ==
        R"({"d_model":4,"window":2,"cell":"rnn"})");
  CHECK(
      all("transformer_xl_attention", "{}") ==
      R"({"d_model":0,"n_head":0,"d_head":null,"clamp_len":null,"window":null,"chunk":null,"always":null,"causal":true,)"
      R"("content_bias":true,"position_bias":true,"projection_bias":false,)"
      R"("positions":"sinusoid","max_positions":null})");
  CHECK(all("transformer_block", R"({"mixer": {"type": "transformer_xl_attention"}})")
            .find(R"("projection_bias":false)") != std::string::npos);
  CHECK(config_to_json(LanguageModelConfig{}, true).find(R"("own_mixer":false)") !=
        std::string::npos);
  CHECK(config_to_json(LanguageModelConfig{}).find("own_mixer") == std::string::npos);
  CHECK(type_names<MixerConfig>().front() == "multi_head_attention");
  CHECK(type_names<LayerConfig>().back() == "encoder_decoder_block");
}

TEST_CASE("every field of every config has a help, a unit and a range") {
  for (const AnyConfig& config : all_configs<AnyConfig>())
    std::visit([](const auto& each) { check_described(each); }, config);
  LanguageModelConfig recurrent;
  recurrent.block = BlockType::r_transformer_block;
  check_described(recurrent);
}

TEST_CASE("one name for one thing, beside the names that files have") {
  auto music = config_from_json<RelativeGlobalAttentionConfig>(
      R"({"d_model": 6, "n_head": 2, "max_seq": 5, "bidirectional": true})");
  CHECK(music.max_seq == 5);
  CHECK_FALSE(music.causal);
  std::string written = config_to_json(music);
  CHECK(written ==
        R"({"d_model":6,"n_head":2,"max_seq":5,"bidirectional":true,"relative_bias":true})");
  CHECK(config_to_json(config_from_json<RelativeGlobalAttentionConfig>(
            R"({"d_model": 6, "n_head": 2, "max_positions": 5, "causal": false})")) == written);
  CHECK(config_to_json(config_from_json<RelativeGlobalAttentionConfig>(
                           R"({"d_model": 6, "n_head": 2, "max_seq": 5})"))
            .find(R"("bidirectional":false)") != std::string::npos);
  for (std::string key : {"bias", "projection_bias"}) {
    auto config = config_from_json<TransformerXLAttentionConfig>(
        R"({"d_model": 6, "n_head": 2, ")" + key + R"(": true})");
    CHECK(config.bias);
    CHECK(config_to_json(config).find(R"("projection_bias":true)") != std::string::npos);
  }
}

TEST_CASE("windows of one number and of two, and chunks, as JSON") {
  auto again = [](const std::string& field) {
    return config_to_json(config_from_json<MultiHeadAttentionConfig>(
        R"({"d_model": 4, "n_head": 2, )" + field + "}"));
  };
  CHECK(again(R"("window": 5)").find(R"("window":5)") != std::string::npos);
  CHECK(again(R"("window": [4, 4])").find(R"("window":5)") != std::string::npos);
  CHECK(again(R"("window": [4, 0])").find(R"("window":[4,0])") != std::string::npos);
  CHECK(again(R"("chunk": [3, 1])").find(R"("chunk":[3,1])") != std::string::npos);
  CHECK(again(R"("window": 5)").find("chunk") == std::string::npos);
}
