#include "nn/models/checkpoint.h"

#include <algorithm>
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
    if (!code.is_number_integer() || code < 0 || code > 0x10FFFF)
      fail("vocabulary: ", shown(code), ", expected a character's code");
    if (!codes.insert(code.get<int32_t>()).second)
      fail("vocabulary: ", shown(code), " stands twice");
    result.push_back(code);
  }
  return result;
}

}  // namespace

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
                   [&](Init init) { return LanguageModel(config, init); });
  });
}

Checkpoint as_checkpoint(RunFile file) {
  std::string version = file.version();
  file.check_format(language_model_format);
  Checkpoint checkpoint{.model = config_from_json<LanguageModelConfig>(file.at("model")),
                        .vocabulary = vocabulary_from(file),
                        .state = std::move(file.state),
                        .training = file.at("training"),
                        .weights = with_type(std::move(file.weights), scalar_dtype),
                        .version = version};
  require(parse_json("training", file.at("training")).is_object(), "training is not a JSON object");
  auto tokens = static_cast<int64_t>(checkpoint.vocabulary.size());
  require(tokens == checkpoint.model.vocab_size, "a vocabulary of ", tokens, " tokens",
          " for a model with vocab_size ", checkpoint.model.vocab_size);
  return checkpoint;
}

Checkpoint read_checkpoint(const std::string& path) {
  RunFile file = read_run_file(path);
  std::string version = file.version();
  auto read = [&] { return as_checkpoint(std::move(file)); };
  return in_name_of(path, [&] { return in_spite_of_version(version, read); });
}

Vocabulary vocabulary_of(const Checkpoint& checkpoint, const std::string& source) {
  const std::vector<int32_t>& codes = checkpoint.vocabulary;
  TextUnit unit = in_name_of(source, [&] {
    json training = parse_json("training", checkpoint.training);
    require(training.is_object(), "training is not a JSON object");
    if (training.contains("vocab")) {
      const json& vocab = training.at("vocab");
      return text_unit_named(vocab.is_string() ? vocab.get<std::string>() : shown(vocab));
    }
    bool of_char_lm = training.contains("data") && training.contains("block_size");
    bool all_bytes = codes == Vocabulary::all_bytes().codes();
    bool bytes = std::ranges::all_of(codes, [](int32_t code) { return code <= 0xFF; });
    return all_bytes || (of_char_lm && bytes) ? TextUnit::byte : TextUnit::character;
  });
  return {unit, codes, source};
}

LanguageModel make_model(const Checkpoint& checkpoint, const std::string& source,
                         const MixerMaker& own_mixer) {
  require(checkpoint.model.own_mixer || !own_mixer, source,
          ": the maker of an own mixer for a model that has none");
  return loaded_model(checkpoint.weights, source,
                      [&](Init init) { return LanguageModel(checkpoint.model, init, own_mixer); });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
