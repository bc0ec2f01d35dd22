// libFuzzer's target for command lines: words with a zero byte between two of them, of which the
// first is the program. Each command does what it is asked for, or refuses it in one line.

#include <algorithm>
#include <cctype>

#include "examples/apps/char_lm/models.h"
#include "tests/fuzz/affordable.h"
#include "tests/fuzz/known_commands.h"
#include "tests/fuzz/programs.h"
#include "tests/fuzz/trainings.h"
#include "tests/fuzz/working_folder.h"
#include "tests/support/temporary_folder.h"

using fuzz::Choices;
using fuzz::KnownCommand;
using fuzz::KnownFlag;

namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(1, '\0')) + word;
  return text;
}

Words split(const std::string& text) {
  Words words(1);
  for (char byte : text)
    if (byte == '\0')
      words.emplace_back();
    else
      words.back() += byte;
  return words;
}

/// Whether no word can name a file outside of the working folder.
bool stays_inside(const Words& words) {
  auto leaves = [](const std::string& word) {
    for (size_t n = 0; n < word.size(); ++n)
      if (word[n] == '/' && (n == 0 || !std::isalnum(static_cast<unsigned char>(word[n - 1]))))
        return true;
    return word.find("..") != word.npos;
  };
  return std::ranges::none_of(words, leaves);
}

std::string given(const KnownFlag& flag, Choices& choices) {
  return flag.unit.empty() ? flag.name : flag.name + '=' + value_for(flag.unit, choices);
}

/// A command line with all that the command needs.
Words seed(Choices& choices) {
  const KnownCommand& command = choices.of(fuzz::known_commands());
  Words words = {command.program, command.name};
  for (const KnownFlag& argument : command.arguments)
    words.push_back(value_for(argument.unit, choices));
  for (const KnownFlag& flag : command.flags)
    if (flag.required) words.push_back(given(flag, choices));
  return words;
}

/// Another word for the command line: a flag with a value, or a value for an argument.
std::string other_word(const Words& words, Choices& choices) {
  const KnownCommand* command = fuzz::known_command(words);
  if (!command || choices.once_in(20)) command = &choices.of(fuzz::known_commands());
  if (!command->arguments.empty() && choices.once_in(8))
    return value_for(choices.of(command->arguments).unit, choices);
  return given(choices.of(command->flags), choices);
}

void change(Words& words, Choices& choices) {
  size_t place = choices.below(words.size());
  auto at = words.begin() + static_cast<std::ptrdiff_t>(place);
  switch (choices.below(10)) {
    case 0:
      words.erase(at);
      break;
    case 1:
      words[place] = other_word(words, choices);
      break;
    case 2:
      words[place] = fuzz::mutated_bytes(words[place], words[place].size() + 10);
      break;
    case 3:
      words.push_back(words[place]);
      break;
    default:
      words.push_back(other_word(words, choices));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::start_in_empty_folder();
  fuzz::write_training_text();
  for (const char_lm::ModelKind& kind : char_lm::model_kinds())
    fuzz::expect_training("char_lm", kind.name, {std::string("--model=") + kind.name});
  fuzz::expect_training("seq2seq", "pairs");
  write_text("config.json", R"({"n_layer": 1, "dropout": 0.5})");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Files before = fuzz::files();
  Words words = split(fuzz::affordable({reinterpret_cast<const char*>(data), size}));
  if (!stays_inside(words)) return 0;
  fuzz::restore(before);
  if (words.front() != "seq2seq") words.front() = "char_lm";
  if (const KnownCommand* command = fuzz::known_command(words)) {
    Words small = small_flags(*command, words);
    // The text that a training takes otherwise is a long one.
    bool has_text =
        std::ranges::any_of(words, [](auto& word) { return word.starts_with("--data"); });
    if (fuzz::trains(command->name) && !has_text) small.push_back("--data=text");
    words.insert(words.begin() + 2, small.begin(), small.end());
  }
  fuzz::run(words.front(), {words.begin() + 1, words.end()}, "ab\nba\n");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t longest,
                                          unsigned number) {
  Choices choices(number);
  Words words = split({reinterpret_cast<const char*>(data), size});
  if (size == 0 || choices.once_in(30))
    words = seed(choices);
  else
    change(words, choices);
  return fuzz::put(joined(words), data, longest);
}
