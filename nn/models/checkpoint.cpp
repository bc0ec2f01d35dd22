#include "nn/models/checkpoint.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.h"
#include "core/io/float_types.h"
#include "core/io/json.h"
#include "core/io/tensor_file.h"
#include "nn/models/config.h"
#include "nn/state_dict.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using nlohmann::json;

std::vector<int32_t> vocabulary_from(const RunFile& file) {
  json list = parse_json("vocabulary", file.at("vocabulary"));
  require(list.is_array(), "vocabulary ", shown(list), ", expected a list");
  std::set<int32_t> codes;
  std::vector<int32_t> result;
  for (const json& code : list) {
    require(code.is_number_integer() && code >= 0 && code <= 0x10FFFF, "vocabulary: ", shown(code),
            ", expected a character's code");
    require(codes.insert(code.get<int32_t>()).second, "vocabulary: ", shown(code), " stands twice");
    result.push_back(code);
  }
  return result;
}

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

}  // namespace

void save(const SequenceModel& model, const std::string& path, const RunState& state) {
  RunFile file{
      state_dict(model), {{"format", own_model_format}, {"model", model.config_text()}}, state};
  in_name_of(path, [&] {
    require(parse_json("model", file.at("model")).is_object(), model.name,
            ": config_text is not a JSON object");
  });
  write_run_file(path, std::move(file));
}

RunState load(SequenceModel& model, const std::string& path) {
  RunFile file = read_run_file(path);
  json config = in_name_of(path, [&] {
    file.check_format(file.is_of(language_model_format) ? language_model_format : own_model_format);
    json found = parse_json("model", file.at("model"));
    require(found.is_object(), "model is not a JSON object");
    return found;
  });
  std::string different = differences(config, json::parse(model.config_text()));
  require(different.empty(), path, ": a model of the config ", different,
          file.is_of(language_model_format)
              ? "; read it with make_model(read_checkpoint(path), path)"
              : "");
  auto weights =
      in_name_of(path, [&] { return with_type(std::move(file.weights), scalar_dtype); });
  load_state_dict(model, weights, path);
  return std::move(file.state);
}

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  RunFile file{checkpoint.weights,
               {{"format", language_model_format},
                {"model", config_to_json(checkpoint.model)},
                {"vocabulary", json(checkpoint.vocabulary).dump()},
                {"training", checkpoint.training}},
               checkpoint.state};
  write_run_file(path, std::move(file), [&](const RunFile& read) {
    const LanguageModelConfig& config = checkpoint.model;
    in_name_of(path, [&] { as_checkpoint(read); });
    if (config.own_mixer) return;
    check_loadable(checkpoint.weights, path,
                   [&](Init values) { return LanguageModel(config, values); });
  });
}

Checkpoint as_checkpoint(RunFile file) {
  file.check_format(language_model_format);
  Checkpoint checkpoint{.model = config_from_json<LanguageModelConfig>(file.at("model")),
                        .vocabulary = vocabulary_from(file),
                        .state = std::move(file.state),
                        .training = file.at("training"),
                        .weights = with_type(std::move(file.weights), scalar_dtype)};
  require(parse_json("training", file.at("training")).is_object(), "training is not a JSON object");
  auto tokens = static_cast<int64_t>(checkpoint.vocabulary.size());
  require(tokens == checkpoint.model.vocab_size, "a vocabulary of ", tokens, " tokens",
          " for a model with vocab_size ", checkpoint.model.vocab_size);
  return checkpoint;
}

Checkpoint read_checkpoint(const std::string& path) {
  RunFile file = read_run_file(path);
  return in_name_of(path, [&] { return as_checkpoint(std::move(file)); });
}

LanguageModel make_model(const Checkpoint& checkpoint, const std::string& source,
                         const MixerMaker& own_mixer) {
  require(checkpoint.model.own_mixer || !own_mixer, source,
          ": the maker of an own mixer for a model that has none");
  return loaded_model(checkpoint.weights, source, [&](Init values) {
    return LanguageModel(checkpoint.model, values, own_mixer);
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
