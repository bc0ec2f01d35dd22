// char_lm trains, scores, samples, compares and inspects character-level language models.

#include <memory>
#include <vector>

#include "command.h"
#include "core/machine/parallel.h"
#include "optim/peers/launched_peers.h"

int main(int count, char** arguments) {
  apps::keep_standard_streams();
  shiftgrad::initialize();
  std::unique_ptr<shiftgrad::ProcessGroup> peers = shiftgrad::launched_peers();
  std::shared_ptr<CLI::App> program = apps::make_program(
      "Train, score, sample, compare and inspect character-level language models.", "char_lm");
  std::vector commands = {
      char_lm::train_command(*program, *peers), char_lm::eval_command(*program),
      char_lm::generate_command(*program),      char_lm::compare_command(*program),
      char_lm::inspect_command(*program),       char_lm::plot_command(*program),
      char_lm::attention_command(*program),     char_lm::positions_command(*program),
      char_lm::context_command(*program),       char_lm::convert_command(*program),
      char_lm::report_command(*program)};
  return apps::run_program(*program, commands, count, arguments, *peers);
}
