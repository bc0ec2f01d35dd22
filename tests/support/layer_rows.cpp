#include "tests/support/layer_rows.h"

#include "examples/variants/variants.h"
#include "nn/models/config.h"
#include "tests/shell/outside/convolution_mixer.h"
#include "tests/support/oracles/blocks.h"
#include "tests/support/oracles/counts.h"
#include "tests/support/oracles/variants.h"

namespace shiftgrad::test {

namespace {

/// What all rows have in common: everything comes from the config.
template <class Config>
LayerRow row(const std::string& name, const Config& config) {
  LayerRow result;
  result.name = name;
  result.type = Config::type;
  result.json = config_to_json(config);
  result.d_model = config.d_model;
  result.make = [config]() -> std::unique_ptr<Layer> {
    Random random;
    return std::make_unique<typename Config::Layer>(config, config, random);
  };
  result.oracle = [config](const Weights& weights, const Input& input) {
    return oracle(config, weights, input);
  };
  result.parameters = count(config);
  return result;
}

/// What a row has from the fields that many configs have.
template <class Config>
void describe(LayerRow& row, const Config& config) {
  const auto& [causal, window, chunk, always] = config.sight;
  row.causal = causal;
  if (window) row.held = row.sight = window->left;
  if (chunk) {
    row.chunk = chunk->size;
    row.held = std::min(row.held, row.chunk * (chunk->left_chunks + 1) - 1);
    row.sight = unlimited;
  }
  if (!always) return;
  row.sight = unlimited;
  bool is_bounded = false;
  if constexpr (requires { config.position; })
    is_bounded = config.position != AttentionPosition::alibi;
  row.held = is_bounded ? row.held + *always : unlimited;
}
void describe(LayerRow& row, const Sized<RelativeMultiHeadAttentionConfig>& config) {
  row.causal = config.causal;
  row.max_keys = config.causal ? config.max_positions + 1 : config.max_positions;
  row.held = config.max_positions;
}
void describe(LayerRow& row, const Sized<RelativeGlobalAttentionConfig>& config) {
  row.causal = config.causal;
  row.held = row.sight = config.max_seq - 1;
}
void describe(LayerRow& row, const Sized<ShawAttentionConfig>& config) {
  row.causal = config.causal;
}
void describe(LayerRow& row, const Sized<AftConfig>& config) {
  row.causal = config.causal;
  row.forgets = config.form == AftForm::full;
  row.max_keys = config.max_len.value_or(unlimited);
  row.held = config.form == AftForm::full ? *config.max_len : config.window.value_or(0);
}
void describe(LayerRow& row, const Sized<LocalRnnConfig>& config) {
  row.takes_masks = row.forgets = false;
  row.held = row.sight = config.window - 1;
}

template <class Config>
LayerRow mixer(const std::string& name, const Config& config) {
  LayerRow result = row(name, config);
  describe(result, config);
  return result;
}

template <class Mixer>
LayerRow block(const std::string& name, const Sized<Mixer>& mixer, TransformerBlockConfig config) {
  config.mixer = mixer;
  LayerRow result = row(name, Sized{config, mixer});
  describe(result, mixer);
  return result;
}

LayerRow r_block(RecurrentCell cell, int64_t rnn_layers = 1) {
  Sized config{
      RTransformerBlockConfig{.window = 3, .cell = cell, .d_inner = 5, .rnn_layers = rnn_layers},
      {6, 2}};
  LayerRow result = row(text("r_transformer_block ", cell, " x", rnn_layers), config);
  result.takes_masks = result.takes_memory = result.forgets = false;
  return result;
}

void add_multi_head_attention(std::vector<LayerRow>& rows) {
  using Config = MultiHeadAttentionConfig;
  rows.push_back(mixer("mha", Sized{Config{}, {6, 2}}));
  rows.push_back(mixer("mha two-way, no bias",
                       Sized{Config{.bias = false, .sight = {.causal = false}}, {6, 3}}));
  rows.push_back(mixer("mha window 3", Sized{Config{.sight = {.window = 3}}, {6, 2}}));
  rows.push_back(mixer("mha window 1", Sized{Config{.sight = {.window = 1}}, {4, 1}}));
  rows.push_back(mixer("mha two-way window 2",
                       Sized{Config{.sight = {.causal = false, .window = 2}}, {6, 2}}));
  rows.push_back(mixer("mha two-way window [3, 1]",
                       Sized{Config{.sight = {.causal = false, .window = Window{3, 1}}}, {6, 2}}));
  for (auto position : {AttentionPosition::none, AttentionPosition::rope, AttentionPosition::alibi})
    for (bool causal : {true, false}) {
      const Sight sight{.causal = causal, .window = 3, .always = 2};
      rows.push_back(mixer(text("mha window, first keys, ", position, causal ? "" : ", two-way"),
                           Sized{Config{.sight = sight, .position = position}, {12, 3}}));
    }
  rows.push_back(
      mixer("mha chunks, first keys, two-way",
            Sized{Config{.sight = {.causal = false, .chunk = Chunk{3, 0}, .always = 2}}, {6, 2}}));
  for (bool causal : {true, false}) {
    Sized config{Config{.sight = {.causal = causal, .chunk = Chunk{3, 1}}}, {12, 3}};
    for (auto position :
         {AttentionPosition::none, AttentionPosition::rope, AttentionPosition::alibi}) {
      config.position = position;
      rows.push_back(mixer(text("mha chunks, ", position, causal ? "" : ", two-way"), config));
    }
    config.sight.window = Window{3, 2};
    rows.push_back(mixer(text("mha chunks and window", causal ? "" : ", two-way"), config));
  }
  for (AttentionPosition position : {AttentionPosition::rope, AttentionPosition::alibi}) {
    Sized config{Config{.position = position}, {12, 3}};
    rows.push_back(mixer(text("mha ", position), config));
    config.sight.window = 4;
    rows.push_back(mixer(text("mha ", position, " window"), config));
    config.sight.causal = false;
    rows.push_back(mixer(text("mha ", position, " two-way window"), config));
    config.sight.window = std::nullopt;
    rows.push_back(mixer(text("mha ", position, " two-way"), config));
  }
}

void add_learned_tables(std::vector<LayerRow>& rows) {
  using Labml = RelativeMultiHeadAttentionConfig;
  rows.push_back(mixer("labml", Sized{Labml{.max_positions = 15}, {6, 2}}));
  rows.push_back(mixer("labml short", Sized{Labml{.max_positions = 7}, {6, 3}}));
  rows.push_back(
      mixer("labml two-way", Sized{Labml{.max_positions = 16, .causal = false}, {6, 2}}));
  using Music = RelativeGlobalAttentionConfig;
  for (int64_t max_seq : {1, 3, 32})
    for (bool two_way : {false, true}) {
      Sized config{Music{.max_seq = max_seq, .causal = !two_way}, {6, 2}};
      std::string name =
          "music " + std::to_string(max_seq) + (two_way ? " bidirectional" : " causal");
      rows.push_back(mixer(name, config));
      config.relative_bias = false;
      if (max_seq == 3) rows.push_back(mixer(name + " no bias", config));
    }
  using Shaw = ShawAttentionConfig;
  for (int64_t k : {0, 2, 40})
    for (bool causal : {false, true})
      rows.push_back(mixer("shaw " + std::to_string(k) + (causal ? " causal" : " two-way"),
                           Sized{Shaw{.max_distance = k, .causal = causal}, {6, 2}}));
  Sized shaw{Shaw{.max_distance = 2, .bias = false}, {8, 2}};
  for (bool keys : {false, true})
    for (bool values : {false, true}) {
      shaw.key_positions = keys;
      shaw.value_positions = values;
      rows.push_back(mixer(text("shaw no bias, tables ", keys, values), shaw));
    }
}

void add_transformer_xl(std::vector<LayerRow>& rows) {
  using Config = TransformerXLAttentionConfig;
  Sized config{Config{}, {6, 2}};
  rows.push_back(mixer("xl", config));
  config.d_head = 5;
  rows.push_back(mixer("xl d_head 5", config));
  config.clamp_len = 2;
  rows.push_back(mixer("xl clamp_len 2", config));
  config.sight.window = 4;
  rows.push_back(mixer("xl clamp_len 2, window 4", config));
  config.clamp_len = std::nullopt;
  config.d_head = std::nullopt;
  rows.push_back(mixer("xl window 4", config));
  config.sight.always = 2;
  rows.push_back(mixer("xl window 4, first keys", config));
  config.sight.always = std::nullopt;
  config.sight.causal = false;
  rows.push_back(mixer("xl window 4, two-way", config));
  config.sight.window = Window{1, 2};
  rows.push_back(mixer("xl window [1, 2], two-way", config));
  config.sight.window = std::nullopt;
  config.sight.chunk = Chunk{2, 2};
  rows.push_back(mixer("xl chunks, two-way", config));
  config.sight.causal = true;
  rows.push_back(mixer("xl chunks", config));
  config.sight.causal = false;
  config.sight.chunk = std::nullopt;
  rows.push_back(mixer("xl two-way", config));
  config.clamp_len = 2;
  rows.push_back(mixer("xl clamp_len 2, two-way", config));
  Sized plain{Config{.content_bias = false}, {6, 2}};
  rows.push_back(mixer("xl minus (c)", plain));
  plain.position_bias = false;
  rows.push_back(mixer("xl minus (c) and (d)", plain));
  plain.content_bias = true;
  rows.push_back(mixer("xl minus (d)", plain));
  Sized biased{Config{.d_head = 5, .bias = true}, {6, 2}};
  rows.push_back(mixer("xl with biases", biased));
  Sized learned{Config{.d_head = 2, .positions = DistancePositions::learned}, {5, 3}};
  learned.max_positions = 17;
  rows.push_back(mixer("xl learned", learned));
  learned.max_positions = 8;
  rows.push_back(mixer("xl learned short", learned));
  learned.max_positions = 3;
  rows.push_back(mixer("xl learned, clipped", learned));
  learned.sight.window = 3;
  rows.push_back(mixer("xl learned window 3", learned));
  learned.content_bias = learned.position_bias = false;
  rows.push_back(mixer("xl learned minus (c) and (d)", learned));
  learned.bias = true;
  rows.push_back(mixer("xl learned with biases", learned));
}

void add_aft(std::vector<LayerRow>& rows) {
  using Config = AftConfig;
  for (bool causal : {true, false}) {
    std::string way = causal ? "" : " two-way";
    for (AftForm form : {AftForm::full, AftForm::local})
      for (int64_t rank : {0, 2}) {
        Sized config{Config{.form = form, .max_len = 16, .causal = causal, .factor_rank = rank},
                     {3}};
        if (form == AftForm::local) config.window = 3;
        rows.push_back(mixer(text("aft ", form, " rank ", rank, way), config));
      }
    rows.push_back(mixer(
        "aft local 1" + way,
        Sized{Config{.form = AftForm::local, .max_len = 16, .window = 1, .causal = causal}, {3}}));
    rows.push_back(mixer(
        "aft local beyond" + way,
        Sized{Config{.form = AftForm::local, .max_len = 16, .window = 20, .causal = causal}, {3}}));
    rows.push_back(
        mixer("aft simple" + way,
              Sized{Config{.form = AftForm::simple, .causal = causal, .bias = causal}, {3}}));
    for (int64_t window : {1, 3, 19}) {
      Sized config{
          Config{.form = AftForm::conv, .window = window, .causal = causal, .bias = window != 3},
          {6, 2}};
      rows.push_back(mixer("aft conv " + std::to_string(window) + way, config));
    }
  }
  rows.push_back(mixer("aft conv even", Sized{Config{.form = AftForm::conv, .window = 2}, {4, 4}}));
}

void add_blocks(std::vector<LayerRow>& rows) {
  Sized xl{TransformerXLAttentionConfig{.d_head = 3}, {4, 2}};
  Sized aft{AftConfig{.form = AftForm::conv, .window = 2}, {4, 2}};
  Sized gru{LocalRnnConfig{.window = 3, .cell = RecurrentCell::gru}, {4}};
  Sized alibi{
      MultiHeadAttentionConfig{.sight = {.window = 5}, .position = AttentionPosition::alibi},
      {4, 2}};
  rows.push_back(block("block xl", xl, {.d_inner = 7}));
  rows.push_back(block("block xl norm last", xl, {.d_inner = 7, .norm_first = false}));
  rows.push_back(block("block aft gelu", aft, {.d_inner = 5, .activation = Activation::gelu}));
  rows.push_back(block("block local_rnn gelu_tanh", gru,
                       {.d_inner = 3, .activation = Activation::gelu_tanh, .norm_eps = 0.1}));
  rows.push_back(block("block local_rnn norm last", gru,
                       {.d_inner = 5, .norm_first = false, .activation = Activation::gelu}));
  rows.push_back(block("block alibi", alibi, {.d_inner = 3, .activation = Activation::gelu}));
  for (RecurrentCell cell : {RecurrentCell::rnn, RecurrentCell::gru, RecurrentCell::lstm})
    rows.push_back(r_block(cell));
  rows.push_back(r_block(RecurrentCell::gru, 2));
}

/// A layer that was written outside of the library.
LayerRow outside_row(const std::string& name, const std::string& type, int64_t d_model,
                     std::function<std::unique_ptr<Layer>(Random&)> make, auto oracle,
                     int64_t parameters) {
  LayerRow result;
  result.name = name;
  result.type = type;
  result.d_model = d_model;
  result.make = [=]() -> std::unique_ptr<Layer> {
    Random random;
    return make(random);
  };
  result.oracle = oracle;
  result.parameters = parameters;
  return result;
}

/// One of examples/variants, of 8 channels unless its name says otherwise. `make` and `oracle` get
/// d_model, a number of heads and these sizes.
template <class... Sizes>
LayerRow variant(const std::string& name, const std::string& type, auto make, auto oracle,
                 int64_t parameters, int64_t heads, Sizes... sizes) {
  return outside_row(
      name, type, 8, [=](Random& random) { return make(8, heads, sizes..., random); },
      [=](const Weights& weights, const Input& input) {
        return oracle(heads, sizes..., weights, input);
      },
      parameters);
}

void add_variants(std::vector<LayerRow>& rows) {
  using namespace variants;
  const int64_t plain = count_of_heads(8, 8, true);
  rows.push_back(variant("fox", "fox_attention", fox, fox_oracle, plain + 2 * 9, 2));
  rows.push_back(variant("sink", "sink_attention", sink, sink_oracle, plain + 2, 2, 3));
  rows.back().held = rows.back().sight = 2;
  rows.push_back(
      variant("soft cap", "soft_cap_attention", soft_cap, soft_cap_oracle, plain, 2, 0.5));
  for (int64_t groups : {1, 2, 4})
    rows.push_back(variant(text("grouped ", groups), "grouped_attention", grouped, grouped_oracle,
                           count_of_linear(8, 8 + 4 * groups, true) + count_of_linear(8, 8, true),
                           4, groups));
  for (double threshold : {3.5, 90.0})
    rows.push_back(variant(text("fire ", threshold), "fire_attention", fire, fire_oracle,
                           plain + 2 + 2 * 5 + 2 * 6, 2, 5, threshold));
  for (int64_t positions : {1, 4, 100})
    rows.push_back(variant(text("cope ", positions), "cope_attention", cope, cope_oracle,
                           plain + positions * 4, 2, positions));
  rows.push_back(variant("differential", "differential_attention", differential,
                         differential_oracle, count_of_heads(8, 8, false) + 8 + 4, 2));
  rows.push_back(
      variant("streaming", "streaming_attention", streaming, streaming_oracle, plain, 2, 2, 3));
  rows.back().held = 4;
  for (int64_t chunk : {1, 4})
    for (bool gated : {true, false}) {
      const std::string type = gated ? "gated_linear" : "retention";
      rows.push_back(variant(
          text(type, ' ', chunk), type, gated ? gated_linear : retention, gated_linear_oracle,
          count_of_heads(8, 8, false) + 8 * 8 + 4 + (gated ? 8 * 9 : 0), 2, chunk));
      rows.back().takes_masks = rows.back().forgets = false;
    }
  for (bool causal : {true, false}) {
    rows.push_back(variant(text("swin", causal ? "" : ", two-way"), "swin_attention", swin,
                           swin_oracle, plain + 2 * 3 * 5, 2, 2, 3, causal));
    rows.back().causal = causal;
    rows.back().chunk = 6;
    rows.back().held = 5;
  }
}

void add_convolution(std::vector<LayerRow>& rows) {
  rows.push_back(outside_row(
      "convolution", "convolution", 3,
      [](Random& random) { return std::make_unique<outside::ConvolutionMixer>(3, 3, random); },
      convolution_oracle, 3 * 3 + count_of_linear(3, 3, true)));
  rows.back().takes_masks = false;
  rows.back().held = rows.back().sight = 2;
}

std::vector<LayerRow> all_rows() {
  std::vector<LayerRow> rows;
  add_multi_head_attention(rows);
  add_learned_tables(rows);
  add_transformer_xl(rows);
  add_aft(rows);
  for (RecurrentCell cell : {RecurrentCell::rnn, RecurrentCell::gru, RecurrentCell::lstm})
    for (int64_t window : {1, 4})
      rows.push_back(mixer(text("local_rnn ", cell, " ", window),
                           Sized{LocalRnnConfig{.window = window, .cell = cell}, {3}}));
  add_blocks(rows);
  add_variants(rows);
  add_convolution(rows);
  return rows;
}

}  // namespace

const std::vector<LayerRow>& layer_rows() {
  static const std::vector<LayerRow> rows = all_rows();
  return rows;
}

}  // namespace shiftgrad::test
