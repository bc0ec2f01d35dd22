#include "nn/models/config.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.h"
#include "core/io/json.h"

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

/// Returns the key under which JSON has the field.
const char* key_of(const Field& field) { return *field.opposite ? field.opposite : field.name; }

/// Fills a config's fields from an object, and remembers which keys they named.
class Reader {
 public:
  Reader(std::string layer, const Json& object) : layer_(std::move(layer)), object_(object) {
    require(object.is_object(), layer_, ": the config is not a JSON object");
  }

  template <class Value, class... Usual>
  void operator()(Value& value, const Field& field, const Usual&...) {
    bool needed = (std::is_same_v<Usual, Required> || ...);
    known_.insert(key_of(field));
    bool given = take(key_of(field), value);
    if constexpr (std::is_same_v<Value, bool>)
      if (given && *field.opposite) value = !value;
    const char* other = *field.opposite ? field.name : field.also;
    if (*other && take(other, value)) {
      require(!given, layer_, ": config key \"", other, "\" beside \"", key_of(field), '"');
      others_.insert(other);
    }
    require(!needed || given, layer_, ": config key \"", key_of(field), "\" is missing");
  }

  void refuse_unknown_keys() const {
    for (const auto& [key, value] : object_.items())
      if (!known_.contains(key) && !others_.contains(key))
        fail(layer_, ": unknown config key ", shown(key), ", expected ", listed(known_));
  }

 private:
  /// Reads the value of a key, if the object has it.
  template <class Value>
  bool take(const char* key, Value& value) const {
    auto entry = object_.find(key);
    if (entry != object_.end()) read(key, *entry, value);
    return entry != object_.end();
  }
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
  std::set<std::string> known_, others_;
};

/// Collects the fields of a layer's config into an object. Absent options are left out, and so are
/// fields with the usual value, if the config says what that is; with `all`, they are null and that
/// value.
struct Writer {
  std::string layer{};
  bool all = false;
  nlohmann::ordered_json object = nlohmann::ordered_json::object();

  template <class Value>
  void operator()(const Value& value, const Field& field) {
    if constexpr (Named<Value>)
      object[field.name] = name_of(value);
    else if constexpr (std::is_same_v<Value, bool>)
      object[key_of(field)] = value != (*field.opposite != 0);
    else
      object[field.name] = value;
  }
  template <class Value>
  void operator()(const std::optional<Value>& value, const Field& field) {
    if (value)
      object[field.name] = *value;
    else if (all)
      object[field.name] = nullptr;
  }
  template <class Value>
  void operator()(const Value& value, const Field& field, const Value& usual) {
    if (all || value != usual) (*this)(value, field);
  }
  void operator()(const auto& value, const Field& field, Required) { (*this)(value, field); }
  void operator()(const MixerConfig& value, const Field& field) {
    Writer mixer{.all = all};
    mixer.object["type"] = type_of(value);
    std::visit([&](auto config) { config.fields(mixer); }, value);
    for (const std::string& taken : taken_from(layer)) mixer.object.erase(taken);
    object[field.name] = mixer.object;
  }
};

template <class Configs>
std::optional<Configs> read_config(const std::string& name, const Json& object) {
  for (Configs& config : all_configs<Configs>()) {
    if (name != type_of(config)) continue;
    Reader reader(name, object);
    std::visit([&](auto& each) { each.fields(reader); }, config);
    reader.refuse_unknown_keys();
    return config;
  }
  return std::nullopt;
}

void Reader::read(const char* key, const Json& entry, MixerConfig& value) const {
  expect(entry.is_object() && entry.contains("type") && entry["type"].is_string(), key, entry,
         "an object with a type");
  Json fields = entry;
  fields.erase("type");
  for (const std::string& taken : taken_from(layer_))
    require(!fields.contains(taken), layer_, ": the mixer takes ", taken, " from the model");
  std::string type = entry["type"].get<std::string>();
  std::optional<MixerConfig> mixer = read_config<MixerConfig>(type, fields);
  require(mixer.has_value(), "unknown mixer type ", shown(type), ", expected ",
          listed(type_names<MixerConfig>()));
  value = *mixer;
}

template <class Config>
int64_t width(const Config& config) {
  if constexpr (requires { config.d_model; })
    return config.d_model;
  else
    return std::visit([](const auto& mixer) { return mixer.d_model; }, config.mixer);
}

}  // namespace

template <class Configs>
std::optional<Configs> config_named(const std::string& name, const std::string& text) {
  return read_config<Configs>(name, parse_json("the config", text, 4));
}
template std::optional<AnyConfig> config_named(const std::string&, const std::string&);
template std::optional<LayerConfig> config_named(const std::string&, const std::string&);
template std::optional<MixerConfig> config_named(const std::string&, const std::string&);

std::string config_to_json(const AnyConfig& config, bool all) {
  Writer writer{type_of(config), all};
  std::visit([&](auto copy) { copy.fields(writer); }, config);
  return writer.object.dump();
}

int64_t layer_width(const LayerConfig& config) {
  return std::visit([](const auto& layer) { return width(layer); }, config);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
