#include "train_flags.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "examples/apps/flags/flag_groups.h"
#include "examples/apps/flags/flags_json.h"
#include "nn/models/config.h"

namespace char_lm {

using apps::flags_from_json;
using apps::flags_to_json;

void TrainFlags::resolve_defaults() {
  model.mem_len = memory_length(model);
  trainer.mem_len = *model.mem_len;
  trainer.block_size = model.block_size;
  bool in_order = model_kind(model.model).in_order || *model.mem_len > 0 || trainer.ext_len > 0;
  trainer.batches = in_order ? shiftgrad::BatchType::streams : shiftgrad::BatchType::blocks;
  // A run that is made longer keeps its learning rates.
  if (trainer.lr_decay_iters == 0) trainer.lr_decay_iters = trainer.max_iters;
  // The checkpoint may be used from another folder.
  for (std::string* path : {&data, &val_data, &vocab_from})
    if (!path->empty()) *path = std::filesystem::absolute(*path);
}

shiftgrad::EvaluationConfig TrainFlags::default_evaluation() const {
  int64_t mem_len = memory_length(model);
  bool in_order = mem_len > 0 || trainer.ext_len > 0;
  return {.mode = in_order ? shiftgrad::EvaluationMode::memory : shiftgrad::EvaluationMode::chunks,
          .tgt_len = model.block_size,
          .mem_len = mem_len,
          .ext_len = trainer.ext_len,
          // For chunks it only changes the speed.
          .batch_size = in_order ? 1 : 64};
}

int64_t TrainFlags::evaluated_tokens(int64_t text) const {
  int64_t batch = trainer.batch_size * model.block_size, whole = text - 1;
  bool part = trainer.eval_iters > 0 && trainer.eval_iters <= whole / batch;
  return part ? trainer.eval_iters * batch : whole;
}

int64_t TrainFlags::generation_mem_len() const {
  // Sums over all of the text cost no more than a part of it.
  if (model_kind(model.model).sums_past) return shiftgrad::unlimited;
  return std::max(memory_length(model), model.block_size);
}

namespace {

constexpr const char* texts_left_out_key = "texts_left_out";

}  // namespace

std::string TrainFlags::to_json() const {
  auto object = nlohmann::ordered_json::parse(flags_to_json(*this));
  if (texts_left_out) object[texts_left_out_key] = true;
  return object.dump();
}

TrainFlags TrainFlags::from_json(const std::string& text, const std::string& source) {
  auto flags = flags_from_json<TrainFlags>(text, source);
  auto left_out = nlohmann::json::parse(text).value(texts_left_out_key, nlohmann::json());
  flags.texts_left_out = left_out == true;
  return flags;
}

const apps::ChangeableFlags& changeable_flags() {
  static const apps::ChangeableFlags flags = [] {
    apps::ChangeableFlags result{
        apps::flag_names([](auto flag) { ModelFlags().visit(flag); }),
        {"data", "val_data", "out_dir", "max_iters", "eval_interval", "save_interval",
         "log_interval", "patience", "threads", "block_size", "mem_len"}};
    result.of_weights.insert({"vocab", "vocab_from"});
    for (const char* rate : {"dropout", "dropatt"}) result.of_weights.erase(rate);
    return result;
  }();
  return flags;
}

void check_lengths(const TrainFlags& saved, const TrainFlags& flags, bool resumed,
                   const std::string& source) {
  auto model = [](const ModelFlags& of) { return config_to_json(model_config(of, 1)); };
  const std::string before = model(saved.model);
  if (model(flags.model) != before) {
    ModelFlags other_blocks = saved.model;
    other_blocks.block_size = flags.model.block_size;
    bool blocks = model(other_blocks) != before;
    shiftgrad::fail("--", blocks ? "block_size " : "mem_len ",
                    blocks ? flags.model.block_size : memory_length(flags.model), ": must stay ",
                    blocks ? saved.model.block_size : memory_length(saved.model), ", as in ",
                    source, ", whose weights depend on it");
  }
  TrainFlags begun = saved;
  begun.resolve_defaults();
  shiftgrad::require(!resumed || flags.trainer.batches == begun.trainer.batches, "--mem_len ",
                     memory_length(flags.model), ": must stay ", memory_length(saved.model),
                     ", as in ", source,
                     ": it decides whether batches follow each other; a new run can change it: "
                     "--init_from ",
                     source, " --out_dir NEW_FOLDER");
}

}  // namespace char_lm
