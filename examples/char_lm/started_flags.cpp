#include "started_flags.h"

#include <nlohmann/json.hpp>

#include "resumed_flags.h"

namespace char_lm {

using nlohmann::json;

TrainFlags started_flags(const TrainFlags& saved, const TrainFlags& asked,
                         const std::set<std::string>& given, const std::string& source) {
  json flags = json::parse(asked.to_json()), shape = json::parse(saved.to_json());
  auto take = [&](const std::string& name, auto&&...) {
    if (name == "dropout" || name == "dropatt") return;
    if (given.contains(name)) check_same_flag(name, flags[name], shape[name], source);
    flags[name] = shape[name];
  };
  ModelFlags().visit(take);
  take("vocab");
  return TrainFlags::from_json(flags.dump(), source);
}

}  // namespace char_lm
