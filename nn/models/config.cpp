#include "nn/models/config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.h"
#include "core/io/field_json.h"
#include "core/io/json.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using Json = nlohmann::json;

/// Return where the mixer of such a config puts its width, or null where the model has it.
Width* width_of(Width* config) { return config; }
Width* width_of(void*) { return nullptr; }

/// The keys that say in which direction mixers look. An encoder_decoder decides that.
constexpr std::array directions{"causal", "bidirectional"};

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
  /// `width` receives that of the config's mixer; without it, no mixer may name one.
  Reader(std::string layer, const Json& object, Width* width)
      : layer_(std::move(layer)), left_(object), width_(width) {
    require(object.is_object(), layer_, ": the config is not a JSON object");
  }

  template <class Value, class... Usual>
  void operator()(Value& value, const Field& field, const Usual&...) {
    if (!field.saved) return;
    bool needed = (std::is_same_v<Usual, Required> || ...);
    known_.insert(key_of(field));
    bool given = take(key_of(field), value, field);
    if constexpr (std::is_same_v<Value, bool>)
      if (given && *field.opposite) value = !value;
    const char* other = *field.opposite ? field.name : field.also;
    if (*other && take(other, value, field))
      require(!given, layer_, ": config key \"", other, "\" beside \"", key_of(field), '"');
    require(!needed || given, layer_, ": config key \"", key_of(field), "\" is missing");
  }

  void refuse_unknown_keys() const {
    for (const auto& [key, value] : left_.items())
      fail(layer_, ": unknown config key ", shown(key), ", expected ", listed(known_));
  }

 private:
  /// Reads the value of a key, if the object has it, and takes it out.
  bool take(const char* key, auto& value, const Field& field) {
    if (!left_.contains(key)) return false;
    read(key, left_[key], value, field);
    left_.erase(key);
    return true;
  }

  void read(const char* key, const Json& entry, auto& value, const Field& field) const {
    std::string wrong = read_json(entry, value, field);
    if (!wrong.empty()) fail(layer_, ": config key \"", key, "\" is ", shown(entry), wrong);
  }
  void read(const char* key, const Json& entry, MixerConfig& value, const Field&) const {
    if (!entry.is_object() || !entry.contains("type") || !entry["type"].is_string())
      fail(layer_, ": config key \"", key, "\" is ", shown(entry),
           ", expected an object with a type");
    value = mixer_of(entry);
  }
  MixerConfig mixer_of(Json fields) const;

  std::string layer_;
  Json left_;
  Width* width_;
  std::set<std::string> known_;
};

/// Collects the saved fields of a layer's config into an object. Absent options are left out, and
/// so are fields with the usual value, if the config says what that is; with `all`, they are null
/// and that value.
struct Writer {
  std::string layer{};
  bool all = false;
  const Width* width = nullptr;
  nlohmann::ordered_json object = nlohmann::ordered_json::object();

  template <class Value>
  void operator()(const Value& value, const Field& field) {
    if (!field.saved) return;
    if constexpr (std::is_same_v<Value, MixerConfig>) {
      Writer mixer{.all = all};
      mixer.object["type"] = type_of(value);
      auto write = [&](auto own) { width ? Sized{own, *width}.fields(mixer) : own.fields(mixer); };
      std::visit(write, value);
      if (layer == EncoderDecoderConfig::type)
        for (const char* direction : directions) mixer.object.erase(direction);
      object[field.name] = mixer.object;
    } else if constexpr (std::is_same_v<Value, bool>) {
      object[key_of(field)] = value != (*field.opposite != 0);
    } else {
      if constexpr (is_optional<Value>)
        if (!value && !all) return;
      write_json(object[field.name], value);
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
    auto read = [&](auto& each) {
      Reader reader(name, object, width_of(&each));
      each.fields(reader);
      reader.refuse_unknown_keys();
    };
    std::visit(read, config);
    return config;
  }
  return std::nullopt;
}

MixerConfig Reader::mixer_of(Json fields) const {
  std::string type = fields["type"].get<std::string>();
  fields.erase("type");
  auto refuse = [&](const char* key) {
    require(!fields.contains(key), layer_, ": the mixer takes ", key, " from the model");
  };
  if (!width_)
    for (const char* key : {"d_model", "n_head"}) refuse(key);
  if (layer_ == EncoderDecoderConfig::type)
    for (const char* key : directions) refuse(key);
  auto mixer = read_config<SizedMixerConfig>(type, fields);
  require(mixer.has_value(), "unknown mixer type ", shown(type), ", expected ",
          listed(type_names<MixerConfig>()));
  auto take = [&](const auto& sized) -> MixerConfig {
    if (width_) *width_ = sized;
    return sized;
  };
  return std::visit(take, *mixer);
}

}  // namespace

template <class Configs>
std::optional<Configs> config_named(const std::string& name, const std::string& text) {
  return read_config<Configs>(name, parse_json("the config", text, 4));
}
template std::optional<AnyConfig> config_named(const std::string&, const std::string&);
template std::optional<LayerConfig> config_named(const std::string&, const std::string&);
template std::optional<SizedMixerConfig> config_named(const std::string&, const std::string&);

std::string config_to_json(const AnyConfig& config, bool all) {
  auto write = [&](auto own) {
    Writer writer{type_of(config), all, width_of(&own)};
    own.fields(writer);
    return writer.object.dump();
  };
  return std::visit(write, config);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
