#include "pair_training.h"

#include <utility>
#include <vector>

#include "../char_lm/vocabulary.h"
#include "hyperparameters.h"
#include "nn/models/config.h"
#include "optim/pair_trainer.h"

namespace book {

using namespace shiftgrad;

namespace {

/// A source and its target.
using TextPair = std::pair<std::string, std::string>;

char_lm::Vocabulary characters_of(const std::vector<TextPair>& pairs) {
  char_lm::Vocabulary vocabulary(char_lm::Unit::character);
  for (const auto& [source, target] : pairs) vocabulary.add(source + target, "pairs");
  return vocabulary;
}

std::vector<TokenPair> tokens_of(const std::vector<TextPair>& pairs,
                                 const char_lm::Vocabulary& vocabulary) {
  std::vector<TokenPair> tokens;
  for (const auto& [source, target] : pairs)
    tokens.push_back({vocabulary.encode(source, "pairs"), vocabulary.encode(target, "pairs")});
  return tokens;
}

}  // namespace

Json train_pairs(const Json& request) {
  auto texts = value_of<std::vector<TextPair>>(request, "pairs");
  char_lm::Vocabulary vocabulary = characters_of(texts);
  std::vector<TokenPair> pairs = tokens_of(texts, vocabulary);
  // Both sides have all characters, and two tokens more for where a target begins and ends.
  auto begin = static_cast<int32_t>(vocabulary.size()), end = begin + 1;
  auto object = value_of<Json>(request, "model");
  require(object.is_object(), "\"model\" is not an object");
  object["source_vocab_size"] = object["target_vocab_size"] = end + 1;
  auto config = hyperparameters<PairTrainerConfig>(value_of<Json>(request, "training"));
  Random random{.seed = config.seed};
  EncoderDecoder model(config_from_json<EncoderDecoderConfig>(object.dump()), random);
  PairTrainer trainer(model, pairs, {}, {begin, end}, config);
  std::vector<double> losses;
  auto steps = value_of<int64_t>(request, "steps");
  for (int64_t step = 0; step < steps; ++step) losses.push_back(trainer.step().loss);
  return {{"parameters", parameter_count(model)}, {"losses", losses}};
}

}  // namespace book
