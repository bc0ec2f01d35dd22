// What a config or a length gets wrong is refused by name.

#include "nn/models/config.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

/// The error of reading this JSON and making the layer that it describes.
template <class Config>
std::string error_of(const std::string& json) {
  return refusal([&] {
    auto config = config_from_json<Config>(json);
    Random random;
    auto layer = make_layer(config, random);
  });
}

struct Refused {
  std::string json, error;
};

/// Checks a list of configs against their errors, which all begin with the layer's name.
template <class Config>
void check_refused(const std::vector<Refused>& list) {
  for (const Refused& refused : list) {
    CAPTURE(refused.json);
    CHECK(error_of<Config>(refused.json) == text(Config::type, ": ", refused.error));
  }
}

/// The error for a key that such a config lacks, with all the keys that it has.
template <class Config>
std::string unknown(const std::string& key, Config config = {}) {
  std::set<std::string> known;
  auto collect = [&](auto&, const Field& field, const auto&...) {
    if (field.saved) known.insert(*field.opposite ? field.opposite : field.name);
  };
  if constexpr (std::is_base_of_v<Layer, typename Config::Layer>)
    Sized{config, Width{}}.fields(collect);
  else
    config.fields(collect);
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  return "unknown config key \"" + key + "\", expected " + list;
}

/// `{"d_model": 6, "n_head": 2` and so on.
std::string with(const std::string& common, const std::string& more) {
  return "{" + common + (more.empty() ? "" : ", " + more) + "}";
}

const std::string sizes = R"("d_model": 6, "n_head": 2)";

}  // namespace

TEST_CASE("heads must fit") {
  check_refused<MultiHeadAttentionConfig>({
      {"{}", "d_model 0, expected at least 1"},
      {R"({"d_model": 6})", "n_head 0, expected at least 1"},
      {R"({"d_model": -6, "n_head": 2})", "d_model -6, expected at least 1"},
      {R"({"d_model": 6, "n_head": 4})", "d_model 6 is not divisible by n_head 4"},
  });
  check_refused<RelativeMultiHeadAttentionConfig>(
      {{R"({"d_model": 6, "n_head": 4})", "d_model 6 is not divisible by n_head 4"}});
  check_refused<RelativeGlobalAttentionConfig>(
      {{R"({"d_model": 6, "n_head": 4, "max_seq": 3})", "d_model 6 is not divisible by n_head 4"}});
  check_refused<ShawAttentionConfig>({{R"({"d_model": 6, "n_head": 4, "max_distance": 3})",
                                       "d_model 6 is not divisible by n_head 4"}});
  check_refused<TransformerXLAttentionConfig>(
      {{R"({"d_model": 6, "n_head": 4})", "d_model 6 is not divisible by n_head 4"},
       {with(sizes, R"("d_head": 0)"), "d_head 0, expected at least 1"}});
}

