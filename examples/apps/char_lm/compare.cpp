// char_lm compare trains models on the same data, with the same number of steps and parameters, and
// compares their scores.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "command.h"
#include "comparison.h"
#include "core/errors.h"
#include "core/machine/allocator.h"
#include "corpus.h"
#include "examples/apps/draw/picture.h"
#include "examples/apps/draw/progress.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/saved_flags.h"
#include "examples/apps/runs/machine.h"
#include "examples/apps/runs/stop_request.h"
#include "nn/models/generate.h"
#include "scored_text.h"
#include "training.h"

namespace char_lm {

using apps::add_overwrite_flag;
using apps::holds_run;
using apps::make_program;
using apps::make_run_folder;
using apps::parse;
using apps::Progress;
using apps::RunFolder;
using apps::StopRequest;
using shiftgrad::fail;
using shiftgrad::require;

namespace {

/// Returns every model in each of its forms.
std::vector<std::string> all_models() {
  std::vector<std::string> models;
  for (const ModelKind& kind : model_kinds())
    for (const char* form : kind.forms)
      if (form) models.push_back(shiftgrad::text(kind.name, *form ? ":" : "", form));
  return models;
}

struct CompareFlags {
  std::vector<std::string> models = all_models();
  int64_t seeds = 3;
  int64_t length = 1000;
  std::optional<int64_t> parameters;
  bool overwrite = false;
  TrainFlags training{apps::RunFlags{.out_dir = "comparison"}};
};

/// Flags that must be the same for all models, so that they can be compared.
const std::set<std::string> common_flags = {"data",       "val_data", "eval_split", "vocab",
                                            "vocab_from", "out_dir",  "seed",       "threads"};

/// Returns the flags of the training that "NAME" or "NAME:FLAG=VALUE,FLAG=VALUE" asks for.
TrainFlags training_of(const std::string& model, TrainFlags flags) {
  std::shared_ptr<CLI::App> parser = make_program("", "");
  flags.visit([&](auto& value, const Field& field) {
    if (!common_flags.contains(field.name)) add_flag(*parser, value, field);
  });
  std::istringstream parts(model);
  std::string part;
  std::getline(parts, part, ':');
  std::vector<std::string> arguments = {"--model=" + part};
  while (std::getline(parts, part, ',')) {
    if (auto unit = apps::unit_of(*parser, part))
      fail(model, ": ", part, ": no value, expected ", part, '=', *unit);
    arguments.push_back("--" + part);
  }
  try {
    parse(*parser, arguments);
  } catch (const std::exception& error) {
    fail(model, ": ", error.what());
  }
  flags.resolve_defaults();
  return flags;
}

int64_t count_parameters(ModelFlags flags, int64_t d_inner, int64_t vocab_size) {
  flags.d_inner = d_inner;
  return apps::without_values(
      [&](shiftgrad::Init init) { return parameter_count(new_model(flags, vocab_size, init)); });
}

/// Sets the width of the feed-forward networks so that the number of parameters is as near as
/// possible to this one.
void fit_width(ComparedModel& model, int64_t parameters, int64_t vocab_size) {
  ModelFlags& shape = model.training.model;
  auto count = [&](int64_t d_inner) { return count_parameters(shape, d_inner, vocab_size); };
  int64_t least = count(1), slope = count(2) - least;
  require(parameters >= least, model.name, ": --parameters ", parameters,
          " is too few, the model has at least ", least);
  shape.d_inner = 1 + (parameters - least + slope / 2) / slope;
  model.parameters = count(shape.d_inner);
}

std::vector<ComparedModel> compared_models(const CompareFlags& flags, int64_t vocab_size) {
  std::optional<int64_t> parameters = flags.parameters;
  std::vector<ComparedModel> list;
  Progress progress("models measured");
  for (const std::string& name : flags.models) {
    progress.show(std::ssize(list), std::ssize(flags.models));
    ComparedModel model{.name = name, .training = training_of(name, flags.training)};
    const ModelFlags& shape = model.training.model;
    if (!parameters) parameters = count_parameters(shape, shape.d_inner, vocab_size);
    fit_width(model, *parameters, vocab_size);
    list.push_back(model);
  }
  return list;
}

double writing_speed(const shiftgrad::LanguageModel& model, int64_t length, int64_t mem_len,
                     const StopRequest& stop) {
  Progress progress("characters");
  int64_t written = 0;
  auto start = std::chrono::steady_clock::now();
  shiftgrad::generate(model, {0}, {.length = length, .mem_len = mem_len}, [&](int32_t) {
    progress.show(++written, length);
    stop.check();
  });
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return static_cast<double>(length) / passed.count();
}

/// Returns the flags of one training of a model, with a folder of its own.
TrainFlags flags_of_run(const CompareFlags& flags, const ComparedModel& model, int64_t number) {
  TrainFlags training = model.training;
  training.trainer.seed = flags.training.trainer.seed + static_cast<uint64_t>(number);
  training.out_dir += shiftgrad::text("/", model.name, "/", training.trainer.seed);
  return training;
}

/// Throws if the comparison would replace another one without --overwrite.
void check_new(const CompareFlags& flags, const std::vector<ComparedModel>& list,
               const RunFolder& folder) {
  if (flags.overwrite) return;
  auto refuse = [](const std::string& place, const char* what) {
    fail("--out_dir ", place, ": already holds a ", what, "; --overwrite replaces it");
  };
  if (exists(folder.path / "comparison.csv")) refuse(folder.path, "comparison");
  for (const ComparedModel& model : list)
    for (int64_t n = 0; n < flags.seeds; ++n) {
      std::string place = flags_of_run(flags, model, n).out_dir;
      if (holds_run(place)) refuse(place, "run");
    }
}

/// Trains, then scores the checkpoint that did best on the validation split.
Run run(const TrainFlags& flags, const std::shared_ptr<const Corpus>& corpus, int64_t length,
        const StopRequest& stop) {
  shiftgrad::reset_peak();
  Run result;
  {
    Training training(flags, corpus, nullptr, [&] { return make_run_folder(flags.out_dir); });
    training.run([&] { return stop.signal() != 0; });
    stop.check();
    result.training_speed = training.tokens_per_second();
  }
  result.bytes = shiftgrad::allocator_counters().peak_bytes_in_use;
  SavedRun saved = load_run(flags.out_dir, "best");
  shiftgrad::LanguageModel model = usable_model(saved);
  shiftgrad::EvaluationConfig config = flags.default_evaluation();
  config.progress = [&](int64_t, int64_t) { stop.check(); };
  result.bits = score(model, corpus->validation, config).bits();
  result.writing_speed = writing_speed(model, length, flags.generation_mem_len(), stop);
  return result;
}

Command::Work prepare(const CompareFlags& flags) {
  auto corpus = read_corpus(flags.training);
  auto list = std::make_shared<std::vector<ComparedModel>>(
      compared_models(flags, corpus->vocabulary.size()));
  RunFolder folder = make_run_folder(flags.training.out_dir);
  check_new(flags, *list, folder);
  set_product_precision(flags.training.precision);
  return [flags, corpus, list, folder] {
    StopRequest stop;
    std::vector<ComparedModel> done;
    for (ComparedModel& model : *list) {
      for (int64_t n = 0; n < flags.seeds; ++n) {
        TrainFlags training = flags_of_run(flags, model, n);
        std::cout << "== " << model.name << ", run " << n + 1 << " of " << flags.seeds << ", in "
                  << training.out_dir << std::endl;
        model.runs.push_back(run(training, corpus, flags.length, stop));
      }
      done.push_back(model);
      write_csv(folder.path / "comparison.csv", done);
    }
    std::cout << '\n' << markdown(done) << '\n';
    apps::write_picture(folder.path / "comparison.svg", picture_of(done));
  };
}

}  // namespace

Command compare_command(CLI::App& program) {
  CLI::App& app = add_command(program, "compare",
                              "Train models on the same data, with equal numbers of steps and "
                              "parameters, and print a table of their scores; comparison.csv has "
                              "it too, and comparison.svg plots it");
  auto flags = std::make_shared<CompareFlags>();
  add_argument(app, "MODEL", flags->models,
               "models as train's --model names them; flags for one model alone follow a colon: "
               "aft:form=local,learning_rate=2e-3 (default: all models)");
  add_flag(app, "seeds", flags->seeds, "RUNS", "training runs per model, with seeds from --seed on",
           range::one_or_more);
  add_flag(app, "parameters", flags->parameters, "NUMBER",
           "parameters of each model, to which the width of its feed-forward networks is fitted "
           "(default: as many as the first model has)",
           range::interval);
  add_flag(app, "length", flags->length, "CHARACTERS",
           "characters to generate when measuring the speed of generating", range::one_or_more);
  flags->training.visit([&](auto& value, Field field) {
    std::string name = field.name;
    if (name == "out_dir")
      field.help =
          "folder for the table and the picture, and for each training a folder MODEL/SEED in it";
    if (name != "model") apps::set_group(add_flag(app, value, field), field.group);
  });
  add_overwrite_flag(app, flags->overwrite, "the comparison in --out_dir, if there is one");
  return {.flags = &app, .prepare = [flags] { return prepare(*flags); }, .outlives_readers = true};
}

}  // namespace char_lm
