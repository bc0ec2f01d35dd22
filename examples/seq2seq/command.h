#pragma once

#include "examples/common/program.h"

namespace seq2seq {

using char_lm::add_argument;
using char_lm::add_command;
using char_lm::add_flag;
using char_lm::add_switch;
using char_lm::Command;
using char_lm::set_required;

Command train_command(CLI::App& program, shiftgrad::Peers& peers);
Command eval_command(CLI::App& program);
Command translate_command(CLI::App& program);
Command attention_command(CLI::App& program);

}  // namespace seq2seq
