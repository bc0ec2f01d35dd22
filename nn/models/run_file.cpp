#include "nn/models/run_file.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/errors.h"
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

/// Returns the number of updates.
int64_t step_of(const RunFile& file) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  nlohmann::json step = file.json("step");
  require(step.is_number_integer() && step >= 0 && step <= most, "step ", shown(step),
          ", expected a number of updates");
  return step;
}

/// Returns nothing if the key is missing.
std::optional<double> loss_of(const RunFile& file, const char* key) {
  if (!file.metadata.contains(key)) return {};
  nlohmann::json loss = file.json(key);
  require(loss.is_number(), key, " ", shown(loss), ", expected a number");
  return loss;
}

/// Moves the state out of the metadata and the weights.
void take_state(RunFile& file) {
  file.state = {.step = step_of(file),
                .train_loss = loss_of(file, "train_loss"),
                .validation_loss = loss_of(file, "validation_loss")};
  auto entry = file.weights.lower_bound(trainer_prefix);
  while (entry != file.weights.end() && entry->first.starts_with(trainer_prefix)) {
    file.state.trainer[entry->first.substr(trainer_prefix.size())] = std::move(entry->second);
    entry = file.weights.erase(entry);
  }
}

void add_loss(RunFile& file, const char* key, std::optional<double> loss) {
  if (loss && std::isfinite(*loss)) file.metadata[key] = nlohmann::json(*loss).dump();
}

/// Adds the numbers of the state to the metadata.
void add_numbers(RunFile& file) {
  file.metadata["step"] = std::to_string(file.state.step);
  step_of(file);  // or throws
  add_loss(file, "train_loss", file.state.train_loss);
  add_loss(file, "validation_loss", file.state.validation_loss);
}

}  // namespace

bool RunFile::is_of(const std::string& format) const {
  auto entry = metadata.find("format");
  return entry != metadata.end() && entry->second == format;
}

void RunFile::check_format(const std::string& expected) const {
  if (is_of(expected)) {
    at("step");  // or throws
    return;
  }
  auto known = [](const std::string& name) {
    return std::ranges::find(formats, name, &Format::name);
  };
  std::string wanted = text(", expected the format ", expected, ": ", known(expected)->has);
  auto entry = metadata.find("format");
  require(entry != metadata.end(),
          "has tensors but no format; read it with char_lm inspect or read_safetensors()", wanted);
  auto format = known(entry->second);
  require(format != std::end(formats), "has the format ", shown(entry->second), wanted);
  fail("has ", format->has, " (", format->name, "); read it with ", format->readers, wanted);
}

const std::string& RunFile::at(const char* key) const {
  auto entry = metadata.find(key);
  require(entry != metadata.end(), "no ", key, " in the metadata");
  return entry->second;
}

nlohmann::json RunFile::json(const char* key) const { return parse_json(key, at(key), max_depth); }

RunFile read_run_file(const std::string& path) {
  auto [tensors, metadata] = read_safetensors(path);
  RunFile file{std::move(tensors), std::move(metadata)};
  in_name_of(path, [&] {
    if (file.metadata.contains("step")) take_state(file);
  });
  return file;
}

void write_run_file(const std::string& path, RunFile file,
                    const std::function<void(const RunFile&)>& check) {
  in_name_of(path, [&] {
    for (const auto& [name, weight] : file.weights)
      require(!name.starts_with(trainer_prefix), "parameter ", shown(name),
              ", but such names are the trainer's");
    add_numbers(file);
  });
  if (check) check({{}, file.metadata});
  for (auto& [name, tensor] : file.state.trainer)
    file.weights[trainer_prefix + name] = std::move(tensor);
  write_safetensors(path, {std::move(file.weights), std::move(file.metadata)});
}

}  // namespace shiftgrad
