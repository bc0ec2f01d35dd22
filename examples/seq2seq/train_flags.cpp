#include "train_flags.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "core/errors.h"
#include "nn/json.h"
#include "symbols.h"

namespace seq2seq {

using nlohmann::json;
using shiftgrad::fail;
using shiftgrad::require;

namespace {

template <class Integer>
bool holds(const json& entry) {
  if (!entry.is_number_integer()) return false;
  return entry.is_number_unsigned() ? std::in_range<Integer>(entry.get<uint64_t>())
                                    : std::in_range<Integer>(entry.get<int64_t>());
}

/// Throws where nlohmann would round a number or wrap it around, too.
template <class Value>
void read(const json& entry, Value& value) {
  if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>)
    require(holds<Value>(entry), "not such a number");
  entry.get_to(value);
}

}  // namespace

void TrainFlags::settle() {
  require(log_interval >= 1, "--log_interval ", log_interval, ", expected at least 1");
  require(0 < eval_split && eval_split < 1, "--eval_split ", eval_split,
          ", expected more than 0 and less than 1");
  unit_named("source_tokens", source_tokens);
  unit_named("target_tokens", target_tokens);
  require(!model.share_embedding || source_tokens == target_tokens,
          "--share_embedding: --source_tokens ", source_tokens, " and --target_tokens ",
          target_tokens, " differ");
  // A run that is made longer keeps its learning rates.
  if (trainer.lr_decay_iters == 0) trainer.lr_decay_iters = trainer.max_iters;
  // The checkpoint may be used from another folder.
  for (std::string* path : {&data, &val_data})
    if (!path->empty()) *path = std::filesystem::absolute(*path);
}

std::string TrainFlags::to_json() const {
  nlohmann::ordered_json object;
  TrainFlags(*this).visit([&](const char* name, auto& value, auto...) { object[name] = value; });
  return object.dump();
}

TrainFlags TrainFlags::from_json(const std::string& text, const std::string& source) {
  json object = shiftgrad::parse_json(source.c_str(), text, 2);
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

const std::set<std::string>& free_flags() {
  static const std::set<std::string> names = {"data",          "val_data",     "skip_bad_rows",
                                              "out_dir",       "max_iters",    "eval_interval",
                                              "save_interval", "log_interval", "threads"};
  return names;
}

TrainFlags resumed_flags(const TrainFlags& saved, const TrainFlags& asked,
                         const std::set<std::string>& given, const std::string& source) {
  json flags = json::parse(saved.to_json()), wanted = json::parse(asked.to_json());
  for (const std::string& name : given) {
    require(free_flags().contains(name) || wanted[name] == flags[name], "--", name, " ",
            wanted[name], ": that of ", source, " is ", flags[name], " and has to stay");
    flags[name] = wanted[name];
  }
  flags["out_dir"] = asked.out_dir;
  return TrainFlags::from_json(flags.dump(), source);
}

}  // namespace seq2seq
