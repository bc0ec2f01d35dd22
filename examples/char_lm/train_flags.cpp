#include "train_flags.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/errors.h"
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

template <class Value>
void read(const nlohmann::json& entry, Value& value) {
  entry.get_to(value);
}
template <class Value>
void read(const nlohmann::json& entry, std::optional<Value>& value) {
  if (!entry.is_null()) value = entry.get<Value>();
}

}  // namespace

void TrainFlags::settle() {
  require(log_interval >= 1, "--log_interval ", log_interval, ", expected at least 1");
  model.mem_len = memory_length(model);
  trainer.mem_len = *model.mem_len;
  trainer.block_size = model.block_size;
  trainer.batches = model_kind(model.model).in_order || *model.mem_len > 0 ? "streams" : "blocks";
  // A run that is made longer keeps its learning rates.
  if (trainer.lr_decay_iters == 0) trainer.lr_decay_iters = trainer.max_iters;
  // The checkpoint may be used from another folder.
  if (!data.empty()) data = std::filesystem::absolute(data);
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
    } catch (const nlohmann::json::exception&) {
      fail(source, ": training flag \"", name, "\" is ", shiftgrad::shown(*entry));
    }
  });
  return flags;
}

}  // namespace char_lm
