#include "nn/models/checkpoint.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.h"
#include "core/io/json.h"
#include "nn/models/checkpoint_parts.h"
#include "nn/models/config.h"
#include "nn/models/load_weights.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using nlohmann::json;

std::vector<int32_t> vocabulary_from(const Metadata& metadata) {
  json list = metadata.json("vocabulary");
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

Checkpoint checkpoint_from(SafeTensors content) {
  Metadata metadata(content.metadata);
  metadata.check_format(language_model_format);
  Checkpoint checkpoint;
  checkpoint.model = config_from_json<LanguageModelConfig>(metadata.at("model"));
  checkpoint.vocabulary = vocabulary_from(metadata);
  checkpoint.state = take_state(content);
  checkpoint.training = metadata.at("training");
  require(metadata.json("training").is_object(), "training is not a JSON object");
  checkpoint.weights = std::move(content.tensors);
  auto tokens = static_cast<int64_t>(checkpoint.vocabulary.size());
  require(tokens == checkpoint.model.vocab_size, "a vocabulary of ", tokens, " tokens",
          " for a model with vocab_size ", checkpoint.model.vocab_size);
  return checkpoint;
}

/// Throws before writing what would be refused when the checkpoint is read.
void check_readable(const SafeTensors& content, const Checkpoint& checkpoint,
                    const std::string& path) {
  in_name_of(path, [&] { checkpoint_from({{}, content.metadata}); });
  const LanguageModelConfig& config = checkpoint.model;
  if (config.own_mixer) return;
  check_loadable(checkpoint.weights, path,
                 [&](Random& random) { return LanguageModel(config, random); });
}

}  // namespace

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  SafeTensors content{checkpoint.weights,
                      {{"format", language_model_format},
                       {"model", config_to_json(checkpoint.model)},
                       {"vocabulary", json(checkpoint.vocabulary).dump()},
                       {"training", checkpoint.training}}};
  add_state(content, checkpoint.state);
  check_readable(content, checkpoint, path);
  write_safetensors(path, content);
}

Checkpoint read_checkpoint(const std::string& path) {
  SafeTensors content = read_safetensors(path);
  return in_name_of(path, [&] { return checkpoint_from(std::move(content)); });
}

LanguageModel make_model(const Checkpoint& checkpoint, const std::string& source,
                         const MixerMaker& own_mixer) {
  require(checkpoint.model.own_mixer || !own_mixer, source,
          ": the maker of an own mixer for a model that has none");
  return loaded_model(checkpoint.weights, source, [&](Random& random) {
    return LanguageModel(checkpoint.model, random, own_mixer);
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