TEST_CASE("values must be of their type") {
  auto is = [](const std::string& key, const std::string& shown, const std::string& expected) {
    return "config key \"" + key + "\" is " + shown + ", expected " + expected;
  };
  check_refused<MultiHeadAttentionConfig>({
      {R"({"d_model": null})", is("d_model", "null", "a whole number")},
      {R"({"d_model": 6.0})", is("d_model", "6.0", "a whole number")},
      {R"({"d_model": "6"})", is("d_model", "\"6\"", "a whole number")},
      {R"({"d_model": true})", is("d_model", "true", "a whole number")},
      {R"({"d_model": [6]})", is("d_model", "[6]", "a whole number")},
      {R"({"d_model": 9223372036854775808})",
       is("d_model", "9223372036854775808", "at most 1000000000")},
      {with(sizes, R"("bias": 1)"), is("bias", "1", "true or false")},
      {with(sizes, R"("causal": null)"), is("causal", "null", "true or false")},
      {with(sizes, R"("window": null)"), is("window", "null", "a whole number")},
      {with(sizes, R"("window": 2.5)"), is("window", "2.5", "a whole number")},
      {with(sizes, R"("window": [2])"), is("window", "[2]", "a list of two whole numbers")},
      {with(sizes, R"("window": [2, true])"), is("window", "[2,true]", "a whole number")},
      {with(sizes, R"("chunk": 4)"), is("chunk", "4", "a list of two whole numbers")},
      {with(sizes, R"("position": null)"), is("position", "null", "a string")},
      {with(sizes, R"("position": 1)"), is("position", "1", "a string")},
  });
  check_refused<TransformerBlockConfig>({
      {R"({"mixer": null, "d_inner": 3})", is("mixer", "null", "an object with a type")},
      {R"({"mixer": "aft", "d_inner": 3})", is("mixer", "\"aft\"", "an object with a type")},
      {R"({"mixer": {}, "d_inner": 3})", is("mixer", "{}", "an object with a type")},
      {R"({"mixer": {"type": 3}, "d_inner": 3})",
       is("mixer", "{\"type\":3}", "an object with a type")},
      {R"({"mixer": {"type": "aft", "form": "simple", "d_model": 4}, "norm_eps": "0"})",
       is("norm_eps", "\"0\"", "a number")},
  });
}

TEST_CASE("a config is one JSON object with known keys") {
  check_refused<MultiHeadAttentionConfig>({
      {"[]", "the config is not a JSON object"},
      {"3", "the config is not a JSON object"},
      {with(sizes, R"("windows": 3)"), unknown<MultiHeadAttentionConfig>("windows")},
      {with(sizes, R"("d_head": 3)"), unknown<MultiHeadAttentionConfig>("d_head")},
      {with(sizes, R"("attention_dropout": 0.1)"),
       unknown<MultiHeadAttentionConfig>("attention_dropout")},
  });
  for (const char* broken : {"", "{", "{} {}", "{\"d_model\": 6,}", "nothing"})
    CHECK_FALSE(error_of<MultiHeadAttentionConfig>(broken).empty());
  check_refused<RelativeMultiHeadAttentionConfig>({
      {with(sizes, R"("bias": true)"), unknown<RelativeMultiHeadAttentionConfig>("bias")},
      {with(sizes, R"("window": 3)"), unknown<RelativeMultiHeadAttentionConfig>("window")},
  });
  check_refused<RelativeGlobalAttentionConfig>({
      {with(sizes, R"("max_seq": 3, "window": 3)"),
       unknown<RelativeGlobalAttentionConfig>("window")},
      {with(sizes, R"("max_seq": 3, "bias": true)"),
       unknown<RelativeGlobalAttentionConfig>("bias")},
  });
  check_refused<ShawAttentionConfig>(
      {{with(sizes, R"("max_distance": 3, "window": 3)"), unknown<ShawAttentionConfig>("window")}});
  check_refused<TransformerXLAttentionConfig>({
      {with(sizes, R"("max_seq": 3)"), unknown<TransformerXLAttentionConfig>("max_seq")},
  });
  check_refused<LocalRnnConfig>(
      {{R"({"d_model": 4, "window": 2, "causal": true})", unknown<LocalRnnConfig>("causal")}});
  check_refused<RTransformerBlockConfig>(
      {{with(sizes, R"("norm_first": true)"), unknown<RTransformerBlockConfig>("norm_first")}});
  CHECK(refusal([] { config_from_json<RelShiftConfig>(R"({"zero": true})"); }) ==
        "rel_shift: unknown config key \"zero\", expected zero_triu");
  CHECK(refusal([] { config_from_json<ShiftRightConfig>(R"({"zero_triu": true})"); }) ==
        "shift_right: unknown config key \"zero_triu\", expected none");
}

