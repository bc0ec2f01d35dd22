#include "gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/io/read_file.h"

extern char** environ;

namespace common {

using shiftgrad::Descriptor;
using shiftgrad::require;

namespace {

/// Starts gnuplot with two descriptors as input and output. Returns 0, or the error number if that
/// fails.
int start(const char* argument, int input, int output, pid_t& process) {
  posix_spawn_file_actions_t streams;
  ::posix_spawn_file_actions_init(&streams);
  ::posix_spawn_file_actions_adddup2(&streams, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&streams, output, STDOUT_FILENO);
  std::string name = "gnuplot", option = argument;
  char* arguments[] = {name.data(), option.data(), nullptr};
  int error = ::posix_spawnp(&process, name.c_str(), &streams, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&streams);
  return error;
}

/// Waits for the end of a process. Returns how it failed, or an empty string.
std::string failure_of(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return std::strerror(errno);
  if (WIFSIGNALED(status))
    return shiftgrad::text("ended by signal ", WTERMSIG(status), " (",
                           ::strsignal(WTERMSIG(status)), ")");
  int code = WEXITSTATUS(status);
  return code == 0 ? "" : shiftgrad::text("failed with exit status ", code);
}

/// Returns a file without a name that holds the text and is read from its start. Unlike a pipe, it
/// cannot fill up or lose its reader.
std::unique_ptr<std::FILE, int (*)(std::FILE*)> nameless_file(const std::string& text) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  bool written = file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                 std::fflush(file.get()) == 0;
  require(written, "gnuplot: no temporary file for its script: ", std::strerror(errno));
  std::rewind(file.get());
  return file;
}

}  // namespace

bool has_gnuplot() {
  Descriptor nothing("/dev/null", O_RDWR);
  pid_t process = 0;
  bool started = start("--version", nothing.number(), nothing.number(), process) == 0;
  if (started) failure_of(process);
  return started;
}

std::string gnuplot(const std::string& script) {
  auto input = nameless_file(script);
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC) == 0, "gnuplot: no pipe: ", std::strerror(errno));
  Descriptor result(ends[0]), output(ends[1]);
  pid_t process = 0;
  // -d ignores the settings in ~/.gnuplot.
  int error = start("-d", ::fileno(input.get()), output.number(), process);
  require(error == 0, "gnuplot: cannot be started: ", std::strerror(error));
  output.close();
  std::string written = shiftgrad::read_to_end(result.number(), "gnuplot");
  std::string failure = failure_of(process);
  require(failure.empty(), "gnuplot: ", failure);
  return written;
}

}  // namespace common
