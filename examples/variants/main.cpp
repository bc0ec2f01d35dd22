// char_lm with the variants of this folder among its models: `variants train --model fox`, and all
// other commands and flags.

#include <memory>

#include "core/machine/parallel.h"
#include "examples/apps/char_lm/command.h"
#include "examples/apps/char_lm/models.h"
#include "optim/peers/launched_peers.h"
#include "variants.h"

int main(int count, char** arguments) {
  apps::keep_standard_streams();
  shiftgrad::initialize();
  for (const variants::Variant& variant : variants::all())
    char_lm::add_model_kind(variant.name, variant.summary, variant.make);
  std::unique_ptr<shiftgrad::ProcessGroup> peers = shiftgrad::launched_peers();
  return char_lm::run("variants", count, arguments, *peers);
}
