#include "nn/models/config.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/named.h"
#include "nn/models/encoder_decoder.h"
#include "nn/models/language_model.h"
#include "nn/models/layer_config.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using Json = nlohmann::json;

/// Names of the fields that mixers take from their model, so that a config says them once.
std::set<std::string> taken_from(const std::string& model) {
  if (model == LanguageModelConfig::type) return {"d_model", "n_head"};
  if (model == EncoderDecoderConfig::type) return {"d_model", "n_head", "causal", "bidirectional"};
  return {};
}

/// Returns the names as an error lists them.
template <class Names>
std::string listed(const Names& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "none" : list;
}

/// Fills a config's fields from an object, and remembers which keys they named.
class Reader {
 public:
  Reader(std::string layer, const Json& object) : layer_(std::move(layer)), object_(object) {
    require(object.is_object(), layer_, ": the config is not a JSON object");
  }

  template <class Value, class... Usual>
  void operator()(const char* key, Value& value, const Usual&...) {
    known_.insert(key);
    auto entry = object_.find(key);
    bool needed = (std::is_same_v<Usual, Required> || ...);
    require(!needed || entry != object_.end(), layer_, ": config key \"", key, "\" is missing");
    if (entry != object_.end()) read(key, *entry, value);
  }

  void refuse_unknown_keys() const {
    for (const auto& [key, value] : object_.items())
      if (!known_.contains(key))
        fail(layer_, ": unknown config key ", shown(key), ", expected ", listed(known_));
  }

 private:
  void expect(bool fits, const char* key, const Json& entry, const char* expected) const {
    if (!fits)
      fail(layer_, ": config key \"", key, "\" is ", shown(entry), ", expected ", expected);
  }
  void read(const char* key, const Json& entry, int64_t& value) const {
    expect(entry.is_number_integer(), key, entry, "a whole number");
    bool too_large = entry.is_number_unsigned() && entry.get<uint64_t>() > uint64_t{INT64_MAX};
    expect(!too_large, key, entry, "a smaller number");
    value = entry.get<int64_t>();
  }
  void read(const char* key, const Json& entry, double& value) const {
    expect(entry.is_number(), key, entry, "a number");
    value = entry.get<double>();
  }
  void read(const char* key, const Json& entry, bool& value) const {
    expect(entry.is_boolean(), key, entry, "true or false");
    value = entry.get<bool>();
  }
  template <Named Enum>
  void read(const char* key, const Json& entry, Enum& value) const {
    expect(entry.is_string(), key, entry, "a string");
    std::string name = entry.get<std::string>();
    require(is_name<Enum>(name), layer_, ": ", key, ' ', shown(name), ", expected ",
            all_names<Enum>());
    value = value_named<Enum>(name);
  }
  template <class Value>
  void read(const char* key, const Json& entry, std::optional<Value>& value) const {
    read(key, entry, value.emplace());
  }
  void read(const char* key, const Json& entry, MixerConfig& value) const;

  std::string layer_;
  const Json& object_;
  std::set<std::string> known_;
};

/// Collects the fields of a layer's config into an object. Absent options are left out, and so are
/// fields with the usual value, if the config says what that is; with `all`, they are null and that
/// value.
struct Writer {
  std::string layer{};
  bool all = false;
  nlohmann::ordered_json object = nlohmann::ordered_json::object();

  template <class Value>
  void operator()(const char* key, const Value& value) {
    if constexpr (Named<Value>)
      object[key] = name_of(value);
    else
      object[key] = value;
  }
  template <class Value>
  void operator()(const char* key, const std::optional<Value>& value) {
    if (value)
      object[key] = *value;
    else if (all)
      object[key] = nullptr;
  }
  template <class Value>
  void operator()(const char* key, const Value& value, const Value& usual) {
    if (all || value != usual) object[key] = value;
  }
  template <class Value>
  void operator()(const char* key, const Value& value, Required) {
    (*this)(key, value);
  }
  void operator()(const char* key, const MixerConfig& value) {
    Writer mixer{.all = all};
    std::visit(
        [&](auto config) {
          mixer.object["type"] = config.type;
          config.fields(mixer);
        },
        value);
    for (const std::string& taken : taken_from(layer)) mixer.object.erase(taken);
    object[key] = mixer.object;
  }
};

template <class Config>
Config read_config(const Json& object) {
  Config config;
  Reader reader(Config::type, object);
  config.fields(reader);
  reader.refuse_unknown_keys();
  return config;
}

/// Returns the alternative of MixerConfig with the named `type`.
template <size_t N = 0>
MixerConfig read_mixer(const std::string& type, const Json& object) {
  if constexpr (N == std::variant_size_v<MixerConfig>) {
    fail("unknown mixer type ", shown(type), ", expected ", listed(type_names<MixerConfig>()));
  } else {
    using Config = std::variant_alternative_t<N, MixerConfig>;
    return type == Config::type ? MixerConfig(read_config<Config>(object))
                                : read_mixer<N + 1>(type, object);
  }
}

void Reader::read(const char* key, const Json& entry, MixerConfig& value) const {
  expect(entry.is_object() && entry.contains("type") && entry["type"].is_string(), key, entry,
         "an object with a type");
  Json fields = entry;
  fields.erase("type");
  for (const std::string& taken : taken_from(layer_))
    require(!fields.contains(taken), layer_, ": the mixer takes ", taken, " from the model");
  value = read_mixer(entry["type"].get<std::string>(), fields);
}

}  // namespace

template <class Config>
Config config_from_json(const std::string& text) {
  return read_config<Config>(parse_json("the config", text, 4));
}

template <class Config>
std::string config_to_json(const Config& config, bool all) {
  Config copy = config;
  Writer writer{Config::type, all};
  copy.fields(writer);
  return writer.object.dump();
}

std::string layer_config_to_json(const LayerConfig& config, bool all) {
  return std::visit([&](const auto& layer) { return config_to_json(layer, all); }, config);
}

template RelShiftConfig config_from_json(const std::string&);
template ShiftRightConfig config_from_json(const std::string&);
template MultiHeadAttentionConfig config_from_json(const std::string&);
template RelativeMultiHeadAttentionConfig config_from_json(const std::string&);
template RelativeGlobalAttentionConfig config_from_json(const std::string&);
template ShawAttentionConfig config_from_json(const std::string&);
template TransformerXLAttentionConfig config_from_json(const std::string&);
template AftConfig config_from_json(const std::string&);
template LocalRnnConfig config_from_json(const std::string&);
template TransformerBlockConfig config_from_json(const std::string&);
template RTransformerBlockConfig config_from_json(const std::string&);
template EncoderDecoderBlockConfig config_from_json(const std::string&);
template LanguageModelConfig config_from_json(const std::string&);
template EncoderDecoderConfig config_from_json(const std::string&);
template std::string config_to_json(const RelShiftConfig&, bool);
template std::string config_to_json(const LanguageModelConfig&, bool);
template std::string config_to_json(const EncoderDecoderConfig&, bool);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