TEST_CASE("attention's own options") {
  check_refused<MultiHeadAttentionConfig>({
      {with(sizes, R"("window": 0)"), "window 0, expected at least 1"},
      {with(sizes, R"("window": -2)"), "window -2, expected at least 1"},
      {with(sizes, R"("window": [-2, 3])"), "window [-2, 3], expected at least 0"},
      {with(sizes, R"("window": 2000000000)"), "window 2000000000, expected at most 1000000000"},
      {with(sizes, R"("chunk": [0, 3])"), "chunk [0, 3], expected at least 1"},
      {with(sizes, R"("chunk": [4, -1])"), "chunk [4, -1], expected at least 0"},
      {with(sizes, R"("position": "learned")"),
       "config key \"position\" is \"learned\", expected none, rope or alibi"},
      {with(sizes, R"("position": "rope")"),
       "position rope needs an even head size, but d_model / n_head is 3"},
  });
  check_refused<RelativeMultiHeadAttentionConfig>(
      {{with(sizes, R"("max_positions": 0)"), "max_positions 0, expected at least 1"}});
  check_refused<RelativeGlobalAttentionConfig>({
      {with(sizes, ""), "max_seq 0, expected at least 1"},
      {with(sizes, R"("max_seq": -1)"), "max_seq -1, expected at least 1"},
  });
  check_refused<ShawAttentionConfig>({
      {with(sizes, ""), "max_distance is missing"},
      {with(sizes, R"("max_distance": -3)"), "max_distance -3, expected at least 0"},
  });
  check_refused<TransformerXLAttentionConfig>({
      {with(sizes, R"("window": 0)"), "window 0, expected at least 1"},
      {with(sizes, R"("clamp_len": -1)"), "clamp_len -1, expected at least 0"},
      {with(sizes, R"("max_positions": 9)"), "max_positions with sinusoid positions"},
      {with(sizes, R"("positions": "none")"),
       "config key \"positions\" is \"none\", expected sinusoid or learned"},
      {with(sizes, R"("positions": "learned")"), "max_positions is missing for learned positions"},
      {with(sizes, R"("positions": "learned", "max_positions": 0)"),
       "max_positions 0, expected at least 1"},
      {with(sizes, R"("positions": "learned", "max_positions": 9, "causal": false)"),
       "causal false with learned positions, expected sinusoid positions"},
      {with(sizes, R"("positions": "learned", "max_positions": 9, "clamp_len": 3)"),
       "clamp_len with learned positions"},
      {R"({"d_model": 3, "n_head": 1})", "sinusoid positions need an even d_model, not 3"},
  });
}

TEST_CASE("each form of aft takes the keys that it uses, and no other") {
  auto form = [](const std::string& name, const std::string& more) {
    return with(R"("d_model": 6, "form": ")" + name + "\"", more);
  };
  check_refused<AftConfig>({
      {"{\"form\": \"simple\"}", "d_model 0, expected at least 1"},
      {form("other", ""), "config key \"form\" is \"other\", expected full, local, simple or conv"},
      {form("full", ""), "max_len is missing for form full"},
      {form("full", R"("max_len": 0)"), "max_len 0, expected at least 1"},
      {form("full", R"("max_len": 9, "window": 3)"), "window with form full"},
      {form("full", R"("max_len": 9, "n_head": 2)"), "n_head with form full"},
      {form("full", R"("max_len": 9, "factor_rank": -1)"), "factor_rank -1, expected at least 0"},
      {form("local", R"("window": 3)"), "max_len is missing for form local"},
      {form("local", R"("max_len": 9)"), "window is missing for form local"},
      {form("local", R"("max_len": 9, "window": 0)"), "window 0, expected at least 1"},
      {form("local", R"("max_len": 9, "window": 3, "n_head": 2)"), "n_head with form local"},
      {form("simple", R"("max_len": 9)"), "max_len with form simple"},
      {form("simple", R"("window": 3)"), "window with form simple"},
      {form("simple", R"("n_head": 2)"), "n_head with form simple"},
      {form("simple", R"("factor_rank": 0)"), "factor_rank with form simple"},
      {form("conv", R"("n_head": 2)"), "window is missing for form conv"},
      {form("conv", R"("window": 3)"), "n_head is missing for form conv"},
      {form("conv", R"("window": 3, "n_head": 0)"), "n_head 0, expected at least 1"},
      {form("conv", R"("window": 3, "n_head": 4)"), "d_model 6 is not divisible by n_head 4"},
      {form("conv", R"("window": 3, "n_head": 2, "max_len": 9)"), "max_len with form conv"},
      {form("conv", R"("window": 3, "n_head": 2, "factor_rank": 1)"), "factor_rank with form conv"},
      {form("conv", R"("window": 4, "n_head": 2, "causal": false)"),
       "window 4 of a two-way conv, expected an odd number"},
  });
}

