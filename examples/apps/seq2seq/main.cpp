// seq2seq trains encoder-decoders on pairs of lines, scores them and translates with them.

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
      "Train encoder-decoders on pairs of lines, score them, translate with them, and draw what "
      "they attend to.",
      "seq2seq");
  std::vector commands = {
      seq2seq::train_command(*program, *peers, apps::called("seq2seq", count, arguments)),
      seq2seq::eval_command(*program), seq2seq::translate_command(*program),
      seq2seq::attention_command(*program), seq2seq::report_command(*program)};
  return apps::run_program(*program, commands, count, arguments, *peers);
}
