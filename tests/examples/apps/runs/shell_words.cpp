#include "examples/apps/runs/shell_words.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "examples/apps/draw/printable.h"

using namespace apps;

namespace {

/// What a shell prints for the words, each between brackets.
std::string as_a_shell_reads(const std::string& words) {
  std::string command = "printf '[%s]' " + words;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> shell(::popen(command.c_str(), "r"), ::pclose);
  REQUIRE(shell);
  std::string read;
  std::array<char, 256> piece;
  while (size_t count = std::fread(piece.data(), 1, piece.size(), shell.get()))
    read.append(piece.data(), count);
  return read;
}

}  // namespace

TEST_CASE("shell_word: what a shell would read otherwise is quoted") {
  CHECK(shell_word("runs/out-1_a.b") == "runs/out-1_a.b");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("my run") == "'my run'");
  CHECK(shell_word("$HOME") == "'$HOME'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("Grüße") == "'Grüße'");
  CHECK(shell_word("g\xE9n 'x'") == "\"$(printf 'g\\351n\\040\\047x\\047')\"");
}

TEST_CASE("shell_word: a shell reads back any word") {
  for (std::string word :
       {"plain", "",     " ",     "a  b",    "'",      "\"",    "`id`",    "$(id)", "$HOME",
        "*",     "~",    "!!",    "a;b&c|d", "#x",     "\\n",   "-x",      "%s",    "{a,b}",
        "=ls",   "a\nb", "tab\t", "\x1B[2J", "g\xE9n", "-\xE9", "%\xFF\\", "é\x01'"}) {
    CAPTURE(word);
    CHECK(as_a_shell_reads(shell_word(word)) == '[' + word + ']');
    // What is shown on a terminal has neither controls nor broken characters.
    if (word.find('\n') == word.npos) CHECK(printable(shell_word(word)) == shell_word(word));
  }
  CHECK(as_a_shell_reads(shell_word("ends\n")) == "[ends\n]");
}

TEST_CASE("shell_command: the words of a command") {
  CHECK(shell_command({"char_lm", "eval", "my run"}) == "char_lm eval 'my run'");
  CHECK(as_argument("-x/y") == "./-x/y");
  CHECK(as_argument("x-y") == "x-y");
  CHECK(as_argument("/-x") == "/-x");
}
