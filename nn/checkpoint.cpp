#include "nn/checkpoint.h"

#include <cmath>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "core/errors.h"
#include "nn/config.h"
#include "nn/json.h"
#include "nn/state_dict.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

using nlohmann::json;

constexpr std::string_view format_prefix = "shiftgrad-", format = "shiftgrad-1";
constexpr int max_depth = 16;
constexpr std::string_view trainer_prefix = "trainer.";

/// The metadata of a file, each text checked before it is believed.
class Metadata {
 public:
  explicit Metadata(const std::map<std::string, std::string>& texts) : texts_(texts) {}

  const std::string& at(const char* key) const {
    auto entry = texts_.find(key);
    require(entry != texts_.end(), "no ", key, " in the metadata");
    return entry->second;
  }

  void check_format() const {
    auto entry = texts_.find("format");
    require(entry != texts_.end() && entry->second.starts_with(format_prefix),
            "is not a checkpoint of the format ", format);
    require(entry->second == format, "is a checkpoint of the format ", shown(entry->second),
            ", of which this version knows nothing, expected ", format);
  }

  int64_t count(const char* key) const {
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    json value = parse_json(key, at(key), max_depth);
    require(value.is_number_integer() && value >= 0 && value <= most, key, " ", shown(value),
            ", expected a number of updates");
    return value;
  }

  std::optional<double> loss(const char* key) const {
    if (!texts_.contains(key)) return {};
    json value = parse_json(key, at(key), max_depth);
    require(value.is_number(), key, " ", shown(value), ", expected a number");
    return value;
  }

  std::vector<int32_t> vocabulary() const {
    json list = parse_json("vocabulary", at("vocabulary"), max_depth);
    require(list.is_array(), "vocabulary ", shown(list), ", expected a list");
    std::set<int32_t> codes;
    std::vector<int32_t> result;
    for (const json& code : list) {
      require(code.is_number_integer() && code >= 0 && code <= 0x10FFFF,
              "vocabulary: ", shown(code), ", expected a character's code");
      require(codes.insert(code.get<int32_t>()).second, "vocabulary: ", shown(code),
              " stands twice");
      result.push_back(code);
    }
    return result;
  }

 private:
  const std::map<std::string, std::string>& texts_;
};

Checkpoint checkpoint_from(SafeTensors content) {
  Metadata metadata(content.metadata);
  metadata.check_format();
  Checkpoint checkpoint;
  checkpoint.model = config_from_json<LanguageModelConfig>(metadata.at("model"));
  checkpoint.vocabulary = metadata.vocabulary();
  checkpoint.step = metadata.count("step");
  checkpoint.train_loss = metadata.loss("train_loss");
  checkpoint.validation_loss = metadata.loss("validation_loss");
  checkpoint.training = metadata.at("training");
  require(parse_json("training", checkpoint.training, max_depth).is_object(),
          "training is not a JSON object");
  for (auto& [name, tensor] : content.tensors) {
    bool weight = !name.starts_with(trainer_prefix);
    std::string own_name = weight ? name : name.substr(trainer_prefix.size());
    (weight ? checkpoint.weights : checkpoint.trainer)[own_name] = std::move(tensor);
  }
  auto tokens = static_cast<int64_t>(checkpoint.vocabulary.size());
  require(tokens == checkpoint.model.vocab_size, "a vocabulary of ", tokens, " tokens",
          " for a model with vocab_size ", checkpoint.model.vocab_size);
  return checkpoint;
}

/// No size in the config is more than the weights could have: nothing is allocated on the word of a
/// damaged file alone.
void check_sizes(const Checkpoint& checkpoint) {
  int64_t values = 0;
  for (const auto& [name, tensor] : checkpoint.weights)
    values += static_cast<int64_t>(tensor.bytes.size()) / size_of(tensor.dtype);
  const LanguageModelConfig& model = checkpoint.model;
  for (int64_t size : {model.vocab_size, model.d_model, model.n_layer, model.n_head, model.d_inner,
                       model.max_len.value_or(0)})
    require(size <= values, "a model with a size of ", size, " cannot have ", values, " weights");
}

/// action(), its errors beginning with `source`.
template <class Action>
auto naming(const std::string& source, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    fail(source, ": ", error.what());
  } catch (const std::bad_alloc&) {
    fail(source, ": the model does not fit into memory");
  }
}

}  // namespace

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  SafeTensors content{checkpoint.weights,
                      {{"format", std::string(format)},
                       {"model", config_to_json(checkpoint.model)},
                       {"vocabulary", json(checkpoint.vocabulary).dump()},
                       {"step", std::to_string(checkpoint.step)},
                       {"training", checkpoint.training}}};
  auto add_loss = [&](const char* key, std::optional<double> loss) {
    if (loss && std::isfinite(*loss)) content.metadata[key] = json(*loss).dump();
  };
  add_loss("train_loss", checkpoint.train_loss);
  add_loss("validation_loss", checkpoint.validation_loss);
  for (const auto& [name, tensor] : checkpoint.trainer)
    content.tensors[std::string(trainer_prefix) + name] = tensor;
  write_safetensors(path, content);
}

Checkpoint read_checkpoint(const std::string& path) {
  SafeTensors content = read_safetensors(path);
  return naming(path, [&] { return checkpoint_from(std::move(content)); });
}

LanguageModel make_model(const Checkpoint& checkpoint, const std::string& source) {
  LanguageModel model = naming(source, [&] {
    check_sizes(checkpoint);
    Random random;
    return LanguageModel(checkpoint.model, random);
  });
  load_state_dict(model, checkpoint.weights, source);
  return model;
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
