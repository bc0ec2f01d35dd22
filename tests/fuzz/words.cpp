#include "tests/fuzz/words.h"

#include <sstream>

#include "examples/apps/char_lm/train_flags.h"
#include "examples/apps/seq2seq/train_flags.h"
#include "nn/models/config.h"

namespace fuzz {

std::vector<std::string> words_of(const std::string& choices) {
  std::vector<std::string> words;
  std::istringstream parts(choices);
  for (std::string word; std::getline(parts, word, '|');) words.push_back(word);
  return words;
}

const std::vector<std::string>& known_words() {
  static const std::vector<std::string> known = [] {
    using shiftgrad::AnyConfig;
    std::vector<std::string> words = shiftgrad::type_names<AnyConfig>();
    auto collect = [&](const std::string& choices) {
      for (const std::string& word : words_of(choices)) words.push_back(word);
    };
    auto of_field = [&]<class Value>(const Value&, const shiftgrad::Field& field, const auto&...) {
      collect(shiftgrad::unit_of<Value>(field));
    };
    auto of_flag = [&]<class Value>(const Value& value, const common::Field& flag) {
      of_field(value, flag);
      collect(flag.choices);
    };
    for (AnyConfig& config : shiftgrad::all_configs<AnyConfig>())
      shiftgrad::fields_of(config, of_field);
    char_lm::TrainFlags().visit(of_flag);
    seq2seq::TrainFlags().visit(of_flag);
    return words;
  }();
  return known;
}

}  // namespace fuzz
