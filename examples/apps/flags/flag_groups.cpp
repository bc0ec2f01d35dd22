#include "flag_groups.h"

#include <map>
#include <set>

#include "core/errors.h"

namespace apps {

std::string training_group(const std::string& flag) {
  static const std::map<std::string, std::set<std::string>> flags = {
      {texts_title,
       {"data", "val_data", "eval_split", "vocab", "vocab_from", "skip_bad_rows", "source_tokens",
        "target_tokens"}},
      {run_title,
       {"out_dir", "max_iters", "eval_interval", "eval_iters", "eval_pairs", "save_interval",
        "log_interval", "patience", "seed", "precision", "threads"}},
      {batches_title,
       {"batch_size", "ext_len", "gradient_accumulation_steps", "batch_warmup_iters"}},
      {loss_title,
       {"loss_tokens", "intermediate_losses", "targets", "extra_targets_weight",
        "label_smoothing"}},
      {update_title,
       {"optimizer", "learning_rate", "min_lr", "warmup_iters", "lr_decay_iters", "schedule",
        "weight_decay", "beta1", "beta2", "momentum", "grad_clip", "freeze", "lr_scale"}},
  };
  for (const auto& [title, names] : flags)
    if (names.contains(flag)) return title;
  shiftgrad::fail("--", flag, ": a flag of a training without a title in flag_groups.cpp");
}

}  // namespace apps
