#include "pair_training.h"

#include "beam_steps.h"
#include "hyperparameters.h"
#include "nn/models/config.h"

namespace book {

using namespace shiftgrad;

namespace {

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

EncoderDecoderConfig model_config(const Json& request, int32_t end) {
  auto object = value_of<Json>(request, "model");
  require(object.is_object(), "\"model\" is not an object");
  object["source_vocab_size"] = object["target_vocab_size"] = end + 1;
  return config_from_json<EncoderDecoderConfig>(object.dump());
}

}  // namespace

PairTraining::PairTraining(const Json& request)
    : vocabulary_(characters_of(value_of<std::vector<TextPair>>(request, "pairs"))),
      // Both sides have all characters, and two tokens more for where a target begins and ends.
      begin_(static_cast<int32_t>(vocabulary_.size())),
      end_(begin_ + 1),
      config_(hyperparameters<PairTrainerConfig>(value_of<Json>(request, "training"))),
      random_{.seed = config_.seed},
      model_(model_config(request, end_), random_) {}

Json PairTraining::train(const Json& request) {
  std::vector<TokenPair> pairs =
      tokens_of(value_of<std::vector<TextPair>>(request, "pairs"), vocabulary_);
  PairTrainer trainer(model_, pairs, {}, {begin_, end_}, config_);
  std::vector<double> losses;
  auto steps = value_of<int64_t>(request, "steps");
  for (int64_t step = 0; step < steps; ++step) losses.push_back(trainer.step().loss);
  return {{"parameters", parameter_count(model_)}, {"losses", losses}};
}

Json PairTraining::beam_search(const Json& request) const {
  DecodingOptions options{begin_, end_, value_of<int64_t>(request, "max_length")};
  BeamOptions beam{value_of<int64_t>(request, "width"),
                   value_of<double>(request, "length_penalty")};
  std::vector<int32_t> source =
      vocabulary_.encode(value_of<std::string>(request, "source"), "source");
  auto found = shiftgrad::beam_search(model_, pad({source}), options, beam)[0];
  Json targets = Json::array(), steps = Json::array();
  for (const Hypothesis& one : found)
    targets.push_back({{"text", text_of(one.tokens)},
                       {"log_probability", one.log_probability},
                       {"score", beam.score(one)}});
  for (const auto& candidates : beam_steps(model_, source, options, beam)) {
    Json step = Json::array();
    for (const auto& [hypothesis, score, ended, kept] : candidates)
      step.push_back({{"text", text_of(hypothesis.tokens)},
                      {"log_probability", hypothesis.log_probability},
                      {"score", score},
                      {"ended", ended},
                      {"kept", kept}});
    steps.push_back(step);
  }
  return {{"targets", targets}, {"steps", steps}};
}

std::string PairTraining::text_of(const std::vector<int32_t>& tokens) const {
  std::string text;
  for (int32_t token : tokens)
    text += token == begin_ ? "‹begin›" : token == end_ ? "‹end›" : vocabulary_.decode(token);
  return text;
}

}  // namespace book