TEST_CASE("recurrent nets and blocks") {
  check_refused<LocalRnnConfig>({
      {R"({"window": 2})", "d_model 0, expected at least 1"},
      {R"({"d_model": 4})", "window 0, expected at least 1"},
      {R"({"d_model": 4, "window": 2, "cell": "relu"})",
       "config key \"cell\" is \"relu\", expected rnn, gru or lstm"},
  });
  const std::string mixer = R"("mixer": {"type": "aft", "form": "simple", "d_model": 4})";
  check_refused<TransformerBlockConfig>({
      {"{\"d_inner\": 3}", "config key \"mixer\" is missing"},
      {with(mixer, ""), "d_inner 0, expected at least 1"},
      {with(mixer, R"("d_inner": 3, "norm_eps": 0)"), "norm_eps 0, expected more than 0"},
      {with(mixer, R"("d_inner": 3, "n_head": 2)"), unknown<TransformerBlockConfig>("n_head")},
  });
  CHECK(
      error_of<TransformerBlockConfig>(with(mixer, R"("d_inner": 3, "activation": "tanh")")) ==
      "transformer_block: config key \"activation\" is \"tanh\", expected relu, gelu or gelu_tanh");
  std::string mixers;
  for (const std::string& name : type_names<MixerConfig>())
    mixers += (mixers.empty() ? "" : ", ") + name;
  CHECK(error_of<TransformerBlockConfig>(R"({"mixer": {"type": "conv"}, "d_inner": 3})") ==
        "unknown mixer type \"conv\", expected " + mixers);
  CHECK(error_of<TransformerBlockConfig>(
            R"({"mixer": {"type": "aft", "d_model": 4, "heads": 1}, "d_inner": 3})") ==
        "aft: unknown config key \"heads\", expected bias, causal, d_model, factor_rank, form, "
        "max_len, n_head, window");
  const std::string r_block = R"("d_model": 4, "n_head": 2, "window": 2)";
  check_refused<RTransformerBlockConfig>({
      {with(r_block, ""), "d_inner 0, expected at least 1"},
      {R"({"d_model": 1, "n_head": 1, "window": 2, "d_inner": 3})",
       "d_model 1, expected at least 2"},
      {with(r_block, R"("d_inner": 3, "rnn_layers": 0)"), "rnn_layers 0, expected at least 1"},
  });
  CHECK(error_of<RTransformerBlockConfig>(R"({"d_model": 4, "n_head": 2, "d_inner": 3})") ==
        "r_transformer_block: window 0, expected at least 1");
  check_refused<EncoderDecoderBlockConfig>({
      {with(mixer, R"("d_inner": 3)"), "n_head is missing, and the mixer has none"},
      {with(mixer, R"("d_inner": 3, "n_head": null)"),
       "config key \"n_head\" is null, expected a whole number"},
  });
  CHECK(error_of<EncoderDecoderBlockConfig>(with(mixer, R"("d_inner": 3, "n_head": 3)")) ==
        "multi_head_attention: d_model 4 is not divisible by n_head 3");
}

namespace {

/// Changes the n-th size among a config's fields, and knows its key.
struct SizeChange {
  int n;
  int64_t size;
  std::string key{};
  int64_t most = 0;

