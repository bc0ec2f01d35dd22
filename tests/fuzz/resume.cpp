// libFuzzer's target for trainings that go on. Whatever the last checkpoint holds, the training
// goes on, or is refused in one line, and the run stays as it is.

#include <filesystem>

#include "tests/fuzz/checkpoint_mutator.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/programs.h"
#include "tests/fuzz/trainings.h"
#include "tests/fuzz/working_folder.h"
#include "tests/support/temporary_folder.h"

namespace {

int resume(const char* program, const char* max_iters) {
  return fuzz::run(program, {"train", "--resume", "--out_dir=run", "--data=text", "--threads=1",
                             std::string("--max_iters=") + max_iters})
      .status;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::start_in_empty_folder();
  fuzz::write_training_text();
  std::filesystem::create_directory("run");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  static const fuzz::Files before = fuzz::files();
  for (const char* program : {"char_lm", "seq2seq"}) {
    fuzz::restore(before);
    write_text("run/last.safetensors", fuzz::affordable_checkpoint(file));
    if (resume(program, "9") == 0)
      fuzz::expect(resume(program, "10") != 2, "a run that went on to go on again");
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t longest,
                                          unsigned seed) {
  return fuzz::mutate_checkpoint(data, size, longest, fuzz::trained_checkpoint, seed);
}
