#include "nn/models/run_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/errors.h"
#include "core/io/float_types.h"
#include "core/io/json.h"

namespace shiftgrad {

namespace {

const std::string trainer_prefix = "trainer.", version_key = "shiftgrad_version";

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
  nlohmann::json step = parse_json("step", file.at("step"));
  require(step.is_number_integer() && step >= 0 && step <= most, "step ", shown(step),
          ", expected a number of updates");
  return step;
}

/// Returns the losses of a state with their keys.
auto losses_of(RunState& state) {
  return std::array{std::pair{"train_loss", &state.train_loss},
                    std::pair{"validation_loss", &state.validation_loss}};
}

/// Moves the state out of the metadata and the weights.
void take_state(RunFile& file) {
  file.state.step = step_of(file);
  for (auto [key, loss] : losses_of(file.state)) {
    if (!file.metadata.contains(key)) continue;
    nlohmann::json value = parse_json(key, file.at(key));
    require(value.is_number(), key, " ", shown(value), ", expected a number");
    *loss = value.get<double>();
  }
  auto entry = file.weights.lower_bound(trainer_prefix);
  while (entry != file.weights.end() && entry->first.starts_with(trainer_prefix)) {
    file.state.trainer[entry->first.substr(trainer_prefix.size())] = std::move(entry->second);
    entry = file.weights.erase(entry);
  }
}

/// Throws if a number is not finite: who reads the file could not go on from there. The best loss
/// is infinite until there is one.
void check_finite(const RunFile& file) {
  for (const auto* tensors : {&file.weights, &file.state.trainer})
    for (const auto& [name, tensor] : *tensors)
      require(name == "best_loss" || is_finite(tensor), "tensor ", shown(name),
              ": not finite, expected finite numbers");
}

/// Returns the numbers of a version such as 1.2.0, or nothing.
std::optional<std::array<int, 3>> numbers_of(const std::string& version) {
  std::array<int, 3> numbers{};
  const char *next = version.data(), *end = next + version.size();
  for (int& number : numbers) {
    auto [rest, error] = std::from_chars(next, end, number);
    bool is_last = &number == &numbers.back();
    if (error != std::errc() || number < 0 || (!is_last && (rest == end || *rest != '.')))
      return {};
    next = is_last ? rest : rest + 1;
  }
  return numbers;
}

}  // namespace

std::string library_version() { return SHIFTGRAD_VERSION; }

std::string newer_writer(const std::string& version) {
  auto theirs = numbers_of(version), ours = numbers_of(library_version());
  if (!theirs || *theirs <= *ours) return "";
  return text("written by shiftgrad ", (*theirs)[0], ".", (*theirs)[1], ".", (*theirs)[2],
              ", which is newer than this ", library_version());
}

bool RunFile::is_of(const std::string& format) const {
  return metadata.contains("format") && metadata.at("format") == format;
}

void RunFile::check_format(const std::string& expected) const {
  auto known = [](const std::string& name) {
    return std::ranges::find(formats, name, &Format::name);
  };
  std::string wanted = text(", expected the format ", expected, ": ", known(expected)->has);
  require(metadata.contains("format"),
          "names no format; read it with char_lm inspect or read_safetensors()", wanted);
  const std::string& name = metadata.at("format");
  const Format* format = known(name);
  require(format != std::end(formats), "has the format ", shown(name), wanted);
  require(name == expected, "has ", format->has, " (", name, "); read it with ", format->readers,
          wanted);
  at("step");  // or throws
}

std::string RunFile::version() const {
  auto entry = metadata.find(version_key);
  return entry == metadata.end() ? "" : entry->second;
}

const std::string& RunFile::at(const char* key) const {
  auto entry = metadata.find(key);
  require(entry != metadata.end(), "no ", key, " in the metadata");
  return entry->second;
}

RunFile as_run(SafeTensors content) {
  RunFile file{std::move(content.tensors), std::move(content.metadata)};
  if (file.metadata.contains("step")) take_state(file);
  return file;
}

RunFile read_run_file(const std::string& path) {
  SafeTensors content = open_safetensors(path);
  return in_name_of(path, [&] { return as_run(std::move(content)); });
}

void write_run_file(const std::string& path, RunFile file,
                    const std::function<void(const RunFile&)>& check) {
  in_name_of(path, [&] {
    for (const auto& [name, weight] : file.weights)
      require(!name.starts_with(trainer_prefix), "parameter ", shown(name),
              ", but such names are the trainer's");
    file.metadata[version_key] = library_version();
    file.metadata["step"] = std::to_string(file.state.step);
    step_of(file);  // or throws
    for (auto [key, loss] : losses_of(file.state))
      if (*loss && std::isfinite(**loss)) file.metadata[key] = nlohmann::json(**loss).dump();
  });
  if (check) check({{}, file.metadata});
  in_name_of(path, [&] { check_finite(file); });
  for (auto& [name, tensor] : file.state.trainer)
    file.weights[trainer_prefix + name] = std::move(tensor);
  write_safetensors(path, {std::move(file.weights), std::move(file.metadata)});
}

}  // namespace shiftgrad
