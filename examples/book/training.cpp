#include "training.h"

#include <string>
#include <type_traits>

#include "../char_lm/attention_maps.h"
#include "../char_lm/distance_tables.h"
#include "../wrong_on_purpose/mistakes.h"
#include "../wrong_on_purpose/score.h"
#include "shiftgrad/core/named.h"
#include "shiftgrad/nn/models/config.h"
#include "shiftgrad/nn/models/generate.h"
#include "shiftgrad/optim/batches.h"
#include "shiftgrad/optim/evaluate.h"

namespace book {

using wrong_on_purpose::Exhibit;
using wrong_on_purpose::Form;

namespace {

TrainerConfig trainer_config(Json object) {
  require(object.is_object(), "\"training\" is not an object");
  TrainerConfig config;
  config.fields([&](const char* name, auto& value, auto&&...) {
    using Value = std::decay_t<decltype(value)>;
    if (!object.contains(name)) return;
    if constexpr (std::is_enum_v<Value>)
      value = value_named<Value>(value_of<std::string>(object, name));
    else
      value = value_of<Value>(object, name);
    object.erase(name);
  });
  require(object.empty(), "training: unknown key ",
          object.empty() ? "" : object.items().begin().key());
  return config;
}

LanguageModelConfig model_config(Json object, int64_t vocab_size) {
  require(object.is_object(), "\"model\" is not an object");
  object["vocab_size"] = vocab_size;
  return config_from_json<LanguageModelConfig>(object.dump());
}

/// The exhibits that learn to predict the next character. The two-way form fills in blanks.
std::vector<Exhibit> exhibits_that_write() {
  std::vector<Exhibit> all(wrong_on_purpose::exhibits.begin(), wrong_on_purpose::exhibits.end());
  std::erase_if(all, [](const Exhibit& one) { return one.form == Form::two_way; });
  return all;
}

Exhibit exhibit_named(const Json& object) {
  auto form = value_of<std::string>(object, "form"),
       mistake = value_of<std::string>(object, "mistake");
  for (const Exhibit& one : exhibits_that_write())
    if (name_of(one.form) == form && one.name == mistake) return one;
  fail("\"exhibit\" is ", shown(form), " with ", shown(mistake),
       ", expected one that exhibits lists");
}

/// A model of the library's mixer, or of one from the exhibition of mistakes.
LanguageModel new_model(const Json& request, int64_t vocab_size, const TrainerConfig& training,
                        Random& random) {
  auto object = value_of<Json>(request, "model");
  if (!request.contains("exhibit")) return {model_config(object, vocab_size), random};
  Exhibit exhibit = exhibit_named(request["exhibit"]);
  if (object.is_object()) object["mixer"] = {{"type", "multi_head_attention"}};  // replaced below
  LanguageModelConfig config = model_config(object, vocab_size);
  wrong_on_purpose::Sizes sizes{
      .d_model = config.d_model, .n_head = config.n_head, .max_len = training.block_size};
  return {config, random, [&](Random& start) { return make_mixer(exhibit, sizes, start); }};
}

char_lm::Vocabulary characters_of(const std::string& text, const std::string& unseen) {
  char_lm::Vocabulary vocabulary(char_lm::Unit::character);
  vocabulary.add(text, "text");
  vocabulary.add(unseen, "unseen");
  return vocabulary;
}

}  // namespace

Training::Training(const Json& request)
    : vocabulary_(characters_of(value_of<std::string>(request, "text"),
                                value_of<std::string>(request, "unseen", ""))),
      text_(tokens_of(request, "text")),
      config_(trainer_config(value_of<Json>(request, "training"))),
      random_{.seed = config_.seed},
      model_(new_model(request, vocabulary_.size(), config_, random_)),
      trainer_(model_, text_, {}, config_) {}

Json Training::begun() const {
  return {{"parameters", parameter_count(model_)}, {"vocab_size", vocabulary_.size()}};
}

Json Training::train(const Json& request) {
  auto steps = value_of<int64_t>(request, "steps");
  std::vector<double> losses;
  int64_t step = 0;
  for (int64_t n = 0; n < steps; ++n) {
    StepReport report = trainer_.step();
    losses.push_back(report.loss);
    step = report.step;
  }
  return {{"step", step}, {"losses", losses}};
}

Json Training::write(const Json& request) {
  GenerateOptions options{.length = value_of<int64_t>(request, "length"),
                          .sampling = {.temperature = value_of<double>(request, "temperature", 1)},
                          .seed = value_of<uint64_t>(request, "seed", 0),
                          .mem_len = config_.mem_len > 0 ? config_.mem_len : unlimited};
  std::string written;
  generate(without_terms(request), tokens_of(request, "prompt"), options,
           [&](int32_t token) { written += vocabulary_.decode(token); });
  return {{"text", written}};
}

/// Feeds a text as training does: in segments behind a memory, or in blocks.
Json Training::score(const Json& request) {
  EvaluationConfig how{
      .mode = config_.mem_len > 0 ? EvaluationMode::memory : EvaluationMode::chunks,
      .tgt_len = config_.block_size,
      .mem_len = config_.mem_len};
  Evaluation score = evaluate(without_terms(request), tokens_of(request, "text"), how);
  return {{"nats", score.nats}, {"tokens", score.tokens}};
}

Json Training::score_in_order(const Json& request) {
  std::vector<int32_t> read = tokens_of(request, "text");
  auto blocks = value_of<int64_t>(request, "blocks");
  Batch batch = RandomBlocks(read, blocks, config_.block_size, {.seed = 0, .stream = 1}).next();
  auto losses = wrong_on_purpose::score(model_, batch, config_.block_size / 2);
  return {{"in_one_pass", losses.in_one_pass}, {"in_order", losses.in_order}};
}

Json Training::terms(const Json& request) {
  Json layers = Json::array();
  auto without = value_of<TermNames>(request, "without", {});
  for (const LayerTerms& layer : score_terms(model_, tokens_of(request, "text"), without)) {
    Json terms = Json::array();
    for (const auto& [name, heads] : layer.terms)
      terms.push_back({{"name", name}, {"heads", heads}});
    layers.push_back({{"terms", terms}, {"weights", layer.weights}});
  }
  return {{"layers", layers}};
}

Json Training::distances(const Json& request) {
  auto most = value_of<int64_t>(request, "most");
  Json layers = Json::array();
  for (const auto& tables : char_lm::distance_tables(model_, most)) {
    Json layer = Json::array();
    for (const auto& table : tables)
      layer.push_back({{"title", table.title}, {"first", table.first}, {"heads", table.heads}});
    layers.push_back(layer);
  }
  return {{"layers", layers}};
}

WithoutTerms Training::without_terms(const Json& request) const {
  return {model_, value_of<TermNames>(request, "without", {})};
}

std::vector<int32_t> Training::tokens_of(const Json& request, const char* key) const {
  return vocabulary_.encode(value_of<std::string>(request, key), key);
}

Json Training::attention(const Json& request) {
  Json layers = Json::array();
  for (const auto& maps : char_lm::attention_maps(model_, tokens_of(request, "text"))) {
    Json layer = Json::array();
    for (const auto& map : maps) layer.push_back({{"title", map.title}, {"weights", map.weights}});
    layers.push_back(layer);
  }
  return {{"layers", layers}};
}

Json exhibits_of(const Json&) {
  Json list = Json::array();
  for (const Exhibit& one : exhibits_that_write())
    list.push_back({{"form", name_of(one.form)}, {"mistake", one.name}});
  return {{"exhibits", list}};
}

}  // namespace book
