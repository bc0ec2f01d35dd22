#include "training.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "examples/apps/char_lm/attention_maps.h"
#include "examples/apps/char_lm/distance_tables.h"
#include "examples/studies/wrong_on_purpose/blanks.h"
#include "examples/studies/wrong_on_purpose/score.h"
#include "hyperparameters.h"
#include "inside.h"
#include "nn/models/config.h"
#include "nn/models/generate.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "optim/batches.h"
#include "optim/evaluate.h"

namespace book {

namespace {

LanguageModelConfig model_config(Json object, int64_t vocab_size) {
  require(object.is_object(), "\"model\" is not an object");
  object["vocab_size"] = vocab_size;
  return config_from_json<LanguageModelConfig>(object.dump());
}

/// A model of the library's mixer, or of the exhibit's.
LanguageModel new_model(const Json& request, const std::optional<Exhibit>& exhibit,
                        int64_t vocab_size, int64_t block_size, Random& random) {
  auto object = value_of<Json>(request, "model");
  if (!exhibit) return {model_config(object, vocab_size), random};
  if (object.is_object()) object["mixer"] = {{"type", "multi_head_attention"}};  // replaced
  return make_model(*exhibit, model_config(object, vocab_size), block_size, random);
}

/// What stands for a character that is left blank.
constexpr const char* blank = "□";

/// The characters of the texts. A model that fills in blanks knows the blank, too.
char_lm::Vocabulary characters_of(const Json& request, const std::optional<Exhibit>& exhibit) {
  char_lm::Vocabulary vocabulary(char_lm::Unit::character);
  vocabulary.add(value_of<std::string>(request, "text"), "text");
  vocabulary.add(value_of<std::string>(request, "unseen", ""), "unseen");
  if (fills_in(exhibit)) vocabulary.add(blank, "the blank");
  return vocabulary;
}

}  // namespace

Training::Training(const Json& request)
    : exhibit_(exhibit_of(request)),
      vocabulary_(characters_of(request, exhibit_)),
      text_(tokens_of(request, "text")),
      config_(hyperparameters<TrainerConfig>(value_of<Json>(request, "training"))),
      random_{.seed = config_.seed},
      model_(new_model(request, exhibit_, vocabulary_.size(), config_.block_size, random_)),
      writing_{.mem_len = config_.mem_len > 0 ? config_.mem_len : unlimited} {
  if (exhibit_)
    exhibited_.emplace(model_, exhibit_->form, text_, exhibit_config(config_), blank_token());
  else
    trainer_.emplace(model_, text_, std::span<const int32_t>(), config_);
}

Training::Training(OpenedModel opened)
    : vocabulary_(std::move(opened.vocabulary)),
      config_{.block_size = opened.block_size, .mem_len = opened.mem_len},
      model_(std::move(opened.model)),
      writing_(opened.writing) {}

Json Training::begun() const {
  return {{"parameters", parameter_count(model_)}, {"vocab_size", vocabulary_.size()}};
}

Json Training::train(const Json& request) {
  require(exhibited_ || trainer_, "train: the model was opened, expected one that `begin` made");
  auto steps = value_of<int64_t>(request, "steps");
  std::vector<double> losses;
  for (int64_t n = 0; n < steps; ++n)
    losses.push_back(exhibited_ ? exhibited_->step() : trainer_->step().loss);
  return {{"step", exhibited_ ? exhibited_->steps() : trainer_->state().step}, {"losses", losses}};
}

Json Training::write(const Json& request) {
  GenerateOptions options = writing_;
  options.length = value_of<int64_t>(request, "length");
  options.sampling = {.temperature = value_of<double>(request, "temperature", 1),
                      .top_p = value_of<double>(request, "top_p", 1)};
  options.seed = value_of<uint64_t>(request, "seed", 0);
  if (request.contains("stop")) options.stop = {tokens_of(request, "stop")};
  WithoutTerms model = without_terms(request);
  std::vector<int32_t> prompt = tokens_of(request, "prompt");
  std::string written;
  auto write = [&](int32_t token) { written += vocabulary_.decode(token); };
  if (value_of<bool>(request, "observed", false)) {
    observed_ = observed_writing(model, prompt, given_tokens(request), options);
    for (int32_t token : observed_.tokens) write(token);
  } else {
    generate(model, prompt, options, write);
  }
  return {{"text", written}};
}

std::vector<int32_t> Training::given_tokens(const Json& request) const {
  std::vector<int32_t> tokens;
  for (const auto& character : value_of<std::vector<std::string>>(request, "given", {})) {
    std::vector<int32_t> one = vocabulary_.encode(character, "given");
    require(one.size() <= 1, "\"given\" has ", shown(character), ", expected single characters");
    tokens.push_back(one.empty() ? free_choice : one[0]);
  }
  return tokens;
}

namespace {

/// Returns the rows of a matrix.
std::vector<std::vector<Scalar>> rows_of(const Tensor& matrix) {
  std::vector<std::vector<Scalar>> rows;
  for (int64_t n = 0; n < matrix.size(0); ++n) rows.push_back(select(matrix, 0, n).values());
  return rows;
}

}  // namespace

Json Training::attended(const Json& request) {
  auto token = value_of<int64_t>(request, "token");
  auto written = std::ssize(observed_.attended);
  require(0 <= token && token < written, "attended: token ", token, " of ", written,
          " that were observed");
  Json layers = Json::array();
  for (const Tensor& weights : observed_.attended[token])
    layers.push_back({{"heads", rows_of(weights)}, {"mean", mean(weights, {0}).values()}});
  return {{"layers", layers}};
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
  if (fills_in(exhibit_))
    return {{"in_one_pass", wrong_on_purpose::score_blanks(model_, batch, blank_token())}};
  auto losses = wrong_on_purpose::score(model_, batch, config_.block_size / 2);
  return {{"in_one_pass", losses.in_one_pass}, {"in_order", losses.in_order}};
}

Json Training::fill_in(const Json& request) {
  require(fills_in(exhibit_), "fill_in: the model was not trained to fill in blanks");
  Tape::Pause constant;
  std::vector<int32_t> tokens = tokens_of(request, "text");
  require(std::ssize(tokens) <= config_.block_size, "fill_in: ", tokens.size(),
          " characters, expected at most ", config_.block_size);
  Batch batch{{{1, std::ssize(tokens)}, tokens}, {{1, std::ssize(tokens)}, tokens}};
  wrong_on_purpose::Blanks{blank_token(), {.seed = 0, .stream = 2}}.leave(batch);
  Context context;
  std::vector<Scalar> logits = model_(batch.inputs, {}, context).logits.values();
  std::string blanked, filled;
  for (size_t n = 0; n < tokens.size(); ++n) {
    auto row = logits.begin() + vocabulary_.size() * static_cast<int64_t>(n);
    auto likeliest = std::max_element(row, row + vocabulary_.size()) - row;
    bool left_blank = batch.inputs.values[n] == blank_token();
    blanked += vocabulary_.decode(batch.inputs.values[n]);
    filled += vocabulary_.decode(left_blank ? static_cast<int32_t>(likeliest) : tokens[n]);
  }
  return {{"blanked", blanked}, {"filled", filled}};
}

int32_t Training::blank_token() const {
  return fills_in(exhibit_) ? vocabulary_.encode(blank, "the blank")[0] : 0;
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

Json Training::inside(const Json& request) {
  std::vector<int32_t> tokens = tokens_of(request, "text");
  Inside found = book::inside(model_, tokens);
  Json stages = Json::array(), layers = Json::array(), vocabulary = Json::array();
  for (const auto& [name, value] : found.stages)
    stages.push_back(
        {{"name", name}, {"values", value.values()}, {"gradient", value.gradient().values()}});
  for (const Tensor& weights : found.attention) {
    Json heads = Json::array();
    for (int64_t h = 0; h < weights.size(1); ++h)
      heads.push_back(slice(weights, 1, h, h + 1).values());
    layers.push_back(heads);
  }
  for (int32_t token = 0; token < vocabulary_.size(); ++token)
    vocabulary.push_back(vocabulary_.decode(token));
  return {{"tokens", tokens},         {"vocabulary", vocabulary},
          {"stages", stages},         {"attention", layers},
          {"losses", found.losses},   {"loss", found.loss},
          {"entries", found.entries}, {"probabilities", found.probabilities.values()}};
}

Json Training::learn(const Json& request) {
  auto name = value_of<std::string>(request, "parameter");
  if (!learner_) learner_.emplace(parameters(model_), AdamW{});
  const std::vector<Parameter>& all = learner_->parameters();
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const Parameter& parameter) { return parameter.name == name; });
  require(found != all.end(), "learn: the model has no parameter ", shown(name));
  learner_->zero_gradients();
  book::inside(model_, tokens_of(request, "text"));
  const Tensor& value = found->value;
  Json answer = {{"shape", std::vector<int64_t>(value.shape().begin(), value.shape().end())},
                 {"before", value.values()},
                 {"gradient", value.gradient().values()}};
  learner_->step(value_of<double>(request, "learning_rate"));
  const Moments& moments = learner_->moments()[found - all.begin()];
  answer["after"] = value.values();
  answer["first"] = moments.first.values();
  answer["second"] = moments.second.values();
  answer["updates"] = moments.updates;
  return answer;
}