  template <class Value, class... Usual>
  void operator()(const Value&, const Field&, const Usual&...) {}
  template <class... Usual>
  void operator()(int64_t& value, const Field& field, const Usual&...) {
    change(field, value);
  }
  template <class... Usual>
  void operator()(std::optional<int64_t>& value, const Field& field, const Usual&...) {
    change(field, value);
  }
  template <class... Usual>
  void operator()(std::optional<Window>& value, const Field& field, const Usual&...) {
    change(field, value);
  }

 private:
  template <class Value>
  void change(const Field& field, Value& value) {
    if (n-- != 0) return;
    key = field.name;
    most = static_cast<int64_t>(field.of.range.greatest);
    value = size;
  }
};

/// Each size in turn is too large, and refused by its key.
template <class Config>
void check_too_large(const Config& good, int sizes) {
  int changed = 0;
  for (int64_t size :
       {(int64_t{1} << 30) + 1, int64_t{1} << 31, int64_t{1} << 58, int64_t{1} << 62, INT64_MAX})
    for (int n = 0;; ++n, ++changed) {
      Config config = good;
      SizeChange change{n, size};
      config.fields(change);
      if (change.key.empty()) break;
      CAPTURE(change.key);
      CHECK(refusal([&] {
              Random random;
              auto layer = make_layer(config, random);
            }) ==
            text(Config::type, ": ", change.key, " ", size, ", expected at most ", change.most));
      CHECK(change.most <= 1000000000);
    }
  CHECK(changed == 5 * sizes);
}

}  // namespace

TEST_CASE("every size in every config has a greatest value") {
  Sized mixer{MultiHeadAttentionConfig{}, {4, 2}};
  check_too_large(mixer, 4);
  check_too_large(Sized{RelativeMultiHeadAttentionConfig{}, {4, 2}}, 3);
  check_too_large(Sized{RelativeGlobalAttentionConfig{.max_seq = 3}, {4, 2}}, 3);
  check_too_large(Sized{ShawAttentionConfig{.max_distance = 3}, {4, 2}}, 3);
  check_too_large(Sized{TransformerXLAttentionConfig{}, {4, 2}}, 7);
  check_too_large(Sized{AftConfig{.form = AftForm::simple}, {4}}, 5);
  check_too_large(Sized{LocalRnnConfig{.window = 3}, {4}}, 2);
  check_too_large(Sized{TransformerBlockConfig{.mixer = mixer, .d_inner = 3}, mixer}, 1);
  check_too_large(Sized{EncoderDecoderBlockConfig{{.mixer = mixer, .d_inner = 3}}, mixer}, 2);
  LanguageModelConfig model{
      .vocab_size = 5, .d_model = 4, .n_layer = 2, .n_head = 2, .d_inner = 3, .mixer = mixer};
  check_too_large(model, 6);
  model.block = BlockType::r_transformer_block;
  model.window = 3;
  check_too_large(model, 8);
  EncoderDecoderConfig pairs;
  pairs.source_vocab_size = pairs.target_vocab_size = pairs.d_model = 4;
  pairs.n_encoder_layer = pairs.n_decoder_layer = pairs.n_head = pairs.d_inner = 2;
  check_too_large(pairs, 9);
}

TEST_CASE("sizes whose products would not fit into 64 bits") {
  auto too_large = [](const std::string& json) {
    std::string reason = error_of<TransformerXLAttentionConfig>(json);
    CHECK(reason.find('\n') == std::string::npos);
    return !reason.empty();
  };
  CHECK(too_large(R"({"d_model": 2, "n_head": 1073741824, "d_head": 1073741824})"));
  CHECK(too_large(R"({"d_model": 1073741824, "n_head": 1, "d_head": 1073741824})"));
  CHECK(error_of<LocalRnnConfig>(R"({"d_model": 4, "window": 65537})") ==
        "local_rnn: window 65537, expected at most 65536");
}

