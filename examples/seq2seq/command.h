#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace seq2seq {

/// A subcommand. `prepare` reads and checks all it needs, so that bad input is found before
/// anything is overwritten; what it returns does the work.
struct Command {
  using Work = std::function<void()>;
  CLI::App* flags;
  std::function<Work()> prepare;
};

Command train_command(CLI::App& program);
Command eval_command(CLI::App& program);
Command translate_command(CLI::App& program);
Command attention_command(CLI::App& program);

}  // namespace seq2seq