namespace {

EvaluationMode mode_of(const Json& request) {
  return value_named<EvaluationMode>(value_of<std::string>(request, "mode"));
}

/// How a request wants a text to be read.
EvaluationConfig reading_config(const Json& request) {
  EvaluationMode mode = mode_of(request);
  return {.mode = mode,
          .tgt_len = value_of<int64_t>(request, "segment"),
          .mem_len = mode == EvaluationMode::memory ? value_of<int64_t>(request, "memory") : 0};
}

}  // namespace

Json Training::losses_by_place(const Json& request) {
  return {
      {"nats", book::losses_by_place(model_, tokens_of(request, "text"), reading_config(request))}};
}

Json Training::read(const Json& request) {
  std::vector<int32_t> tokens = tokens_of(request, "text");
  Reading reading(model_, tokens, reading_config(request));
  readings_.erase(mode_of(request));
  readings_.emplace(mode_of(request), std::move(reading));
  return {{"tokens", tokens.size() - 1}};
}

Json Training::read_on(const Json& request) {
  auto reading = readings_.find(mode_of(request));
  require(reading != readings_.end(), "read_on: nothing is read in this mode");
  std::vector<double> nats = reading->second.next(value_of<int64_t>(request, "count"));
  return {{"nats", nats}, {"fed", reading->second.fed()}};
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

}  // namespace book
