#pragma once

#include "examples/apps/flags/program.h"

namespace seq2seq {

using apps::add_argument;
using apps::add_command;
using apps::add_flag;
using apps::add_switch;
using apps::Command;
using apps::set_required;

/// Command that runs one training on all peers. It ends with the next commands, of the program as
/// it was called.
Command train_command(CLI::App& program, shiftgrad::ProcessGroup& peers, const std::string& called);
Command eval_command(CLI::App& program);
Command translate_command(CLI::App& program);
Command attention_command(CLI::App& program);
Command report_command(CLI::App& program);

}  // namespace seq2seq