TEST_CASE("a key that stands twice") {
  CHECK(error_of<LanguageModelConfig>(R"({"n_layer": 2, "n_layer": 0})") ==
        "the config: key \"n_layer\" stands twice");
}

TEST_CASE("language models") {
  auto model = [](const std::string& more, const std::string& mixer = R"({"type": "aft"})") {
    std::string sizes =
        R"("vocab_size": 5, "d_model": 4, "n_layer": 2, "n_head": 2, "d_inner": 3, "mixer": )";
    return with(sizes + mixer, more);
  };
  const std::string simple = R"({"type": "aft", "form": "simple"})";
  auto untied = [](const std::string& bias) {
    return "tie_position_biases for blocks without mixer." + bias +
           ", expected sinusoid transformer_xl_attention with both biases";
  };
  const std::string heads_only = R"({"type": "multi_head_attention"})";
  const std::string learned_xl =
      R"({"type": "transformer_xl_attention", "positions": "learned", "max_positions": 9})";
  check_refused<LanguageModelConfig>({
      {"{}", "config key \"mixer\" is missing"},
      {R"({"mixer": {"type": "aft"}})", "vocab_size 0, expected at least 1"},
      {R"({"mixer": {"type": "aft"}, "vocab_size": 5})", "d_model 0, expected at least 1"},
      {R"({"mixer": {"type": "aft"}, "vocab_size": 5, "d_model": 4, "n_layer": 0})",
       "n_layer 0, expected at least 1"},
      {model("", R"({"type": "aft", "d_model": 4})"), "the mixer takes d_model from the model"},
      {model("", R"({"type": "aft", "n_head": 2})"), "the mixer takes n_head from the model"},
      {model("", R"({"type": "multi_head_attention", "n_head": 2})"),
       "the mixer takes n_head from the model"},
      {model(R"("position": "rope")", simple),
       "config key \"position\" is \"rope\", expected none, sinusoid or learned"},
      {model(R"("position": "learned")", simple), "max_len is missing for learned positions"},
      {model(R"("max_len": 9)", simple), "max_len without learned positions"},
      {model(R"("position": "sinusoid", "max_len": 9)", simple),
       "max_len without learned positions"},
      {model(R"("position": "learned", "max_len": 0)", simple), "max_len 0, expected at least 1"},
      {model(R"("tie_position_biases": true)", heads_only), untied("content_bias")},
      {model(R"("tie_position_biases": true)", learned_xl), untied("position_bias")},
      {model(R"("tie_position_biases": true)",
             R"({"type": "transformer_xl_attention", "content_bias": false})"),
       untied("content_bias")},
      {model(R"("block": "block")", simple),
       "config key \"block\" is \"block\", expected transformer_block or r_transformer_block"},
      {model(R"("window": 3)", simple), unknown<LanguageModelConfig>("window")},
      {model(R"("cell": "gru")", simple), unknown<LanguageModelConfig>("cell")},
      {model(R"("dropout": 0.1)", simple), unknown<LanguageModelConfig>("dropout")},
      {model(R"("norm_eps": 0.1)", simple), unknown<LanguageModelConfig>("norm_eps")},
      {model(R"("final_norm": null)", simple),
       "config key \"final_norm\" is null, expected true or false"},
  });
  const std::string r_model =
      R"("vocab_size": 5, "d_model": 4, "n_layer": 2, "n_head": 2, "d_inner": 3,)"
      R"( "block": "r_transformer_block")";
  const LanguageModelConfig r_type{.block = BlockType::r_transformer_block};
  check_refused<LanguageModelConfig>({
      {with(r_model, R"("cell": "gru")"), "config key \"window\" is missing"},
      {with(r_model, R"("window": 2)"), "config key \"cell\" is missing"},
      {with(r_model, R"("window": 2, "cell": "gru", "mixer": {"type": "aft"})"),
       unknown<LanguageModelConfig>("mixer", r_type)},
      {with(r_model, R"("window": 2, "cell": "gru", "norm_first": true)"),
       unknown<LanguageModelConfig>("norm_first", r_type)},
      {with(r_model, R"("window": 2, "cell": "gru", "activation": "relu")"),
       unknown<LanguageModelConfig>("activation", r_type)},
      {with(r_model, R"("window": 2, "cell": "gru", "tie_position_biases": true)"),
       untied("content_bias")},
  });
  CHECK(error_of<LanguageModelConfig>(with(r_model, R"("window": 1e999)")) ==
        "the config: key \"window\": 1e999 is beyond the range of double");
  CHECK(error_of<LanguageModelConfig>(with(r_model, R"("window": 0, "cell": "gru")")) ==
        "language_model: window 0, expected at least 1");
  CHECK(error_of<LanguageModelConfig>(model("", R"({"type": "aft", "form": "conv"})")) ==
        "aft: window is missing for form conv");
  CHECK(error_of<LanguageModelConfig>(
            R"({"vocab_size": 5, "d_model": 5, "n_layer": 1, "n_head": 1, "d_inner": 3,)"
            R"( "mixer": {"type": "aft", "form": "simple"}, "position": "sinusoid"})") ==
        "language_model: sinusoid positions need an even d_model, not 5");
}

