#include "resumed_flags.h"

#include <nlohmann/json.hpp>

#include "core/errors.h"

namespace char_lm {

const std::set<std::string>& free_flags() {
  static const std::set<std::string> names = {
      "data", "out_dir", "max_iters", "eval_interval", "save_interval", "log_interval", "threads"};
  return names;
}

TrainFlags resumed_flags(const TrainFlags& saved, const TrainFlags& asked,
                         const std::set<std::string>& given, const std::string& source) {
  auto flags = nlohmann::json::parse(saved.to_json());
  auto wanted = nlohmann::json::parse(asked.to_json());
  for (const std::string& name : given) {
    shiftgrad::require(free_flags().contains(name) || wanted[name] == flags[name], "--", name, " ",
                       wanted[name], ": the run in ", source, " goes on with ", flags[name]);
    flags[name] = wanted[name];
  }
  flags["out_dir"] = asked.out_dir;
  return TrainFlags::from_json(flags.dump(), source);
}

}  // namespace char_lm
