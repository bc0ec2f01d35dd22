// char_lm trains, scores, samples, compares and inspects character-level language models.

#include <memory>

#include "command.h"
#include "core/machine/parallel.h"
#include "optim/peers/launched_peers.h"

int main(int count, char** arguments) {
  apps::keep_standard_streams();
  shiftgrad::initialize();
  std::unique_ptr<shiftgrad::ProcessGroup> peers = shiftgrad::launched_peers();
  return char_lm::run("char_lm", count, arguments, *peers);
}