TEST_CASE("a mixer of the program's own is written where there is one") {
  LanguageModelConfig config{
      .vocab_size = 5, .d_model = 4, .n_layer = 1, .n_head = 2, .d_inner = 8};
  CHECK(config_to_json(config).find("own_mixer") == std::string::npos);
  config.own_mixer = true;
  CHECK(config_to_json(config).find(R"("own_mixer":true)") != std::string::npos);
  CHECK(config_from_json<LanguageModelConfig>(config_to_json(config)).own_mixer);
  CHECK(error_of<LanguageModelConfig>(config_to_json(config)) ==
        "language_model: own_mixer true, which needs the maker of that mixer");
}

TEST_CASE("lengths beyond a table are refused by its name") {
  auto run = [](const auto& config, int64_t M, int64_t T) {
    Random random;
    auto layer = make_layer(config, random);
    Context context;
    Tensor memory = Tensor::zeros({1, M, 4});
    return refusal([&] { layer.forward(Tensor::zeros({1, T, 4}), memory, context); });
  };
  Sized labml{RelativeMultiHeadAttentionConfig{.max_positions = 5}, {4, 2}};
  CHECK(run(labml, 2, 5) ==
        "relative_multi_head_attention: 5 queries of 7 keys are beyond max_positions 5");
  labml.causal = false;
  CHECK(run(labml, 0, 6) ==
        "relative_multi_head_attention: 6 queries of 6 keys are beyond max_positions 5");
  Sized aft{AftConfig{.max_len = 5}, {4}};
  CHECK(run(aft, 3, 3) == "aft: 6 tokens are beyond max_len 5");
  Random random;
  Aft layer(aft, aft, random);
  std::unique_ptr<Cache> cache = layer.make_cache();
  Context context;
  layer(Tensor::zeros({1, 5, 4}), *cache, context);
  CHECK(refusal([&] {
          layer(Tensor::zeros({1, 1, 4}), *cache, context);
        }) == "aft: 6 tokens are beyond max_len 5");
}

TEST_CASE("two names for one thing are refused") {
  check_refused<TransformerXLAttentionConfig>(
      {{with(sizes, R"("bias": true, "projection_bias": true)"),
        "config key \"bias\" beside \"projection_bias\""}});
  check_refused<RelativeGlobalAttentionConfig>(
      {{with(sizes, R"("max_seq": 5, "bidirectional": true, "causal": false)"),
        "config key \"causal\" beside \"bidirectional\""},
       {with(sizes, R"("max_seq": 5, "causal": 1)"),
        "config key \"causal\" is 1, expected true or false"}});
}
