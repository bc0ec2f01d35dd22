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
    auto collect = [&]<class Value>(const Value&, const shiftgrad::Field& field, const auto&...) {
      for (const std::string& choices : {shiftgrad::unit_of<Value>(field), field.choices})
        for (const std::string& word : words_of(choices)) words.push_back(word);
    };
    for (AnyConfig& config : shiftgrad::all_configs<AnyConfig>())
      shiftgrad::fields_of(config, collect);
    char_lm::TrainFlags().visit(collect);
    seq2seq::TrainFlags().visit(collect);
    return words;
  }();
  return known;
}

}  // namespace fuzz
