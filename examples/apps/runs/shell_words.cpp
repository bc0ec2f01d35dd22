#include "shell_words.h"

#include <algorithm>
#include <cstdio>

#include "examples/apps/draw/printable.h"

namespace apps {

namespace {

bool is_plain(char character) {
  return ('a' <= character && character <= 'z') || ('A' <= character && character <= 'Z') ||
         ('0' <= character && character <= '9') ||
         std::string_view("_-./,:+").find(character) != std::string_view::npos;
}

std::string quoted(std::string_view word) {
  std::string result = "'";
  for (char character : word)
    result += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return result + '\'';
}

/// Returns a command substitution whose output is the word. It would lose line feeds at the end.
std::string substituted(std::string_view word) {
  std::string format;
  for (char character : word) {
    bool is_option = format.empty() && character == '-';
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\%03o", static_cast<unsigned char>(character));
    format += is_plain(character) && !is_option ? std::string(1, character) : escape;
  }
  return "\"$(printf '" + format + "')\"";
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  bool is_shown = printable(word) == word || word.ends_with('\n');
  return is_shown ? quoted(word) : substituted(word);
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + shell_word(word);
  return command;
}

std::string as_argument(const std::string& path) {
  return path.starts_with('-') ? "./" + path : path;
}

}  // namespace apps
