#include "tests/laws/sizes/calls.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "core/errors.h"
#include "core/machine/sanitizer.h"

namespace shiftgrad::test {

namespace {

constexpr int64_t numbers[] = {1'000'000,
                               1'000'000'000,
                               1'000'000'000'000,
                               INT64_MIN,
                               -(int64_t{1} << 32),
                               -1,
                               0,
                               1,
                               3,
                               int64_t{1} << 31,
                               int64_t{1} << 32,
                               int64_t{1} << 40,
                               int64_t{1} << 61,
                               int64_t{1} << 62,
                               INT64_MAX - 1,
                               INT64_MAX};

/// Whether a text has a number below -99, or what -1 is without a sign.
bool has_wrap(const std::string& text) {
  auto is_digit = [&](size_t n) { return n < text.size() && '0' <= text[n] && text[n] <= '9'; };
  for (size_t n = 0; n < text.size(); ++n)
    if (text[n] == '-' && is_digit(n + 1) && is_digit(n + 2) && is_digit(n + 3)) return true;
  return text.find("18446744073709551615") != std::string::npos;
}

/// Makes the call, and returns what is wrong with its end: "" for a result or an Error of one line.
std::string wrong_end(const Call& call, int64_t number) {
  try {
    call.call(number);
    return "";
  } catch (const Error& error) {
    std::string text = error.what();
    if (text.empty() || text.find('\n') != std::string::npos) return "not one line: " + text;
    return number >= 0 && has_wrap(text) ? "a wrap: " + text : "";
  } catch (const std::exception& error) {
    return std::string("no Error: ") + error.what();
  }
}

/// Leaves this process 1 GiB of memory and 30 seconds, and lets its faults end it without a word.
void limit_process() {
  for (int fault : {SIGSEGV, SIGFPE, SIGABRT, SIGILL}) std::signal(fault, SIG_DFL);
  rlimit memory{1UL << 30, 1UL << 30}, seconds{30, 30}, core{0, 0};
  if (!address_sanitizer) setrlimit(RLIMIT_AS, &memory);  // that one has a limit of its own
  setrlimit(RLIMIT_CPU, &seconds);
  setrlimit(RLIMIT_CORE, &core);
}

/// Returns wrong_end of a call in a process of its own, or the signal that ended it.
std::string wrong_end_apart(const Call& call, int64_t number) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    limit_process();
    std::string text = wrong_end(call, number);
    [[maybe_unused]] auto written = write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 256> part{};
  for (ssize_t count = 0; (count = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : "ended by status " + std::to_string(status);
}

}  // namespace

void check_ends(const std::vector<Call>& calls) {
  for (const Call& call : calls)
    for (int64_t number : numbers) {
      std::string wrong = wrong_end_apart(call, number);
      CHECK_MESSAGE(wrong.empty(), call.name, " of ", number, ": ", wrong);
    }
}

}  // namespace shiftgrad::test
