#include "nn/models/module_file.h"

#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/io/float_types.h"
#include "core/io/json.h"
#include "core/io/tensor_file.h"
#include "nn/state_dict.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using nlohmann::json;

/// Returns where two configs differ: "n_layer 2, expected 3; mixer.window none, expected 5".
std::string differences(const json& found, const json& expected, const std::string& prefix = "") {
  auto value = [](const json& object, const std::string& key) {
    return object.contains(key) ? shown(object.at(key)) : "none";
  };
  json all = found;
  all.update(expected);
  std::string list;
  for (const auto& [key, unused] : all.items()) {
    bool both = found.contains(key) && expected.contains(key);
    if (both && found.at(key) == expected.at(key)) continue;
    bool nested = both && found.at(key).is_object() && expected.at(key).is_object();
    list += list.empty() ? "" : "; ";
    list += nested ? differences(found.at(key), expected.at(key), prefix + key + ".")
                   : text(prefix, key, ' ', value(found, key), ", expected ", value(expected, key));
  }
  return list;
}

/// Returns a config as JSON. Throws an error that names its owner when it is no JSON object.
json config_of(const std::string& owner, const std::string& config) {
  json parsed = parse_json(owner.c_str(), config);
  require(parsed.is_object(), owner, " is not a JSON object");
  return parsed;
}

void write(const Module& module, const std::string& path, const std::string& owner,
           const std::string& config, const RunState& state) {
  in_name_of(path, [&] { config_of(owner, config); });
  write_run_file(path,
                 {state_view(module), {{"format", own_model_format}, {"model", config}}, state});
}

/// Reads a file, with its floats as Scalars if any width will do.
RunFile read(const std::string& path, FloatWidth width) {
  RunFile file = read_run_file(path);
  if (width == FloatWidth::any)
    file.weights =
        in_name_of(path, [&] { return with_type(std::move(file.weights), scalar_dtype); });
  return file;
}

/// Copies the weights of a file of this format and config, or throws and leaves the module as it
/// was. `instead` is what else may read such a file.
RunState take(Module& module, const std::string& path, RunFile file, const char* format,
              const json& config, const std::string& instead = "") {
  auto check = [&] {
    file.check_format(format);
    std::string different = differences(config_of("model", file.at("model")), config);
    require(different.empty(), "a model of the config ", different, instead);
  };
  in_name_of(path, [&] { in_spite_of_version(file.version(), check); });
  load_state_dict(module, file.weights, path);
  return std::move(file.state);
}

}  // namespace

void save(const Module& module, const std::string& path, const std::string& config,
          const RunState& state) {
  write(module, path, "config", config, state);
}

RunState load(Module& module, const std::string& path, const std::string& config,
              FloatWidth width) {
  json own = in_name_of("load", [&] { return config_of("config", config); });
  RunFile file = read(path, width);
  for (const auto& [name, weight] : file.weights)
    require(!is_float(weight.dtype) || weight.dtype == scalar_dtype, path, ": tensor ", shown(name),
            ": ", weight.dtype, ", expected ", scalar_dtype, "; FloatWidth::any rounds");
  return take(module, path, std::move(file), own_model_format, own);
}

void save(const SequenceModel& model, const std::string& path, const RunState& state) {
  write(model, path, model.name + ": config_text", model.config_text(), state);
}

RunState load(SequenceModel& model, const std::string& path) {
  json own = config_of(model.name + ": config_text", model.config_text());
  RunFile file = read(path, FloatWidth::any);
  if (!file.is_of(language_model_format))
    return take(model, path, std::move(file), own_model_format, own);
  return take(model, path, std::move(file), language_model_format, own,
              "; read it with make_model(read_checkpoint(path), path)");
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
