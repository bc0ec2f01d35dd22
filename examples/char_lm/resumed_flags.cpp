#include "resumed_flags.h"

#include <nlohmann/json.hpp>

#include "core/errors.h"

namespace char_lm {

using nlohmann::json;

namespace {

json as_json(const TrainFlags& flags) { return json::parse(flags.to_json()); }

void check_same(const std::string& name, const json& wanted, const json& saved,
                const std::string& source) {
  shiftgrad::require(wanted == saved, "--", name, " ", wanted, ": that of ", source, " is ", saved,
                     " and has to stay");
}

}  // namespace

const std::set<std::string>& free_flags() {
  static const std::set<std::string> names = {"data",         "val_data",      "out_dir",
                                              "max_iters",    "eval_interval", "save_interval",
                                              "log_interval", "patience",      "threads"};
  return names;
}

TrainFlags resumed_flags(const TrainFlags& saved, const TrainFlags& asked,
                         const std::set<std::string>& given, const std::string& source) {
  json flags = as_json(saved), wanted = as_json(asked);
  for (const std::string& name : given) {
    if (!free_flags().contains(name)) check_same(name, wanted[name], flags[name], source);
    flags[name] = wanted[name];
  }
  flags["out_dir"] = asked.out_dir;
  return TrainFlags::from_json(flags.dump(), source);
}

TrainFlags started_flags(const TrainFlags& saved, const TrainFlags& asked,
                         const std::set<std::string>& given, const std::string& source) {
  json flags = as_json(asked), shape = as_json(saved);
  auto take = [&](const std::string& name, auto&&...) {
    if (name == "dropout" || name == "dropatt") return;
    if (given.contains(name)) check_same(name, flags[name], shape[name], source);
    flags[name] = shape[name];
  };
  ModelFlags().visit(take);
  take("vocab");
  return TrainFlags::from_json(flags.dump(), source);
}

}  // namespace char_lm
