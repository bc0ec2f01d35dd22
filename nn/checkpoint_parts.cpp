#include "nn/checkpoint_parts.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "nn/json.h"

namespace shiftgrad {

namespace {

constexpr int max_depth = 16;
constexpr std::string_view trainer_prefix = "trainer.";

}  // namespace

const std::string& Metadata::at(const char* key) const {
  auto entry = texts_.find(key);
  require(entry != texts_.end(), "no ", key, " in the metadata");
  return entry->second;
}

nlohmann::json Metadata::json(const char* key) const { return parse_json(key, at(key), max_depth); }

int64_t Metadata::count(const char* key) const {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  nlohmann::json value = json(key);
  require(value.is_number_integer() && value >= 0 && value <= most, key, " ", shown(value),
          ", expected a number of updates");
  return value;
}

std::optional<double> Metadata::loss(const char* key) const {
  if (!texts_.contains(key)) return {};
  nlohmann::json value = json(key);
  require(value.is_number(), key, " ", shown(value), ", expected a number");
  return value;
}

void set_loss(std::map<std::string, std::string>& metadata, const char* key,
              std::optional<double> loss) {
  if (loss && std::isfinite(*loss)) metadata[key] = nlohmann::json(*loss).dump();
}

NamedTensors joined(const NamedTensors& weights, const NamedTensors& trainer) {
  NamedTensors tensors = weights;
  for (const auto& [name, tensor] : trainer) tensors[std::string(trainer_prefix) + name] = tensor;
  return tensors;
}

void separate(NamedTensors tensors, NamedTensors& weights, NamedTensors& trainer) {
  for (auto& [name, tensor] : tensors) {
    bool weight = !name.starts_with(trainer_prefix);
    std::string own_name = weight ? name : name.substr(trainer_prefix.size());
    (weight ? weights : trainer)[own_name] = std::move(tensor);
  }
}

void check_sizes(const NamedTensors& weights, std::initializer_list<int64_t> sizes) {
  int64_t values = 0;
  for (const auto& [name, tensor] : weights)
    values += static_cast<int64_t>(tensor.bytes.size()) / size_of(tensor.dtype);
  for (int64_t size : sizes)
    require(size <= values, "a model with a size of ", size, " cannot have ", values, " weights");
}

}  // namespace shiftgrad
