#include "nn/models/checkpoint_parts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/io/json.h"

namespace shiftgrad {

namespace {

constexpr int max_depth = 16;
const std::string trainer_prefix = "trainer.";

struct Format {
  std::string_view name, has, readers;
};

constexpr Format formats[] = {
    {language_model_format, "a language model's weights, config, vocabulary and run",
     "char_lm or load()"},
    {own_model_format, "a model's weights, config and run, but no vocabulary",
     "load() or char_lm inspect and report"},
    {seq2seq_format, "an encoder-decoder's weights, config, symbols and run",
     "seq2seq or char_lm inspect"},
};

/// A number of updates.
int64_t count(const SafeTensors& content, const char* key) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  nlohmann::json value = Metadata(content.metadata).json(key);
  require(value.is_number_integer() && value >= 0 && value <= most, key, " ", shown(value),
          ", expected a number of updates");
  return value;
}

/// Returns nothing if the key is missing.
std::optional<double> loss(const SafeTensors& content, const char* key) {
  if (!content.metadata.contains(key)) return {};
  nlohmann::json value = Metadata(content.metadata).json(key);
  require(value.is_number(), key, " ", shown(value), ", expected a number");
  return value;
}

void add_loss(SafeTensors& content, const char* key, std::optional<double> loss) {
  if (loss && std::isfinite(*loss)) content.metadata[key] = nlohmann::json(*loss).dump();
}

}  // namespace

bool Metadata::is_of(const std::string& format) const {
  auto entry = texts_.find("format");
  return entry != texts_.end() && entry->second == format;
}

void Metadata::check_format(const std::string& expected) const {
  if (is_of(expected)) return;
  auto known = [](const std::string& name) {
    return std::ranges::find(formats, name, &Format::name);
  };
  std::string wanted = text(", expected the format ", expected, ": ", known(expected)->has);
  auto entry = texts_.find("format");
  require(entry != texts_.end(),
          "has tensors but no format; read it with char_lm inspect or read_safetensors()", wanted);
  auto format = known(entry->second);
  require(format != std::end(formats), "has the format ", shown(entry->second), wanted);
  fail("has ", format->has, " (", format->name, "); read it with ", format->readers, wanted);
}

const std::string& Metadata::at(const char* key) const {
  auto entry = texts_.find(key);
  require(entry != texts_.end(), "no ", key, " in the metadata");
  return entry->second;
}

nlohmann::json Metadata::json(const char* key) const { return parse_json(key, at(key), max_depth); }

void add_state(SafeTensors& content, const RunState& state) {
  for (const auto& [name, weight] : content.tensors)
    require(!name.starts_with(trainer_prefix), "parameter ", shown(name),
            ", but such names are the trainer's");
  content.metadata["step"] = std::to_string(state.step);
  add_loss(content, "train_loss", state.train_loss);
  add_loss(content, "validation_loss", state.validation_loss);
  for (const auto& [name, tensor] : state.trainer) content.tensors[trainer_prefix + name] = tensor;
}

RunState take_state(SafeTensors& content) {
  RunState state{.step = count(content, "step"),
                 .train_loss = loss(content, "train_loss"),
                 .validation_loss = loss(content, "validation_loss")};
  auto entry = content.tensors.lower_bound(trainer_prefix);
  while (entry != content.tensors.end() && entry->first.starts_with(trainer_prefix)) {
    state.trainer[entry->first.substr(trainer_prefix.size())] = std::move(entry->second);
    entry = content.tensors.erase(entry);
  }
  return state;
}

}  // namespace shiftgrad
