// libFuzzer's target for the files of flags that train --config reads. They are refused in one
// line, or the training that they describe is one that can be resumed.

#include <nlohmann/json.hpp>

#include "tests/fuzz/affordable.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/known_commands.h"
#include "tests/fuzz/programs.h"
#include "tests/fuzz/trainings.h"
#include "tests/fuzz/working_folder.h"
#include "tests/support/temporary_folder.h"

using fuzz::json;

namespace {

/// The value as JSON has it: a number, a truth value or a text.
json json_of(const std::string& typed) {
  json value = json::parse(typed, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : json(typed);
}

/// The object with small values for those of the program's flags that it does not give. What is no
/// object stays.
std::string with_small_values(const char* program, const std::string& text) {
  json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return text;
  std::string given;
  for (const fuzz::KnownFlag& flag : fuzz::known_command({program, "train"})->flags) {
    std::string name = flag.name.substr(2);
    auto small = fuzz::small_values().find(name);
    if (small == fuzz::small_values().end() || object.contains(name)) continue;
    given += (given.empty() ? "\"" : ", \"") + name + "\": " + small->second;
  }
  size_t begin = text.find('{') + 1;
  bool more = !given.empty() && !object.empty();
  return text.substr(0, begin) + given + (more ? ", " : "") + text.substr(begin);
}

/// A flag that only seq2seq has, which says whose flags a file has.
constexpr const char* of_pairs = "source_tokens";

json seed(fuzz::Choices& choices) {
  json object = {{"data", "text"}};
  if (choices.once_in(3)) object[of_pairs] = "characters";
  return object;
}

/// Gives the object a flag of its program.
void set_flag(json& object, fuzz::Choices& choices) {
  const char* program = object.contains(of_pairs) ? "seq2seq" : "char_lm";
  const fuzz::KnownFlag& flag = choices.of(fuzz::known_command({program, "train"})->flags);
  object[flag.name.substr(2)] = json_of(fuzz::value_for(flag.unit, choices));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::start_in_empty_folder();
  fuzz::write_training_text();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  static const fuzz::Files before = fuzz::files();
  for (const char* program : {"char_lm", "seq2seq"}) {
    fuzz::restore(before);
    write_text("config.json", with_small_values(program, fuzz::affordable(text)));
    if (fuzz::run(program, {"train", "--config=config.json", "--out_dir=run"}).status != 0)
      continue;
    int resumed =
        fuzz::run(program, {"train", "--resume", "--out_dir=run", "--max_iters=9"}).status;
    fuzz::expect(resumed != 2, "a run that can be resumed");
  }
  return 0;
}

/// Sets a flag, or changes the JSON as what it is; now and then a byte.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t longest,
                                          unsigned number) {
  std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::Choices choices(number);
  if (choices.once_in(20)) return LLVMFuzzerMutate(data, size, longest);
  json object = json::parse(text, nullptr, false);
  if (!object.is_object() || choices.once_in(30)) object = seed(choices);
  if (choices.once_in(4))
    fuzz::change(object, choices);
  else
    set_flag(object, choices);
  return fuzz::put(fuzz::dumped(object), data, longest);
}
