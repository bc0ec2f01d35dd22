#include <memory>

#include "command.h"
#include "flags.h"
#include "training.h"

namespace char_lm {

Command train_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("train", "Trains a model on a text");
  auto flags = std::make_shared<TrainFlags>();
  flags->visit(
      [&](const std::string& name, auto& value, auto unit, const std::string& description) {
        add_flag(*app, name, value, unit, description);
      });
  return {app, [flags]() -> Command::Work {
            flags->settle();
            auto training = std::make_shared<Training>(*flags);
            return [training] { training->run(); };
          }};
}

}  // namespace char_lm
