#include "layer_case.h"

#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <type_traits>
#include <utility>

#include "core/errors.h"
#include "examples/apps/draw/json_text.h"
#include "examples/apps/flags/near_name.h"

namespace show_layer {

using namespace shiftgrad;
using Json = nlohmann::json;

namespace {

/// Returns the object {KEY: VALUE, …} that "KEY=VALUE,…" describes. Numbers, true and false are
/// JSON; anything else is a name.
Json given_keys(const std::string& layer, std::string keys) {
  Json object = Json::object();
  std::istringstream parts(keys);
  for (std::string part; std::getline(parts, part, ',');) {
    size_t equals = part.find('=');
    require(equals != std::string::npos && equals > 0 && equals + 1 < part.size(), layer, ": \"",
            part, "\", expected KEY=VALUE");
    std::string key = apps::utf8_of(part.substr(0, equals)), value = part.substr(equals + 1);
    Json parsed = Json::parse(value, nullptr, false);
    object[key] = parsed.is_number() || parsed.is_boolean() ? parsed : Json(apps::utf8_of(value));
  }
  return object;
}

/// Returns the name of the field that configs of this type have under this or its other name, or
/// "".
std::string field_called(const std::string& type, const std::string& name) {
  std::string found;
  for (SizedMixerConfig& config : all_configs<SizedMixerConfig>())
    if (type == type_of(config))
      fields_of(config, [&](auto&, const Field& field, const auto&...) {
        if (name == field.name || name == field.also) found = field.name;
      });
  return found;
}

/// Returns what may have been meant with a layer or a key that there is not.
std::string hint_for(const std::string& type, const Json& given) {
  std::vector<std::string> layers, keys;
  for (SizedMixerConfig& config : all_configs<SizedMixerConfig>()) {
    layers.push_back(type_of(config));
    if (layers.back() != type) continue;
    fields_of(config, [&](auto&, const Field& field, const auto&...) {
      if (field.saved) keys.push_back(field.name);
    });
  }
  if (keys.empty()) {
    for (const KnownMixer& known : known_mixers())
      if (type == known.name) return text(", did you mean ", type_of(known.config), "?");
    std::string near = apps::did_you_mean(type, layers);
    return near.empty() ? "; --help lists them" : near;
  }
  for (const auto& [key, value] : given.items())
    if (field_called(type, key).empty()) return apps::did_you_mean(key, keys);
  return "";
}

/// Returns what the layer's config needs, in small: heads of four channels, or two channels without
/// heads.
Json small_config(const std::string& type, const Json& given, int64_t T, int64_t M) {
  auto is = [&](const char* key, const char* name) { return given.value(key, Json()) == name; };
  auto has = [&](const char* key) { return !field_called(type, key).empty(); };
  if (has("cell")) return {{"d_model", 2}, {"window", 3}};
  if (has("form")) {
    Json config = {{"d_model", 2}};
    bool conv = is("form", "conv"), simple = is("form", "simple");
    if (!conv && !simple) config["max_len"] = M + T;
    if (conv || is("form", "local")) config["window"] = conv ? 3 : 2;
    if (conv) config["n_head"] = 1;
    return config;
  }
  Json config = {{"d_model", 4}, {"n_head", 1}};
  // One head alone has ALiBi's gentlest slope, the first of eight has 1/2.
  if (is("position", "alibi")) config = {{"d_model", 32}, {"n_head", 8}};
  std::string table = field_called(type, "max_positions");
  if (!table.empty() && (!has("positions") || is("positions", "learned"))) config[table] = M + T;
  if (has("max_distance")) config["max_distance"] = 2;
  return config;
}

/// Whole numbers -1, 0 and 1, the same on every machine.
class SmallNumbers {
 public:
  explicit SmallNumbers(int64_t seed) : random_(static_cast<uint32_t>(seed)) {
    random_.discard(16);  // until neighbouring seeds have parted
  }
  Scalar next() { return static_cast<Scalar>(static_cast<int64_t>(random_() / 7 % 3) - 1); }

 private:
  std::minstd_rand random_;
};

/// Lets row r read one channel alone: r + `move`, counted within groups of `channels`. A weight of
/// several parts, such as q, k and v, moves each part by one more.
void fill_weight(const Tensor& weight, int64_t parts, int64_t channels, int64_t move) {
  int64_t rows = weight.size(0), C = weight.size(1);
  Scalar* value = weight.mutable_data();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < C; ++c) {
      int64_t read = (r % channels + move + r / (rows / parts)) % channels;
      *value++ = static_cast<Scalar>(c == read);
    }
}

void fill(const Parameter& parameter, int64_t channels, int64_t number) {
  const std::string& name = parameter.name;
  const Tensor& value = parameter.value;
  auto ends = [&](const char* ending) { return name.ends_with(ending); };
  int64_t parts = name.starts_with("qkv") ? 3 : 1;
  if (name == "output.weight") return fill_weight(value, 1, value.size(1), 0);
  if (name.starts_with("weight_"))
    return fill_weight(value, value.size(0) / channels, channels, name == "weight_hh");
  if (ends(".weight"))
    return fill_weight(value, parts, channels, name[0] == 'k' ? 1 : name[0] == 'v' ? 2 : 0);
  bool of_projection = ends(".bias") || name.starts_with("bias_");
  SmallNumbers numbers(number);
  Scalar* scalar = value.mutable_data();
  for (int64_t n = 0; n < value.count(); ++n) scalar[n] = of_projection ? 0 : numbers.next();
}

}  // namespace

SizedMixerConfig config_of(const std::string& layer, int64_t T, int64_t M) {
  constexpr int64_t widest = 64;
  size_t colon = layer.find(':');
  std::string type = layer.substr(0, colon);
  Json given =
      given_keys(layer, colon == std::string::npos ? std::string() : layer.substr(colon + 1));
  Json config = small_config(type, given, T, M);
  config.update(given);
  const Json& width = config["d_model"];
  require(!width.is_number() || width <= widest, layer, ": d_model ", width.dump(),
          ", expected at most ", widest);
  try {
    auto mixer = config_named<SizedMixerConfig>(type, config.dump());
    require(mixer.has_value(), type, ": no such layer");
    return *mixer;
  } catch (const Error& error) {
    fail(error.what(), hint_for(type, given));
  }
}

void fill_parameters(Module& layer, int64_t channels) {
  int64_t number = 0;
  for (const Parameter& parameter : parameters(layer)) fill(parameter, channels, ++number);
}

Tensor tokens(int64_t first, int64_t count, int64_t C) {
  Tensor x = Tensor::empty({1, count, C});
  Scalar* value = x.mutable_data();
  SmallNumbers numbers(100);
  for (int64_t t = 0; t < first + count; ++t) {
    std::array<Scalar, 4> token{};
    while (token[0] == token[1])
      for (Scalar& number : token) number = numbers.next();
    for (int64_t c = 0; c < C && t >= first; ++c) *value++ = token[static_cast<size_t>(c % 4)];
  }
  return x;
}

}  // namespace show_layer
