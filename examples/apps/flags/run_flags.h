#pragma once

#include <cstdint>
#include <string>

#include "precision_flag.h"

namespace apps {

/// The flags that every training has, whatever it trains.
struct RunFlags {
  std::string out_dir = "out";
  int64_t log_interval = 10;
  shiftgrad::Precision precision = shiftgrad::Precision::float32;
  int threads = 0;

  /// Calls flag(value, field) for each.
  void visit_run(auto&& flag) {
    namespace group = shiftgrad::group;
    namespace quantity = shiftgrad::quantity;
    flag(out_dir, Field{"out_dir", "folder for checkpoints and metrics", {"FOLDER"}, group::run});
    flag(log_interval, Field{"log_interval", "steps between two lines of metrics",
                             quantity::interval, group::run});
    flag(precision, Field{"precision", precision_help, {}, group::run});
    flag(threads, Field{"threads", threads_help, {"THREADS", range::thread_count}, group::run});
  }
};

}  // namespace apps
