// char_lm: trains character-level language models, scores them and lets them write.

#include <memory>
#include <vector>

#include "examples/common/command.h"
#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/optim/peers/launched_peers.h"

int main(int count, char** arguments) {
  char_lm::keep_standard_streams();
  shiftgrad::initialize();
  std::unique_ptr<shiftgrad::Peers> peers = shiftgrad::launched_peers();
  std::shared_ptr<CLI::App> program = char_lm::make_program(
      "Character-level language models: train one, score it, let it write, compare it to others, "
      "look into it.",
      "char_lm");
  std::vector commands = {
      char_lm::train_command(*program, *peers), char_lm::eval_command(*program),
      char_lm::generate_command(*program),      char_lm::compare_command(*program),
      char_lm::inspect_command(*program),       char_lm::plot_command(*program),
      char_lm::attention_command(*program),     char_lm::positions_command(*program),
      char_lm::context_command(*program)};
  return char_lm::run_program(*program, commands, count, arguments, *peers);
}
