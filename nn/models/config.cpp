#include "nn/models/config.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.h"
#include "core/io/json.h"

namespace shiftgrad {

// What nlohmann's library calls for an assignment.
static void to_json(nlohmann::ordered_json& json, const Window& window) {
  if (window.is_number())
    json = window.left + 1;
  else
    json = {window.left, window.right};
}
static void to_json(nlohmann::ordered_json& json, const Chunk& chunk) {
  json = {chunk.size, chunk.left_chunks};
}

}  // namespace shiftgrad

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
std::string listed(const auto& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "none" : list;
}

/// Returns the key under which JSON has the field.
const char* key_of(const Field& field) { return *field.opposite ? field.opposite : field.name; }

/// Fills a config's saved fields from an object, and remembers which keys they named.
class Reader {
 public:
  Reader(std::string layer, const Json& object) : layer_(std::move(layer)), left_(object) {
    require(object.is_object(), layer_, ": the config is not a JSON object");
  }

  template <class Value, class... Usual>
  void operator()(Value& value, const Field& field, const Usual&...) {
    if (!field.saved) return;
    bool needed = (std::is_same_v<Usual, Required> || ...);
    known_.insert(key_of(field));
    bool given = take(key_of(field), value);
    if constexpr (std::is_same_v<Value, bool>)
      if (given && *field.opposite) value = !value;
    const char* other = *field.opposite ? field.name : field.also;
    if (*other && take(other, value))
      require(!given, layer_, ": config key \"", other, "\" beside \"", key_of(field), '"');
    require(!needed || given, layer_, ": config key \"", key_of(field), "\" is missing");
  }

  void refuse_unknown_keys() const {
    for (const auto& [key, value] : left_.items())
      fail(layer_, ": unknown config key ", shown(key), ", expected ", listed(known_));
  }

 private:
  /// Reads the value of a key, if the object has it, and takes it out.
  bool take(const char* key, auto& value) {
    if (!left_.contains(key)) return false;
    read(key, left_[key], value);
    left_.erase(key);
    return true;
  }

  template <class Value>
  void read(const char* key, const Json& entry, Value& value) const {
    auto expect = [&](bool fits, const char* expected) {
      if (!fits)
        fail(layer_, ": config key \"", key, "\" is ", shown(entry), ", expected ", expected);
    };
    if constexpr (is_optional<Value>) {
      read(key, entry, value.emplace());
    } else if constexpr (std::is_same_v<Value, MixerConfig>) {
      expect(entry.is_object() && entry.contains("type") && entry["type"].is_string(),
             "an object with a type");
      value = mixer_of(entry);
    } else if constexpr (Named<Value>) {
      expect(entry.is_string(), "a string");
      std::string name = entry.get<std::string>();
      require(is_name<Value>(name), layer_, ": ", key, ' ', shown(name), ", expected ",
              all_names<Value>());
      value = value_named<Value>(name);
    } else {
      if constexpr (std::is_same_v<Value, bool>) {
        expect(entry.is_boolean(), "true or false");
      } else if constexpr (std::is_same_v<Value, double>) {
        expect(entry.is_number(), "a number");
      } else {
        expect(entry.is_number_integer(), "a whole number");
        bool too_large = entry.is_number_unsigned() && entry.get<uint64_t>() > uint64_t{INT64_MAX};
        expect(!too_large, "a smaller number");
      }
      value = entry.get<Value>();
    }
  }
  void read(const char* key, const Json& entry, Window& value) const {
    if (entry.is_array()) return read(key, entry, value.left, value.right);
    int64_t below = 0;
    read(key, entry, below);
    value = below;
  }
  void read(const char* key, const Json& entry, Chunk& value) const {
    read(key, entry, value.size, value.left_chunks);
  }
  void read(const char* key, const Json& entry, int64_t& first, int64_t& second) const {
    if (!entry.is_array() || entry.size() != 2)
      fail(layer_, ": config key \"", key, "\" is ", shown(entry),
           ", expected a list of two whole numbers");
    read(key, entry[0], first);
    read(key, entry[1], second);
  }
  MixerConfig mixer_of(Json fields) const;

  std::string layer_;
  Json left_;
  std::set<std::string> known_;
};

/// Collects the saved fields of a layer's config into an object. Absent options are left out, and so are
/// fields with the usual value, if the config says what that is; with `all`, they are null and that
/// value.
struct Writer {
  std::string layer{};
  bool all = false;
  nlohmann::ordered_json object = nlohmann::ordered_json::object();

  template <class Value>
  void operator()(const Value& value, const Field& field) {
    if (!field.saved) return;
    if constexpr (is_optional<Value>) {
      if (value || all) object[field.name] = nullptr;
      if (value) object[field.name] = *value;
    } else if constexpr (std::is_same_v<Value, MixerConfig>) {
      Writer mixer{.all = all};
      mixer.object["type"] = type_of(value);
      MixerConfig copy = value;
      fields_of(copy, mixer);
      for (const std::string& taken : taken_from(layer)) mixer.object.erase(taken);
      object[field.name] = mixer.object;
    } else if constexpr (Named<Value>) {
      object[field.name] = name_of(value);
    } else if constexpr (std::is_same_v<Value, bool>) {
      object[key_of(field)] = value != (*field.opposite != 0);
    } else {
      object[field.name] = value;
    }
  }
  template <class Value>
  void operator()(const Value& value, const Field& field, const Value& usual) {
    if (all || value != usual) (*this)(value, field);
  }
  void operator()(const auto& value, const Field& field, Required) { (*this)(value, field); }
};

template <class Configs>
std::optional<Configs> read_config(const std::string& name, const Json& object) {
  for (Configs& config : all_configs<Configs>()) {
    if (name != type_of(config)) continue;
    Reader reader(name, object);
    fields_of(config, reader);
    reader.refuse_unknown_keys();
    return config;
  }
  return std::nullopt;
}

MixerConfig Reader::mixer_of(Json fields) const {
  std::string type = fields["type"].get<std::string>();
  fields.erase("type");
  for (const std::string& taken : taken_from(layer_))
    require(!fields.contains(taken), layer_, ": the mixer takes ", taken, " from the model");
  std::optional<MixerConfig> mixer = read_config<MixerConfig>(type, fields);
  require(mixer.has_value(), "unknown mixer type ", shown(type), ", expected ",
          listed(type_names<MixerConfig>()));
  return *mixer;
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
  AnyConfig copy = config;
  fields_of(copy, writer);
  return writer.object.dump();
}

int64_t layer_width(const LayerConfig& config) {
  auto width = [](const auto& mixer) { return mixer.d_model; };
  auto width_of_layer = [&](const auto& layer) {
    if constexpr (requires { layer.mixer; })
      return std::visit(width, layer.mixer);
    else
      return width(layer);
  };
  return std::visit(width_of_layer, config);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
