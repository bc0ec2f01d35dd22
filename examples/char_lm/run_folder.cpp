#include "run_folder.h"

#include "core/errors.h"

namespace char_lm {

RunFolder make_run_folder(const std::string& out_dir) {
  std::error_code error;
  std::filesystem::create_directories(out_dir, error);
  shiftgrad::require(!error, "--out_dir ", out_dir, ": ", error.message());
  return {out_dir};
}

SavedRun load_run(const std::string& out_dir, const std::string& name) {
  shiftgrad::require(name == "best" || name == "last", "--checkpoint ", name,
                     ", expected best or last");
  std::string source = RunFolder{out_dir}.checkpoint(name);
  shiftgrad::Checkpoint checkpoint = shiftgrad::read_checkpoint(source);
  TrainFlags flags = TrainFlags::from_json(checkpoint.training, source);
  Vocabulary vocabulary(checkpoint.vocabulary, source);
  return {source, std::move(checkpoint), flags, vocabulary};
}

}  // namespace char_lm
