// char_lm report writes a page about runs, to be read in a browser.

#include "examples/common/report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "context_curves.h"
#include "examples/common/flags.h"
#include "examples/common/flags_json.h"
#include "examples/common/model_file.h"
#include "examples/common/svg.h"
#include "figures.h"
#include "nn/models/run_file.h"
#include "nn/models/config.h"
#include "nn/models/generate.h"
#include "optim/evaluate.h"
#include "run_folder.h"
#include "scored_text.h"

namespace char_lm {

using common::part;
using shiftgrad::require;
using Json = nlohmann::ordered_json;

namespace {

struct ReportFlags : common::ReportFlags {
  std::string text;
  std::string prompt = "\n";
  shiftgrad::GenerateOptions options{.length = 500, .sampling = {.temperature = 0.8}};
  int64_t tokens = 200;
  int threads = 0;
};

/// One run of the report, as it is before anything is computed. A file of a program's own model has
/// no `saved`, and no `model` unless its config is that of a LanguageModel.
struct ReportedRun {
  std::string name, folder;
  std::shared_ptr<const common::ModelFile> file;
  std::shared_ptr<const SavedRun> saved;
  std::shared_ptr<const shiftgrad::LanguageModel> model;
  std::vector<int32_t> prompt;
};

/// Returns the model of a file that `save` wrote, or null if it is not a LanguageModel of the
/// library's mixers.
std::shared_ptr<const shiftgrad::LanguageModel> model_in(const common::ModelFile& file) try {
  auto config = shiftgrad::config_from_json<shiftgrad::LanguageModelConfig>(file.text("model"));
  shiftgrad::Checkpoint checkpoint{
      .model = config, .vocabulary = {}, .weights = file.weights};
  return std::make_shared<shiftgrad::LanguageModel>(make_model(checkpoint, file.path));
} catch (const shiftgrad::Error&) {
  return nullptr;
}

ReportedRun read_run(const std::string& name, const std::string& run, const ReportFlags& flags) {
  std::string path = common::checkpoint_of(run, flags.checkpoint);
  auto file = std::make_shared<common::ModelFile>(common::read_model_file(path));
  if (file->is_of(shiftgrad::own_model_format)) return {name, run, file, {}, model_in(*file), {}};
  auto saved = std::make_shared<SavedRun>(load_checkpoint(path));
  auto model = std::make_shared<shiftgrad::LanguageModel>(make_model(saved->checkpoint, path));
  std::vector<int32_t> prompt = saved->vocabulary.encode(flags.prompt, "--prompt");
  check(*model, prompt, generation_options(*saved, flags.options));
  common::read_loss_curve(run);
  if (!flags.text.empty()) saved->vocabulary.encode(flags.text, "--text");
  return {name, run, file, saved, model, prompt};
}

std::vector<ReportedRun> read_runs(const ReportFlags& flags) {
  std::vector<std::string> names = run_names(flags.runs);
  std::vector<ReportedRun> runs;
  for (size_t n = 0; n < names.size(); ++n)
    runs.push_back(read_run(names[n], flags.runs[n], flags));
  return runs;
}

Json sample_part(const ReportedRun& run, const ReportFlags& flags) {
  std::string text;
  generate(*run.model, run.prompt, generation_options(*run.saved, flags.options),
           [&](int32_t token) { text += run.saved->vocabulary.decode(token); });
  return {{"prompt", flags.prompt},
          {"text", text},
          {"settings", shiftgrad::text("temperature ", flags.options.sampling.temperature,
                                       ", seed ", flags.options.seed)}};
}

/// Returns the beginning of --text, of the validation text, or of what the model wrote.
std::vector<int32_t> text_to_read(const ReportedRun& run, const ReportFlags& flags,
                                  const std::vector<int32_t>& validation, const Json& sample,
                                  int64_t most) {
  const Vocabulary& known = run.saved->vocabulary;
  std::vector<int32_t> text = validation;
  if (!flags.text.empty()) text = known.encode(flags.text, "--text");
  if (text.empty()) text = known.encode(sample["text"].get<std::string>(), "the sample");
  text.resize(static_cast<size_t>(std::min(most, std::ssize(text))));
  return text;
}

Json attention_of(const ReportedRun& run, const std::vector<int32_t>& text) {
  std::vector<std::vector<AttentionMap>> layers = attention_maps(*run.model, text);
  require(!layers.empty(), "the model has no attention");
  std::vector<std::string> characters = characters_of(text, run.saved->vocabulary);
  return Json::array({common::attention_part("", characters, characters, layers)});
}

/// Returns the tables of distances as far as the training saw them, thinned out where they are
/// long.
Json distances_part(const ReportedRun& run) {
  constexpr int64_t most = 128;
  require(run.model != nullptr,
          "its config is not that of a LanguageModel, so nothing is known "
          "of its distances");
  int64_t seen = run.saved ? trained_distances(*run.saved) : std::min(most, run.model->most_keys());
  auto layers = distance_tables(*run.model, seen);
  require(!layers.empty(),
          "nothing learned about distances: ", why_no_distances(run.model->config));
  Json all = Json::array();
  for (const std::vector<DistanceTable>& tables : layers) {
    Json layer = Json::array();
    for (const DistanceTable& table : tables) {
      int64_t last = std::min(seen, table.first + std::ssize(table.heads.front())) - 1;
      int64_t step = std::max<int64_t>(1, (last - table.first) / most + 1);
      Json distances = Json::array(), heads = Json::array();
      for (int64_t delta = table.first; delta <= last; delta += step) distances.push_back(delta);
      for (const std::vector<double>& values : table.heads) {
        Json line = Json::array();
        for (int64_t delta = table.first; delta <= last; delta += step)
          line.push_back(std::round(values[static_cast<size_t>(delta - table.first)] * 1e4) / 1e4);
        heads.push_back(line);
      }
      layer.push_back({{"title", table.title}, {"distances", distances}, {"heads", heads}});
    }
    all.push_back(layer);
  }
  return {{"trained", seen - 1}, {"layers", all}};
}

/// Returns the loss after T/8, T/4, T/2, T and 2T characters, as far as the model can read.
Json context_part(const ReportedRun& run, const std::vector<int32_t>& validation, int64_t tokens) {
  ScoredRun scored = scored_run(*run.saved, run.name, validation);
  int64_t T = scored.block_size;
  std::vector<int64_t> lengths;
  for (int64_t length : {T / 8, T / 4, T / 2, T, 2 * T})
    if (length >= 1 && can_read(scored, length) && length < std::ssize(validation))
      lengths.push_back(length);
  require(!lengths.empty(), "the validation text has only ", validation.size(), " characters");
  Scoring scoring = exact_scoring(std::ssize(validation), lengths.back(), tokens);
  ModelLosses losses;
  for (int64_t length : lengths) losses.push_back(scoring.losses(scored, length, {}));
  return {{"trained", T}, {"lengths", lengths}, {"bits", curve_of(scored, losses).bits}};
}

/// Puts the loss of all of the validation text in the place of what training reported, if the text
/// is there; and in either case what was scored.
void add_score(Json& report, const ReportedRun& run, const std::vector<int32_t>& validation) {
  const SavedRun& saved = *run.saved;
  if (validation.size() > 1) {
    auto result = evaluate(*run.model, validation, saved.flags.default_evaluation());
    report["validation_loss"] = result.nats;
    report["scored"] = shiftgrad::text("all ", result.tokens, " characters");
  } else if (saved.flags.trainer.eval_iters > 0 && saved.checkpoint.state.validation_loss) {
    report["scored"] = shiftgrad::text("at most --eval_iters ", saved.flags.trainer.eval_iters,
                                       " batches, in training");
  }
}

/// Reports a file of a program's own model: what needs a vocabulary, or how the model was trained,
/// has a reason in its place.
Json report_of_own(const ReportedRun& run) {
  const common::ModelFile& file = *run.file;
  std::vector<std::pair<std::string, shiftgrad::Dims>> tensors;
  for (const auto& [name, tensor] : file.weights) tensors.emplace_back(name, tensor.shape);
  Json settings = Json::object();
  for (const auto& [name, value] : common::settings_of(file.text("model"))) settings[name] = value;
  Json report = common::report_of_run({run.name, file.path, tensors, file.state, settings.dump()});
  report["loss"] = part([&] { return common::loss_part(run.folder); });
  report["distances"] = part([&] { return distances_part(run); });
  Json none = {{"nothing",
                "the file has no vocabulary; a program reads it with load(), and samples it with "
                "generate()"}};
  for (const char* name : {"sample", "context", "attention"}) report[name] = none;
  return report;
}

Json report_of(const ReportedRun& run, const ReportFlags& flags, int64_t characters) {
  if (!run.saved) return report_of_own(run);
  const SavedRun& saved = *run.saved;
  Json report = common::report_of_run({run.name, saved.source, common::shapes_of(*run.model),
                                       saved.checkpoint.state, saved.flags.to_json()});
  report["loss"] = common::loss_part(run.folder);
  report["sample"] = part([&] { return sample_part(run, flags); });
  std::vector<int32_t> validation;
  Json unread = part([&] {
    validation = ScoredText{}.read(saved);
    return Json();
  });
  add_score(report, run, validation);
  report["context"] =
      unread.is_null() ? part([&] { return context_part(run, validation, flags.tokens); }) : unread;
  report["attention"] = part([&] {
    int64_t most = std::min(characters, run.model->most_keys());
    return attention_of(run, text_to_read(run, flags, validation, report["sample"], most));
  });
  report["distances"] = part([&] { return distances_part(run); });
  return report;
}

int64_t maps_of(const std::vector<ReportedRun>& runs) {
  int64_t maps = 0;
  for (const ReportedRun& run : runs)
    if (run.saved) maps += run.model->config.n_layer * run.model->config.n_head;
  return maps;
}

Command::Work prepare(const ReportFlags& flags) {
  auto threads = common::limit_threads(flags.threads);
  std::vector<ReportedRun> runs = read_runs(flags);
  common::check_picture_path(flags.out);
  return [=] {
    int64_t characters = common::tokens_to_show(maps_of(runs));
    common::write_report(flags.out, "char_lm", "nats per character", runs.size(),
                         [&](size_t n) { return report_of(runs[n], flags, characters); });
  };
}

}  // namespace

Command report_command(CLI::App& program) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App& app = common::add_report_command(
      program, "loss curves, samples, attention, distances, context, flags and parameters", *flags);
  add_flag(app, "text", flags->text, "TEXT",
           "text whose attention to show, cut at 48 characters, or less for many runs (default: "
           "the beginning of the validation text)");
  common::hide_default(add_flag(app, "prompt", flags->prompt, "TEXT",
                                "beginning of the samples (default: a newline)"));
  add_flag(app, "length", flags->options.length, "CHARACTERS", "characters of a sample",
           common::Range{1, 10000});
  add_flag(app, "temperature", flags->options.sampling.temperature, "FACTOR",
           "temperature of the samples", range::rate);
  add_flag(app, "seed", flags->options.seed, "NUMBER", "seed of the samples");
  add_flag(app, "tokens", flags->tokens, "CHARACTERS",
           "characters to score for each length of the context", range::one_or_more);
  common::add_report_place(app, *flags);
  add_flag(app, "threads", flags->threads, "THREADS", "threads to use, 0 for one per core",
           range::thread_count);
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
