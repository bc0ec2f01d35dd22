#include "study.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "../char_lm/attention_maps.h"
#include "../char_lm/vocabulary.h"
#include "../run_layer/run_layer.h"
#include "../show_layer/worked_example.h"
#include "request.h"
#include "shiftgrad/core/named.h"
#include "shiftgrad/nn/models/config.h"
#include "shiftgrad/nn/models/generate.h"
#include "shiftgrad/nn/models/language_model.h"
#include "shiftgrad/optim/trainer.h"
#include "views.h"

namespace book {

using namespace shiftgrad;

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

Json run_layer_of(const Json& request) {
  SafeTensors content;
  content.metadata["layer"] = value_of<std::string>(request, "layer");
  content.metadata["config"] = value_of<Json>(request, "config").dump();
  const auto given_tensors = value_of<Json>(request, "tensors");
  for (const auto& [name, tensor] : given_tensors.items())
    content.tensors[name] = stored_tensor(tensor);
  Case given("the request", std::move(content));
  Json tensors = Json::object();
  for (const auto& [name, tensor] : run_layer(given).content.tensors)
    tensors[name] = json_of(name, tensor);
  return {{"tensors", tensors}};
}

std::vector<std::string> labels(const show_layer::Axis& axis, int64_t count) {
  std::vector<std::string> list;
  for (int64_t n = 0; n < count; ++n) list.push_back(axis.label(n));
  return list;
}

Json worked_example_of(const Json& request) {
  show_layer::WorkedExample example =
      show_layer::worked_example(value_of<std::string>(request, "layer"),
                                 value_of<int64_t>(request, "T"), value_of<int64_t>(request, "M"));
  Json tables = Json::array();
  for (const show_layer::Table& table : example.tables)
    tables.push_back({{"name", table.name},
                      {"meaning", table.meaning},
                      {"rows", labels(table.row, table.rows)},
                      {"columns", labels(table.column, table.columns)},
                      {"values", table.values},
                      {"has_hidden", table.has_hidden}});
  return {{"formula", example.formula}, {"tables", tables}};
}

}  // namespace

struct Study::Training {
  char_lm::Vocabulary vocabulary{char_lm::Unit::character};
  std::vector<int32_t> text;
  TrainerConfig config;
  Random random;
  LanguageModel model;
  Trainer trainer;

  Training(const std::string& characters, const Json& model_object, const Json& training)
      : vocabulary(known(characters)),
        text(vocabulary.encode(characters, "text")),
        config(trainer_config(training)),
        random{.seed = config.seed},
        model(model_config(model_object, vocabulary.size()), random),
        trainer(model, text, {}, config) {}

  static char_lm::Vocabulary known(const std::string& characters) {
    char_lm::Vocabulary vocabulary(char_lm::Unit::character);
    vocabulary.add(characters, "text");
    return vocabulary;
  }

  Json train(int64_t steps) {
    std::vector<double> losses;
    int64_t step = 0;
    for (int64_t n = 0; n < steps; ++n) {
      StepReport report = trainer.step();
      losses.push_back(report.loss);
      step = report.step;
    }
    return {{"step", step}, {"losses", losses}};
  }

  Json write(const Json& request) const {
    GenerateOptions options{
        .length = value_of<int64_t>(request, "length"),
        .sampling = {.temperature = value_of<double>(request, "temperature", 1)},
        .seed = value_of<uint64_t>(request, "seed", 0),
        .mem_len = config.mem_len > 0 ? config.mem_len : unlimited};
    std::string written;
    generate(model, vocabulary.encode(value_of<std::string>(request, "prompt"), "prompt"), options,
             [&](int32_t token) { written += vocabulary.decode(token); });
    return {{"text", written}};
  }

  Json attention(const std::string& characters) const {
    Json layers = Json::array();
    for (const auto& maps : char_lm::attention_maps(model, vocabulary.encode(characters, "text"))) {
      Json layer = Json::array();
      for (const auto& map : maps)
        layer.push_back({{"title", map.title}, {"weights", map.weights}});
      layers.push_back(layer);
    }
    return {{"layers", layers}};
  }
};

Study::Study() = default;
Study::~Study() = default;

Json Study::answer(const Json& request) {
  auto asked = value_of<std::string>(request, "do");
  if (asked == "run_layer") return run_layer_of(request);
  if (asked == "views") return views_of(request);
  if (asked == "worked_example") return worked_example_of(request);
  if (asked == "begin") {
    training_ = std::make_unique<Training>(value_of<std::string>(request, "text"),
                                           value_of<Json>(request, "model"),
                                           value_of<Json>(request, "training"));
    return {{"parameters", parameter_count(training_->model)},
            {"vocab_size", training_->vocabulary.size()}};
  }
  require(training_ != nullptr, asked, ": no training has begun");
  if (asked == "train") return training_->train(value_of<int64_t>(request, "steps"));
  if (asked == "write") return training_->write(request);
  if (asked == "attention") return training_->attention(value_of<std::string>(request, "text"));
  fail("\"do\" is ", shown(asked),
       ", expected begin, train, write, attention, run_layer, views or worked_example");
}

std::string answer_text(Study& study, const std::string& request) {
  constexpr int max_depth = 16;
  try {
    return study.answer(parse_json("request", request, max_depth)).dump();
  } catch (const std::exception& error) {
    return Json{{"error", error.what()}}.dump();
  }
}

}  // namespace book
