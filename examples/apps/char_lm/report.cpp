// char_lm report writes a page about runs, to be read in a browser.

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "context_curves.h"
#include "examples/apps/draw/picture.h"
#include "examples/apps/draw/printable.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/flags_json.h"
#include "examples/apps/flags/report_flags.h"
#include "examples/apps/runs/follow_training.h"
#include "examples/apps/runs/model_file.h"
#include "examples/apps/runs/weights.h"
#include "figures.h"
#include "nn/models/config.h"
#include "nn/models/generate.h"
#include "nn/models/run_file.h"
#include "optim/evaluate.h"
#include "report_parts.h"
#include "run_folder.h"
#include "scored_text.h"

namespace char_lm {

using apps::Moment;
using apps::part;
using apps::Part;
using shiftgrad::require;
using Json = nlohmann::ordered_json;

namespace {

struct ReportFlags : apps::ReportFlags {
  std::string text;
  std::optional<std::string> prompt;
  shiftgrad::GenerateOptions options{.length = 500, .sampling = {.temperature = 0.8}};
  int64_t tokens = usual_characters;
  int threads = 0;
};

/// One run of the report, as it is before anything is computed. A file of a program's own model has
/// no `saved`, and no `model` unless its config is that of a LanguageModel.
struct ReportedRun {
  std::string name, folder;
  std::shared_ptr<const apps::ModelFile> file;
  std::shared_ptr<const SavedRun> saved;
  std::shared_ptr<const shiftgrad::LanguageModel> model;
  std::string prompt{};
};

/// Returns the model of a file that `save` wrote, or null if it is not a LanguageModel of the
/// library's mixers.
std::shared_ptr<const shiftgrad::LanguageModel> model_in(const apps::ModelFile& file) try {
  auto config = shiftgrad::config_from_json<shiftgrad::LanguageModelConfig>(file.text("model"));
  shiftgrad::Checkpoint checkpoint{.model = config, .vocabulary = {}, .weights = file.weights};
  return std::make_shared<shiftgrad::LanguageModel>(make_model(checkpoint, file.path));
} catch (const shiftgrad::Error&) {
  return nullptr;
}

/// Reads such a file as a run. Throws when a weight of its model is not finite.
ReportedRun own_run(const std::string& name, const std::string& run,
                    const std::shared_ptr<const apps::ModelFile>& file) {
  auto model = model_in(*file);
  if (model) apps::check_weights(*model, file->path);
  return {name, run, file, {}, model};
}

ReportedRun read_run(const std::string& name, const std::string& run, const ReportFlags& flags) {
  std::string path = apps::checkpoint_of(run, flags.checkpoint_in(run));
  auto file = std::make_shared<apps::ModelFile>(apps::read_model_file(path));
  if (file->is_of(shiftgrad::own_model_format)) return own_run(name, run, file);
  auto saved = std::make_shared<SavedRun>(load_checkpoint(path));
  auto model = std::make_shared<shiftgrad::LanguageModel>(usable_model(*saved));
  std::string prompt = flags.prompt.value_or(usual_prompt(saved->vocabulary));
  check(*model, saved->vocabulary.encode(prompt, "--prompt"),
        generation_options(*saved, flags.options));
  apps::read_course(run);
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

Sample sample_of(const ReportedRun& run, const ReportFlags& flags) {
  std::string text;
  const Vocabulary& known = run.saved->vocabulary;
  generate(*run.model, known.encode(run.prompt, "--prompt"),
           generation_options(*run.saved, flags.options),
           [&](int32_t token) { text += known.decode(token); });
  return {run.prompt, text,
          shiftgrad::text("temperature ", flags.options.sampling.temperature, ", seed ",
                          flags.options.seed)};
}

/// Returns the beginning of --text, of the validation text, or of what the model wrote.
std::vector<int32_t> text_to_read(const ReportedRun& run, const ReportFlags& flags,
                                  const std::vector<int32_t>& validation,
                                  const Part<Sample>& sample, int64_t most) {
  const Vocabulary& known = run.saved->vocabulary;
  std::vector<int32_t> text = validation;
  if (!flags.text.empty()) text = known.encode(flags.text, "--text");
  if (text.empty()) text = known.encode(sample.value->text, "the sample");
  text.resize(static_cast<size_t>(std::min<int64_t>(most, std::ssize(text))));
  return text;
}

std::vector<apps::AttentionExample> attention_of(const ReportedRun& run,
                                                 const std::vector<int32_t>& text) {
  std::vector<std::vector<AttentionMap>> layers = attention_maps(*run.model, text);
  require(!layers.empty(), "the model has no attention");
  hide_later_keys(layers, std::ssize(text));
  for (size_t layer = 0; layer < layers.size(); ++layer)
    for (AttentionMap& map : layers[layer])
      map.title = shiftgrad::text("layer ", layer, ", ", map.title);
  std::vector<std::string> characters = characters_of(text, run.saved->vocabulary);
  return {{"", characters, characters, layers}};
}

Distances distances_of(const ReportedRun& run) {
  constexpr int64_t most = 128;
  require(run.model != nullptr,
          "its config is not that of a LanguageModel, so nothing is known "
          "of its distances");
  int64_t seen =
      run.saved ? trained_distances(*run.saved) : std::min(most, run.model->limits().keys);
  auto layers = distance_tables(*run.model, seen);
  require(!layers.empty(),
          "nothing learned about distances: ", why_no_distances(run.model->config));
  return {layers, seen - 1};
}

/// Returns the loss after T/8, T/4, T/2, T and 2T characters, as far as the model can read.
ContextPart context_of(const ReportedRun& run, const std::vector<int32_t>& validation,
                       int64_t tokens) {
  ScoredRun scored = scored_run(*run.saved, apps::printable(run.name), validation);
  int64_t T = scored.block_size;
  std::vector<int64_t> lengths;
  for (int64_t length : {T / 8, T / 4, T / 2, T, 2 * T})
    if (length >= 1 && can_read(scored, length) && length < std::ssize(validation))
      lengths.push_back(length);
  require(!lengths.empty(), "the validation text has only ", validation.size(), " characters");
  Scoring scoring = exact_scoring(std::ssize(validation), lengths.back(), tokens);
  ModelLosses losses;
  for (int64_t length : lengths) losses.push_back(scoring.losses(scored, length, {}));
  return {lengths, curve_of(scored, losses)};
}

/// Puts the loss of all of the validation text in the place of what training reported, if the text
/// is there; and in either case what was scored.
void add_score(FullReport& report, const ReportedRun& run, const std::vector<int32_t>& validation) {
  const SavedRun& saved = *run.saved;
  if (validation.size() > 1) {
    auto result = evaluate(*run.model, validation, saved.flags.default_evaluation());
    report.validation_loss = result.nats;
    report.scored = shiftgrad::text("all ", result.tokens, " characters");
  } else if (saved.flags.trainer.eval_iters > 0 && saved.checkpoint.state.validation_loss) {
    report.scored = shiftgrad::text("at most --eval_iters ", saved.flags.trainer.eval_iters,
                                    " batches, in training");
  }
}

/// Reports a file of a program's own model: what needs a vocabulary, or how the model was trained,
/// has a reason in its place.
FullReport report_of_own(const ReportedRun& run) {
  const apps::ModelFile& file = *run.file;
  FullReport report{{.name = run.name, .checkpoint = file.path, .state = file.state}};
  for (const auto& [name, tensor] : file.weights) report.tensors.emplace_back(name, tensor.shape);
  report.flags = Json::object();
  // Added at the end: an object in the order of its keys would look for each among all before it.
  for (const auto& [name, value] : apps::settings_of(file.text("model")))
    report.flags.get_ref<Json::object_t&>().emplace_back(name, value);
  report.validation_loss = file.state.validation_loss;
  report.course = part([&] { return apps::read_course(run.folder); });
  report.distances = part([&] { return distances_of(run); });
  report.sample.nothing = report.context.nothing = report.attention.nothing =
      "the file has no vocabulary; a program reads it with load(), and samples it with generate()";
  return report;
}

/// While a training goes on, what takes long is left for its end: the scores of the whole text and
/// of contexts.
FullReport report_of(const ReportedRun& run, const ReportFlags& flags, int64_t characters,
                     bool is_trained) {
  if (!run.saved) return report_of_own(run);
  const SavedRun& saved = *run.saved;
  FullReport report{
      {.name = run.name,
       .checkpoint = saved.source,
       .state = saved.checkpoint.state,
       .flags = Json::parse(saved.flags.to_json()),
       .defaults = apps::default_flags(saved.flags, {"model", "block_size", "max_iters"}),
       .tensors = apps::shapes_of(*run.model),
       .validation_loss = saved.checkpoint.state.validation_loss}};
  report.course = part([&] { return apps::read_course(run.folder); });
  report.sample = part([&] { return sample_of(run, flags); });
  auto validation = part([&] { return ScoredText{}.read(saved).tokens(); });
  std::vector<int32_t> text = validation.value.value_or(std::vector<int32_t>());
  add_score(report, run, is_trained ? std::vector<int32_t>() : text);
  report.context.nothing = is_trained ? "scored when the training has ended" : validation.nothing;
  if (validation.value && !is_trained)
    report.context = part([&] { return context_of(run, text, flags.tokens); });
  report.attention = part([&] {
    int64_t most = std::min(characters, run.model->limits().keys);
    return attention_of(run, text_to_read(run, flags, text, report.sample, most));
  });
  report.distances = part([&] { return distances_of(run); });
  return report;
}

int64_t maps_of(const std::vector<ReportedRun>& runs) {
  int64_t maps = 0;
  for (const ReportedRun& run : runs)
    if (run.saved) maps += run.model->config.n_layer * run.model->config.n_head;
  return maps;
}

void write(const std::vector<FullReport>& reports, const ReportFlags& flags, Moment moment) {
  std::vector<apps::RunInReport> all(reports.begin(), reports.end());
  const char* unit = "nats per character";
  apps::write_report(
      flags.out, "char_lm", run_names(flags.runs),
      {summary_section(all, unit), training_section(all, unit), sample_section(reports),
       observed_section(all), attention_section(all), distance_section(reports),
       context_section(reports), flags_section(all), parameters_section(all)},
      moment);
}

Command::Work prepare(const ReportFlags& flags) {
  auto threads = apps::limit_threads(flags.threads);
  if (flags.follow) apps::await_metrics(flags.runs);
  std::vector<ReportedRun> runs = read_runs(flags);
  apps::check_picture_path(flags.out);
  return [=] {
    std::vector<std::string> names = run_names(flags.runs);
    int64_t characters = apps::tokens_to_show(maps_of(runs));
    auto make = [&](size_t n, Moment moment) {
      ReportedRun run = flags.follow ? read_run(names[n], flags.runs[n], flags) : runs[n];
      return report_of(run, flags, characters, moment != Moment::ended);
    };
    apps::write_reports<FullReport>(
        flags, make, [&](const auto& reports, Moment moment) { write(reports, flags, moment); });
  };
}

}  // namespace

Command report_command(CLI::App& program) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App& app = apps::add_report_command(
      program, "loss curves, samples, attention, distances, context, flags and parameters", *flags);
  add_flag(app, "text", flags->text, "TEXT",
           "text whose attention to show, cut at 48 characters, or less for many runs (default: "
           "the beginning of the validation text)");
  add_flag(app, "prompt", flags->prompt, "TEXT",
           std::string("beginning of the samples") + prompt_default);
  add_flag(app, "length", flags->options.length, "CHARACTERS", "characters of a sample",
           apps::Range{1, 10000});
  add_flag(app, "temperature", flags->options.sampling.temperature, "FACTOR",
           "temperature of the samples", range::rate);
  add_flag(app, "seed", flags->options.seed, "NUMBER", "seed of the samples");
  add_flag(app, "tokens", flags->tokens, "CHARACTERS",
           "characters to score for each length of the context", range::one_or_more);
  apps::add_report_place(app, *flags);
  add_flag(app, "threads", flags->threads, "THREADS", apps::threads_help, range::thread_count);
  return {.flags = &app, .prepare = [flags] { return prepare(*flags); }, .outlives_readers = true};
}

}  // namespace char_lm
