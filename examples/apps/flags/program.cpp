#include "program.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/errors.h"
#include "core/machine/kernel.h"
#include "core/machine/openblas.h"
#include "core/machine/precision.h"
#include "examples/apps/draw/printable.h"
#include "examples/apps/draw/terminal_text.h"
#include "examples/apps/runs/stop_request.h"
#include "examples/apps/runs/writers.h"

namespace apps {

using shiftgrad::ProcessGroup;

namespace {

constexpr int success = 0, failure = 1, bad_input = 2;
constexpr const char* unwritten_output = "standard output: cannot be written";

/// Prints an error or a warning in one write, so that no other process prints into it.
void print_line(const CLI::App& program, const std::string& line) {
  std::cerr << shiftgrad::text(program.get_name(), ": ", line, '\n') << std::flush;
}

int complain(const CLI::App& program, std::string line, int status, ProcessGroup& peers) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (peers.rank() > 0) line = shiftgrad::text("rank ", peers.rank(), ": ", line);
  if (peers.speaks_for_failed()) print_line(program, printable(line, longest_line));
  peers.end_waiting(status);
  return status;
}

/// Returns what is told of an error. Memory that runs out where nobody knows for what is the
/// command's. The words of other libraries mean nothing to a user.
std::string reason(const Command* command, const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const std::length_error*>(&error))
    return (command ? command->flags->get_name() : "the arguments") + ": too large for the memory";
  if (dynamic_cast<const nlohmann::json::exception*>(&error))
    return "a text or a number that JSON cannot hold";
  if (auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return file->path1().string() + ": " + file->code().message();
  return error.what();
}

/// Does the work, which succeeds only if everything it printed has arrived.
int finish(const CLI::App& program, const Command* command, Command::Work work,
           ProcessGroup& peers) {
  try {
    // The work, and its progress bar, are destroyed before an error is printed.
    std::exchange(work, {})();
    flush_output();
  } catch (const StoppedBySignal& stopped) {
    if (!std::cout.flush()) print_line(program, unwritten_output);
    exit_by_signal(stopped.signal);
  } catch (const std::exception& error) {
    return complain(program, reason(command, error), failure, peers);
  }
  return success;
}

/// Says what slows down a command that computes, which is one that takes a number of threads.
void warn_of_slow_products(const CLI::App& program, const Command& command,
                           const ProcessGroup& peers) {
  if (peers.rank() > 0 || !command.flags->get_option_no_throw("--threads")) return;
  if (std::optional<std::string> complaint = shiftgrad::openblas_complaint())
    print_line(program, *complaint);
  bool rounds = shiftgrad::product_precision() == shiftgrad::Precision::bfloat16;
  if (rounds && !shiftgrad::has_fast_bfloat16_products())
    print_line(program,
               "--precision bfloat16 gains no time on this CPU, which multiplies floats as fast");
}

/// Says which files a newer version wrote, of those that a command has read.
void warn_of_newer_writers(const CLI::App& program, const ProcessGroup& peers) {
  for (const std::string& note : take_notes_on_writers())
    if (peers.rank() == 0) print_line(program, printable(note, longest_line));
}

int run(const CLI::App& program, const Command& command, ProcessGroup& peers) {
  // Writing into a pipe that nobody reads then fails, as into a full disk.
  if (command.outlives_readers) std::signal(SIGPIPE, SIG_IGN);
  Command::Work work;
  try {
    work = command.prepare();
  } catch (const std::exception& error) {
    return complain(program, reason(&command, error), bad_input, peers);
  }
  warn_of_newer_writers(program, peers);
  warn_of_slow_products(program, command, peers);
  return finish(program, &command, std::move(work), peers);
}

/// Throws unless all peers were started with the same command of the same program. Otherwise they
/// would wait for each other forever.
void check_same_command(const CLI::App& program, const std::string& command, ProcessGroup& peers) {
  if (peers.size() == 1) return;
  std::string own = program.get_name() + ' ' + command;
  std::vector<std::vector<std::byte>> all = peers.gather(std::as_bytes(std::span(own)));
  auto name = [&](size_t rank) {
    return std::string(reinterpret_cast<const char*>(all[rank].data()), all[rank].size());
  };
  for (size_t rank = 1; rank < all.size(); ++rank)
    shiftgrad::require(name(rank) == name(0), "rank ", rank, " runs ", name(rank),
                       ", but rank 0 runs ", name(0), "; expected the same command on all ranks");
}

/// Reads the arguments. Returns the help or the version if they ask for it.
std::optional<std::string> read_arguments(CLI::App& program, std::span<char*> arguments,
                                          ProcessGroup& peers) try {
  check_values_given(program, arguments.subspan(1));
  parse(program, std::vector<std::string>(arguments.begin() + 1, arguments.end()));
  return std::nullopt;
} catch (const CLI::CallForHelp&) {
  check_same_command(program, "--help", peers);
  return program.help();
} catch (const CLI::CallForVersion&) {
  check_same_command(program, "--version", peers);
  return program.version() + '\n';
}

/// Returns the command that was parsed, or null.
const Command* chosen(const std::vector<Command>& commands) {
  auto parsed = [](const Command& command) { return command.flags->parsed(); };
  auto found = std::ranges::find_if(commands, parsed);
  return found == commands.end() ? nullptr : &*found;
}

/// Returns a list such as "train, eval or generate".
std::string listed(const std::vector<Command>& commands) {
  std::string list;
  for (size_t n = 0; n < commands.size(); ++n)
    list += (n == 0 ? "" : n + 1 < commands.size() ? ", " : " or ") + commands[n].flags->get_name();
  return list;
}

}  // namespace

void keep_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // A newly opened file gets the lowest free number. It is opened so that the stream cannot use
    // it.
    bool is_closed = ::fcntl(stream, F_GETFD) < 0 && errno == EBADF;
    if (is_closed && ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void flush_output() {
  std::cout.flush();
  shiftgrad::require(std::cout.good(), unwritten_output);
}

std::string called(const std::string& name, int count, char** arguments) {
  return count > 0 && *arguments[0] ? arguments[0] : name;
}

int run_program(CLI::App& program, const std::vector<Command>& commands, int count,
                char** arguments, ProcessGroup& peers) {
  std::signal(SIGXFSZ, SIG_IGN);  // writing beyond a limit fails
  TerminalText output(std::cout, STDOUT_FILENO), errors(std::cerr, STDERR_FILENO);
  std::string status =
      "Exit status: 0 for success; 1 for a failure during the work; 2 for bad flags or bad input, "
      "with nothing written";
  if (commands.size() > 1)
    status += "; " + stop_statuses() + ", for which train saves a checkpoint first";
  std::string own = program.get_footer();
  program.footer((own.empty() ? own : own + "\n\n") + status + '.');
  const Command* command = nullptr;
  try {
    std::span all(arguments, static_cast<size_t>(count));
    if (std::optional<std::string> answer = read_arguments(program, all, peers))
      return finish(
          program, nullptr, [&] { std::cout << *answer; }, peers);
    command = chosen(commands);
    if (command) check_same_command(program, command->flags->get_name(), peers);
  } catch (const std::exception& error) {
    return complain(program, reason(command, error), bad_input, peers);
  }
  if (command) return run(program, *command, peers);
  return complain(program, "expected " + listed(commands) + "; --help explains them", bad_input,
                  peers);
}

}  // namespace apps
