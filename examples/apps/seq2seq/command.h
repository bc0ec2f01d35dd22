#pragma once

#include "examples/apps/flags/program.h"

namespace seq2seq {

using common::add_argument;
using common::add_command;
using common::add_flag;
using common::add_switch;
using common::Command;
using common::set_required;

Command train_command(CLI::App& program, shiftgrad::ProcessGroup& peers);
Command eval_command(CLI::App& program);
Command translate_command(CLI::App& program);
Command attention_command(CLI::App& program);
Command report_command(CLI::App& program);

}  // namespace seq2seq
