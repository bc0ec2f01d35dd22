#include "train_flags.h"

#include <filesystem>
#include <nlohmann/json.hpp>

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
  const ModelKind& kind = model_kind(model.model);
  require(kind.has_memory || mem_len.value_or(0) == 0, "--mem_len ", mem_len.value_or(0),
          ": --model ", kind.name, " has no memory");
  require(log_interval >= 1, "--log_interval ", log_interval, ", expected at least 1");
  mem_len = kind.has_memory ? mem_len.value_or(model.block_size) : 0;
  trainer.mem_len = *mem_len;
  trainer.block_size = model.block_size;
  trainer.batches = kind.has_memory ? "streams" : "blocks";
  // The checkpoint may be used from another folder.
  if (!data.empty()) data = std::filesystem::absolute(data);
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

std::string TrainFlags::model_list() {
  std::string list;
  for (const ModelKind& kind : model_kinds())
    list += (list.empty() ? "" : "; ") + kind.name + ": " + kind.description;
  return list;
}

}  // namespace char_lm
