#include "study.h"

#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "drawing.h"
#include "examples/apps/run_layer/run_layer.h"
#include "examples/apps/show_layer/worked_example.h"
#include "exhibits.h"
#include "nn/models/config.h"
#include "nn/parameter_budget.h"
#include "pair_training.h"
#include "request.h"
#include "training.h"
#include "views.h"

namespace book {

using namespace shiftgrad;

namespace {

/// The layer, the config and the tensors of a request.
Case case_of(const Json& request) {
  SafeTensors content;
  content.metadata["layer"] = value_of<std::string>(request, "layer");
  content.metadata["config"] = value_of<Json>(request, "config").dump();
  const auto given_tensors = value_of<Json>(request, "tensors");
  for (const auto& [name, tensor] : given_tensors.items())
    content.tensors[name] = stored_tensor(tensor);
  return {"the request", std::move(content)};
}

Json run_layer_of(const Json& request) {
  Case given = case_of(request);
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

/// Works through a layer whose parameters and inputs the request has.
show_layer::WorkedExample given_example(const Json& request) {
  Case given = case_of(request);
  auto mixer = config_named<SizedMixerConfig>(given.layer, given.config);
  require(mixer.has_value(), given.layer, ": no such layer");
  return std::visit(
      [&](const auto& config) {
        ParameterBudget budget(given.tensors());
        auto layer = make_layer(config, budget);
        given.take_parameters(layer);
        Tensor x = given.take("input.x"), memory = given.take_if_present("input.memory");
        given.expect_empty();
        return show_layer::worked_example(layer, x, memory);
      },
      *mixer);
}

Json worked_example_of(const Json& request) {
  show_layer::WorkedExample example =
      request.contains("tensors")
          ? given_example(request)
          : show_layer::worked_example(value_of<std::string>(request, "layer"),
                                       value_of<int64_t>(request, "T"),
                                       value_of<int64_t>(request, "M"));
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

/// Requests that need no training.
const std::map<std::string, Json (*)(const Json&)> always = {
    {"draw", drawing_of},
    {"exhibits", exhibits_of},
    {"run_layer", run_layer_of},
    {"views", views_of},
    {"worked_example", worked_example_of},
};

/// Requests about the training that has begun.
const std::map<std::string, Json (Training::*)(const Json&)> while_training = {
    {"attended", &Training::attended},
    {"attention", &Training::attention},
    {"distances", &Training::distances},
    {"fill_in", &Training::fill_in},
    {"inside", &Training::inside},
    {"learn", &Training::learn},
    {"losses_by_place", &Training::losses_by_place},
    {"read", &Training::read},
    {"read_on", &Training::read_on},
    {"score", &Training::score},
    {"score_in_order", &Training::score_in_order},
    {"terms", &Training::terms},
    {"train", &Training::train},
    {"write", &Training::write},
};

std::string all_requests() {
  std::string names = "begin, open, train_pairs, beam_search";
  for (const auto& request : while_training) names += ", " + request.first;
  for (const auto& request : always) names += ", " + request.first;
  return names;
}

}  // namespace

Study::Study() = default;
Study::~Study() = default;

Json Study::answer(const Json& request) {
  auto asked = value_of<std::string>(request, "do");
  if (auto found = always.find(asked); found != always.end()) return found->second(request);
  if (asked == "begin") {
    training_ = std::make_unique<Training>(request);
    return training_->begun();
  }
  if (asked == "open") {
    OpenedModel opened = opened_model(value_of<std::string>(request, "file"));
    int64_t step = opened.step;
    training_ = std::make_unique<Training>(std::move(opened));
    Json answer = training_->begun();
    answer["step"] = step;
    return answer;
  }
  if (asked == "train_pairs") {
    pairs_ = std::make_unique<PairTraining>(request);
    return pairs_->train(request);
  }
  if (asked == "beam_search") {
    require(pairs_ != nullptr, asked, ": no pairs were trained");
    return pairs_->beam_search(request);
  }
  auto found = while_training.find(asked);
  require(found != while_training.end(), "\"do\" is ", shown(asked), ", expected one of ",
          all_requests());
  require(training_ != nullptr, asked, ": no training has begun");
  return ((*training_).*found->second)(request);
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
