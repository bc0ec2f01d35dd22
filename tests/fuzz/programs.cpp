#include "tests/fuzz/programs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "core/machine/precision.h"
#include "examples/apps/char_lm/command.h"
#include "examples/apps/seq2seq/command.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/foreign_errors.h"
#include "tests/fuzz/known_commands.h"
#include "tests/fuzz/working_folder.h"
#include "tests/support/temporary_folder.h"

namespace fuzz {

namespace {

constexpr const char* slow_precision = "gains no time on this CPU, which multiplies floats as fast";

/// Collects what is written to a stream, for as long as it lives.
class Captured {
 public:
  explicit Captured(std::ostream& stream) : stream_(stream), before_(stream.rdbuf(&text_)) {}
  ~Captured() { stream_.rdbuf(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostream& stream_;
  std::stringbuf text_;
  std::streambuf* before_;
};

/// Makes a text this process's standard input.
void read_from(const std::string& text) {
  write_text("standard_input", text);
  int descriptor = ::open("standard_input", O_RDONLY);
  expect(descriptor >= 0 && ::dup2(descriptor, STDIN_FILENO) == STDIN_FILENO, "a standard input");
  ::close(descriptor);
}

std::vector<apps::Command> reading_commands(const std::string& program, CLI::App& app) {
  if (program == "seq2seq")
    return {seq2seq::eval_command(app), seq2seq::translate_command(app),
            seq2seq::attention_command(app), seq2seq::report_command(app)};
  return {char_lm::eval_command(app),      char_lm::generate_command(app),
          char_lm::inspect_command(app),   char_lm::plot_command(app),
          char_lm::attention_command(app), char_lm::positions_command(app),
          char_lm::context_command(app),   char_lm::convert_command(app),
          char_lm::report_command(app)};
}

std::vector<apps::Command> training_commands(const std::string& program, CLI::App& app) {
  shiftgrad::ProcessGroup& alone = shiftgrad::alone();
  if (program == "seq2seq") return {seq2seq::train_command(app, alone, program)};
  return {char_lm::train_command(app, alone, program), char_lm::compare_command(app)};
}

/// The commands that such arguments may name. Those that train have many flags, and take long to
/// make, so they come only where the first word is none of the others.
std::vector<apps::Command> needed_commands(const std::string& program,
                                           const std::vector<std::string>& arguments,
                                           CLI::App& app) {
  bool reads = !arguments.empty() && !trains(arguments[0]) &&
               known_command({program, arguments[0]}) != nullptr;
  return reads ? reading_commands(program, app) : commands(program, app);
}

int status_of(const std::string& program, std::vector<std::string> arguments) {
  auto app = apps::make_program("", program);
  std::vector<apps::Command> needed = needed_commands(program, arguments, *app);
  arguments.insert(arguments.begin(), program);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return apps::run_program(*app, needed, static_cast<int>(pointers.size()), pointers.data());
}

/// The lines that do not speak of a row that was skipped, or of a precision that gains no time.
std::vector<std::string> complaints(const std::string& program, const std::string& errors) {
  std::vector<std::string> result;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with(program + ": skipped ") && !line.ends_with(slow_precision))
      result.push_back(line);
  return result;
}

/// Whether a word or a file holds this text, which an error may then repeat.
bool is_given(const char* text, const std::vector<std::string>& words, const Files& files) {
  auto holds = [&](const std::string& bytes) { return bytes.find(text) != bytes.npos; };
  return std::ranges::any_of(words, holds) ||
         std::ranges::any_of(files, holds, &Files::value_type::second);
}

}  // namespace

std::vector<apps::Command> commands(const std::string& program, CLI::App& app) {
  std::vector<apps::Command> all = reading_commands(program, app);
  for (apps::Command& command : training_commands(program, app)) all.push_back(command);
  return all;
}

void expect_no_control_characters(const std::string& text) {
  for (char character : text) {
    auto byte = static_cast<unsigned char>(character);
    expect(byte == '\n' || (byte >= 0x20 && byte != 0x7F), "no control characters in: " + text);
  }
}

Outcome run(const std::string& program, const std::vector<std::string>& arguments,
            const std::string& input) {
  ::unsetenv("OPENBLAS_CORETYPE");  // the programs would say that it slows them
  shiftgrad::set_product_precision(shiftgrad::Precision::float32);
  read_from(input);
  const Files before = files();
  Outcome outcome;
  std::string& errors = outcome.errors;
  {
    Captured output(std::cout), error(std::cerr);
    outcome.status = status_of(program, arguments);
    outcome.output = output.text();
    errors = error.text();
  }
  expect_no_control_characters(errors);
  std::vector<std::string> lines = complaints(program, errors);
  if (outcome.status == 0) {
    expect(lines.empty(), "no errors of a command that succeeds: " + errors);
    return outcome;
  }
  expect(outcome.status == 1 || outcome.status == 2, "a status of 0, 1 or 2");
  expect(lines.size() == 1 && lines[0].starts_with(program + ": "),
         "one line that begins with the program's name: " + errors);
  const char* mark = foreign_mark(lines[0]);
  expect(!mark || is_given(mark, arguments, before), "an error of our own: " + errors);
  // A training writes into its folder before it may fail.
  if (outcome.status == 2 || std::ranges::none_of(arguments, trains))
    expect(files() == before, "no file changed by what is refused: " + errors);
  return outcome;
}

}  // namespace fuzz
