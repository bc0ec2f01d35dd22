#include "run_folder.h"

#include "core/errors.h"

namespace char_lm {

RunFolder make_run_folder(const std::string& out_dir) {
  std::error_code error;
  std::filesystem::create_directories(out_dir, error);
  shiftgrad::require(!error, "--out_dir ", out_dir, ": ", error.message());
  return {out_dir};
}

SavedRun load_checkpoint(const std::string& path) {
  shiftgrad::Checkpoint checkpoint = shiftgrad::read_checkpoint(path);
  TrainFlags flags = TrainFlags::from_json(checkpoint.training, path);
  Vocabulary vocabulary(checkpoint.vocabulary, path);
  return {path, std::move(checkpoint), flags, vocabulary};
}

SavedRun load_run(const std::string& out_dir, const std::string& name) {
  shiftgrad::require(name == "best" || name == "last", "--checkpoint ", name,
                     ", expected best or last");
  return load_checkpoint(RunFolder{out_dir}.checkpoint(name));
}

}  // namespace char_lm
