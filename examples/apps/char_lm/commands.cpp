#include "command.h"

namespace char_lm {

int run(CLI::App& program, int count, char** arguments, shiftgrad::ProcessGroup& peers) {
  std::vector commands = {
      train_command(program, peers), eval_command(program),      generate_command(program),
      compare_command(program),      inspect_command(program),   plot_command(program),
      attention_command(program),    positions_command(program), context_command(program),
      convert_command(program),      report_command(program)};
  return apps::run_program(program, commands, count, arguments, peers);
}

}  // namespace char_lm
