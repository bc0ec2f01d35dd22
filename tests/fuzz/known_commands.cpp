#include "tests/fuzz/known_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "examples/apps/char_lm/models.h"
#include "tests/fuzz/affordable.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/programs.h"
#include "tests/fuzz/words.h"
#include "tests/fuzz/working_folder.h"

namespace fuzz {

namespace {

KnownCommand described(const std::string& program, const CLI::App& app) {
  KnownCommand command{program, app.get_name(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    bool is_switch = option->get_items_expected_max() == 0;
    KnownFlag flag{option->get_name(), is_switch ? "" : option->get_type_name(),
                   option->get_required()};
    if (option->nonpositional()) {
      command.flags.push_back(flag);
    } else {
      flag.unit = flag.name;
      command.arguments.push_back(flag);
    }
  }
  return command;
}

bool is_path(const std::string& unit) {
  constexpr const char* units[] = {"FILE", "FILE or -", "FOLDER", "CHECKPOINT", "RUN", "OUT_DIR"};
  return std::ranges::count(units, unit) > 0;
}

std::string path(Choices& choices) {
  std::vector<std::string> paths = {"new", "new/inner", "new.svg", ".", "", "-"};
  for (const auto& [place, bytes] : files()) paths.push_back(place);
  return choices.of(paths);
}

std::string model(Choices& choices) {
  const char_lm::ModelKind& kind = choices.of(char_lm::model_kinds());
  const char* form = choices.of(kind.forms);
  return std::string(kind.name) + (form && *form ? ":" : "") + (form ? form : "");
}

std::string number(Choices& choices) {
  constexpr const char* fractions[] = {"0.5", "0.1", "1e-3", "0.999", "1", "1e300", "nan", "inf"};
  if (choices.once_in(4)) return choices.of(fractions);
  return choices.once_in(8) ? dumped(extreme(choices)) : std::to_string(choices.below(9));
}

}  // namespace

const std::vector<KnownCommand>& known_commands() {
  static const std::vector<KnownCommand> known = [] {
    std::vector<KnownCommand> list;
    for (const char* program : {"char_lm", "seq2seq"}) {
      auto app = apps::make_program("", program);
      for (const apps::Command& command : commands(program, *app))
        list.push_back(described(program, *command.flags));
    }
    return list;
  }();
  return known;
}

const KnownCommand* known_command(const std::vector<std::string>& words) {
  auto is_named = [&](const KnownCommand& command) {
    return words.size() > 1 && command.program == words[0] && command.name == words[1];
  };
  auto found = std::ranges::find_if(known_commands(), is_named);
  return found == known_commands().end() ? nullptr : &*found;
}

bool trains(const std::string& name) { return name == "train" || name == "compare"; }

std::vector<std::string> small_flags(const KnownCommand& command,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const KnownFlag& flag : command.flags) {
    auto small = small_values().find(flag.name.substr(2));
    auto gives = [&](const std::string& word) { return word.starts_with(flag.name); };
    if (small != small_values().end() && std::ranges::none_of(words, gives))
      result.push_back(flag.name + '=' + small->second);
  }
  return result;
}

std::vector<std::string> some_flags(const KnownCommand& command, size_t times, Choices& choices) {
  std::vector<std::string> result;
  for (const KnownFlag& flag : command.flags)
    if (!flag.unit.empty() && !is_path(flag.unit) && choices.once_in(times))
      result.push_back(flag.name + '=' + value_for(flag.unit, choices));
  return result;
}

std::string value_for(const std::string& unit, Choices& choices) {
  constexpr const char* known_texts[] = {"", "a", "ab", "ab ba", "b\na", "a b", "\xC3\xA9", "\xFF"};
  constexpr const char* patterns[] = {
      "*", "embedding.*", "blocks.0.*,embedding.*", "*=0.5", "blocks.*=2,*.weight=0", "x", "="};
  if (unit == "BOOL") return choices.once_in(2) ? "true" : "false";
  if (unit.find('|') != unit.npos)
    return choices.once_in(20) ? choices.of(known_words()) : choices.of(words_of(unit));
  if (is_path(unit)) return path(choices);
  if (unit == "TEXT" || unit == "LINE") return choices.of(known_texts);
  if (unit == "MODEL") return model(choices);
  if (unit.starts_with("PATTERN")) return choices.of(patterns);
  return number(choices);
}

}  // namespace fuzz
