#include "train_flags.h"

#include <filesystem>

#include "core/errors.h"
#include "examples/apps/flags/flag_groups.h"
#include "examples/apps/flags/flags_json.h"

namespace seq2seq {

using shiftgrad::require;

void TrainFlags::resolve_defaults() {
  require(!model.share_embedding || source_tokens == target_tokens,
          "--share_embedding: --source_tokens ", source_tokens, " and --target_tokens ",
          target_tokens, " differ");
  // A run that is made longer keeps its learning rates.
  if (trainer.lr_decay_iters == 0) trainer.lr_decay_iters = trainer.max_iters;
  // The checkpoint may be used from another folder.
  for (std::string* path : {&data, &val_data})
    if (!path->empty()) *path = std::filesystem::absolute(*path);
}

std::string TrainFlags::to_json() const { return apps::flags_to_json(*this); }

TrainFlags TrainFlags::from_json(const std::string& text, const std::string& source) {
  // Runs have a window of 0 where none was given.
  auto object = nlohmann::json::parse(text, nullptr, false);
  bool no_window = object.is_object() && object.value("window", nlohmann::json()) == 0;
  if (no_window) object.erase("window");
  return apps::flags_from_json<TrainFlags>(no_window ? object.dump() : text, source);
}

const std::set<std::string>& free_flags() {
  static const std::set<std::string> names = {
      "data",          "val_data",      "skip_bad_rows", "out_dir",  "max_iters",
      "eval_interval", "save_interval", "log_interval",  "patience", "threads"};
  return names;
}

std::set<std::string> weight_flags() {
  std::set<std::string> names = apps::flag_names([](auto flag) { ModelFlags().visit(flag); });
  names.insert({"source_tokens", "target_tokens"});
  names.erase("dropout");
  return names;
}

}  // namespace seq2seq
