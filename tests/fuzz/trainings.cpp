#include "tests/fuzz/trainings.h"

#include <algorithm>
#include <iterator>

#include "tests/fuzz/affordable.h"
#include "tests/fuzz/checkpoint_seeds.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/known_commands.h"
#include "tests/support/temporary_folder.h"

namespace fuzz {

void write_training_text() {
  std::string text;
  for (int n = 0; n < 8; ++n) text += known_pairs;
  write_text("text", text);
}

Outcome train(const std::string& program, const std::string& folder,
              const std::vector<std::string>& flags) {
  std::vector<std::string> words = {"train", "--data=text", "--out_dir=" + folder, "--overwrite"};
  std::ranges::transform(flags, std::back_inserter(words), affordable);
  for (const std::string& flag : small_flags(*known_command({program, "train"}), words))
    words.push_back(flag);
  return run(program, words);
}

void expect_training(const std::string& program, const std::string& folder,
                     const std::vector<std::string>& flags) {
  Outcome trained = train(program, folder, flags);
  expect(trained.status == 0, "a training: " + trained.errors);
}

std::string trained_checkpoint(Choices& choices) {
  const char* program = choices.once_in(3) ? "seq2seq" : "char_lm";
  const KnownCommand& command = *known_command({program, "train"});
  while (train(program, "seed", some_flags(command, 16, choices)).status != 0) continue;
  return read_text("seed/last.safetensors");
}

}  // namespace fuzz
