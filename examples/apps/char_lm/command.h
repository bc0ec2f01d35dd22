#pragma once

#include "examples/apps/flags/program.h"
#include "optim/peers/process_group.h"

namespace char_lm {

using apps::add_argument;
using apps::add_command;
using apps::add_flag;
using apps::add_picture_flags;
using apps::add_switch;
using apps::Command;
using apps::set_required;

/// Command that runs one training on all peers. It ends with the next commands, of the program as
/// it was called.
Command train_command(CLI::App& program, shiftgrad::ProcessGroup& peers, const std::string& called);
Command eval_command(CLI::App& program);
Command generate_command(CLI::App& program);
Command compare_command(CLI::App& program);
Command inspect_command(CLI::App& program);
Command plot_command(CLI::App& program);
Command attention_command(CLI::App& program);
Command context_command(CLI::App& program);
Command positions_command(CLI::App& program);
Command convert_command(CLI::App& program);
Command report_command(CLI::App& program);

/// Runs the command that the arguments name, and returns its exit status. The program may be
/// another one than char_lm, with models of its own (models.h).
int run(const std::string& name, int count, char** arguments, shiftgrad::ProcessGroup& peers);

}  // namespace char_lm
