#include "worked_example.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "core/errors.h"
#include "core/tape.h"
#include "layer_case.h"
#include "layer_tables.h"

namespace show_layer {

using namespace shiftgrad;

std::string Axis::label(int64_t n) const {
  return name.empty() ? "" : text(name, '=', first + n * step);
}

const Table& WorkedExample::operator[](const std::string& name) const {
  auto table = std::ranges::find(tables, name, &Table::name);
  require(table != tables.end(), layer, ": there is no table ", name);
  return *table;
}

namespace {

constexpr const char* cross = "cross_attention";

void check(int64_t T, int64_t M) {
  constexpr int64_t most = 16;
  require(1 <= T && T <= most, "T ", T, ", expected 1 to ", most);
  require(0 <= M && M <= most, "M ", M, ", expected 0 to ", most);
}

/// The static type of the mixer says which tables there are.
template <class Mixer>
WorkedExample example_of(const std::string& name, Mixer& mixer, int64_t C, int64_t T, int64_t M) {
  Tape::Pause constant;
  Tensor memory = M > 0 ? tokens(0, M, C) : Tensor(), x = tokens(M, T, C);
  Context context;
  LayerTerms terms = mixer.terms(x, memory, context);
  auto* attention = std::get_if<RelativeAttention>(&terms);
  fill_parameters(mixer, attention ? attention->query.size(3) : C);
  WorkedExample example{name, {}, {}};
  add_tables(example, mixer, x, memory);
  return example;
}

/// Attention of T target tokens to S tokens of a source.
WorkedExample cross_attention(int64_t T, int64_t S) {
  require(S >= 1, "cross_attention: M ", S, ", expected a source of at least 1");
  constexpr int64_t C = 4;
  Tape::Pause constant;
  Random random;
  MultiHeadAttention mixer({}, {.d_model = C, .n_head = 1}, random);
  fill_parameters(mixer, C);
  WorkedExample example{cross, {}, {}};
  add_cross_attention(example, mixer, tokens(S, T, C), tokens(0, S, C));
  return example;
}

/// Adds the layer's name, and its forms: by each choice among names, and the two-way form.
template <class Config>
void add_forms(Config& config, std::vector<std::string>& list) {
  const std::string type = config.type;
  list.push_back(type);
  config.fields([&]<class Value>(const Value& usual, const Field& field, const auto&...) {
    if constexpr (Named<Value>)
      for (const char* name : names(usual))
        if (value_named<Value>(name) != usual)
          list.push_back(text(type, ':', field.name, '=', name));
  });
  if (find_field<bool>(config, "causal")) list.push_back(type + ":causal=false");
}

}  // namespace

WorkedExample worked_example(Layer& mixer, int64_t d_model, int64_t T, int64_t M) {
  check(T, M);
  return example_of(mixer.name, mixer, d_model, T, M);
}

WorkedExample worked_example(const Layer& mixer, const Tensor& x, const Tensor& memory) {
  require(x.rank() == 3 && x.size(0) == 1, mixer.name, ": x is ", x.shape(),
          ", expected [1, T, C]");
  Tape::Pause constant;
  WorkedExample example{mixer.name, {}, {}};
  add_tables(example, mixer, x, memory);
  return example;
}

WorkedExample worked_example(const std::string& layer, int64_t T, int64_t M) {
  check(T, M);
  if (layer == cross) return cross_attention(T, M);
  return std::visit(
      [&](const auto& config) {
        Random random;
        auto mixer = make_layer(config, random);
        return example_of(layer, mixer, config.d_model, T, M);
      },
      config_of(layer, T, M));
}

const std::vector<std::string>& layers_to_show() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const MixerConfig& config : all_configs<MixerConfig>())
      std::visit([&](auto mixer) { add_forms(mixer, list); }, config);
    return list;
  }();
  return names;
}

}  // namespace show_layer
