#include "train_flags.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/errors.h"
#include "near_name.h"
#include "nn/json.h"

namespace char_lm {

using shiftgrad::fail;
using shiftgrad::require;

namespace {

using Json = nlohmann::ordered_json;

template <class Value>
void write(Json& entry, const Value& value) {
  entry = value;
}
template <class Value>
void write(Json& entry, const std::optional<Value>& value) {
  if (value) entry = *value;
}

/// Throws when a value is none of the choices that its unit names.
template <class Value>
void check_flag(const std::string&, const Value&, const std::string&) {}
void check_flag(const std::string& name, const std::string& value, const std::string& unit) {
  if (unit.find('|') != std::string::npos) check_choice("--" + name, value, unit);
}
void check_flag(const std::string& name, const std::optional<std::string>& value,
                const std::string& unit) {
  if (value) check_flag(name, *value, unit);
}

template <class Integer>
bool holds(const nlohmann::json& entry) {
  if (!entry.is_number_integer()) return false;
  return entry.is_number_unsigned() ? std::in_range<Integer>(entry.get<uint64_t>())
                                    : std::in_range<Integer>(entry.get<int64_t>());
}

/// Throws where nlohmann would round a number or wrap it around, too.
template <class Value>
void read(const nlohmann::json& entry, Value& value) {
  if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>)
    require(holds<Value>(entry), "not such a number");
  entry.get_to(value);
}
template <class Value>
void read(const nlohmann::json& entry, std::optional<Value>& value) {
  if (!entry.is_null()) read(entry, value.emplace());
}

}  // namespace

void TrainFlags::settle() {
  require(log_interval >= 1, "--log_interval ", log_interval, ", expected at least 1");
  require(0 < eval_split && eval_split < 1, "--eval_split ", eval_split,
          ", expected more than 0 and less than 1");
  visit([](const std::string& name, const auto& value, const std::string& unit, auto&&...) {
    check_flag(name, value, unit);
  });
  model.mem_len = memory_length(model);
  trainer.mem_len = *model.mem_len;
  trainer.block_size = model.block_size;
  trainer.batches = model_kind(model.model).in_order || *model.mem_len > 0 ? "streams" : "blocks";
  // A run that is made longer keeps its learning rates.
  if (trainer.lr_decay_iters == 0) trainer.lr_decay_iters = trainer.max_iters;
  // The checkpoint may be used from another folder.
  for (std::string* path : {&data, &val_data})
    if (!path->empty()) *path = std::filesystem::absolute(*path);
}

shiftgrad::EvaluationConfig TrainFlags::own_evaluation() const {
  int64_t mem_len = memory_length(model);
  return {.mode = mem_len > 0 ? "memory" : "chunks",
          .tgt_len = model.block_size,
          .mem_len = mem_len,
          // Of chunks it decides the speed only.
          .batch_size = mem_len > 0 ? 1 : 64};
}

int64_t TrainFlags::written_context() const {
  return std::max(memory_length(model), model.block_size);
}

std::string TrainFlags::to_json() const {
  Json object;
  TrainFlags(*this).visit(
      [&](const char* name, auto& value, auto...) { write(object[name], value); });
  return object.dump();
}

TrainFlags TrainFlags::from_json(const std::string& text, const std::string& source) {
  nlohmann::json object = shiftgrad::parse_json(source.c_str(), text, 2);
  require(object.is_object(), source, ": the training flags are not a JSON object");
  TrainFlags flags;
  flags.visit([&](const char* name, auto& value, auto...) {
    auto entry = object.find(name);
    if (entry == object.end()) return;
    try {
      read(*entry, value);
    } catch (const std::exception&) {
      fail(source, ": training flag \"", name, "\" is ", shiftgrad::shown(*entry));
    }
  });
  return flags;
}

}  // namespace char_lm
