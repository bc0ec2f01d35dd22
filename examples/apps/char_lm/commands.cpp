#include <memory>
#include <vector>

#include "command.h"

namespace char_lm {

int run(const std::string& name, int count, char** arguments, shiftgrad::ProcessGroup& peers) {
  std::shared_ptr<CLI::App> program = apps::make_program(
      "Train, score, sample, compare and inspect character-level language models.", name);
  std::vector commands = {train_command(*program, peers, apps::called(name, count, arguments)),
                          eval_command(*program),
                          generate_command(*program),
                          compare_command(*program),
                          inspect_command(*program),
                          plot_command(*program),
                          attention_command(*program),
                          positions_command(*program),
                          context_command(*program),
                          convert_command(*program),
                          report_command(*program)};
  return apps::run_program(*program, commands, count, arguments, peers);
}

}  // namespace char_lm
