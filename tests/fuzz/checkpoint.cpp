// libFuzzer's target for whole checkpoints. Whatever is in the file, the programs that read it do
// what they are asked for, or refuse it in one line.

#include <filesystem>

#include "tests/fuzz/checkpoint_mutator.h"
#include "tests/fuzz/checkpoint_seeds.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/programs.h"
#include "tests/fuzz/working_folder.h"
#include "tests/support/temporary_folder.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::start_in_empty_folder();
  std::filesystem::create_directory("run");
  write_text("text", fuzz::known_text);
  write_text("pairs", fuzz::known_pairs);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fuzz::run;
  write_text("run/best.safetensors", {reinterpret_cast<const char*>(data), size});
  fuzz::expect_no_control_characters(run("char_lm", {"inspect", "run"}).output);
  run("char_lm", {"generate", "run", "--length=4", "--prompt=ab", "--threads=1"});
  run("char_lm", {"eval", "run", "--threads=1"});
  run("seq2seq", {"translate", "run", "--max_length=4", "--threads=1"}, "ab\na b\n");
  run("seq2seq", {"eval", "run", "--max_length=4", "--beam=1", "--threads=1"});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t longest,
                                          unsigned seed) {
  return fuzz::mutate_checkpoint(data, size, longest, fuzz::checkpoint_seed, seed);
}
