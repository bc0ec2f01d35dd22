// seq2seq report writes a page about runs, to be read in a browser.

#include "examples/apps/runs/report.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "alignments.h"
#include "command.h"
#include "core/errors.h"
#include "examples/apps/draw/picture.h"
#include "examples/apps/draw/printable.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/flags_json.h"
#include "examples/apps/flags/report_flags.h"
#include "examples/apps/runs/follow_training.h"
#include "examples/apps/runs/named_run.h"
#include "translated.h"

namespace seq2seq {

using apps::Moment;
using shiftgrad::require;
using Json = nlohmann::ordered_json;

namespace {

struct ReportFlags : apps::ReportFlags {
  std::string source;
  DecodingFlags decoding{};
};

/// One run of the report, as it is before anything is computed.
struct ReportedRun {
  std::string name, folder;
  std::shared_ptr<const SavedRun> saved;
  std::shared_ptr<const Translator> translator;
};

/// Returns --source, or the first sources of the validation rows.
std::vector<std::string> sources_of(const SavedRun& run, const ReportFlags& flags) {
  constexpr size_t most = 4;
  if (!flags.source.empty()) return {flags.source};
  std::vector<std::string> sources;
  for (const Row& row : read_split(run.flags).validation.rows)
    if (sources.size() < most && std::ranges::find(sources, row.source) == sources.end())
      sources.push_back(row.source);
  return sources;
}

/// Returns the alignment of a source and its translation.
apps::AttentionExample alignment_of(const ReportedRun& run, const std::string& source,
                                    int64_t most) {
  Line read = read_line(source, run.saved->source_symbols, run.saved->flags.model.max_len);
  require(!read.error, source, ": ", read.error.value_or(""));
  require(std::ssize(read.tokens) <= most, source, ": ", read.tokens.size(),
          " tokens, expected at most ", most, " to show");
  std::string target = run.translator->translate({read.tokens}, 0).front();
  const Symbols& symbols = run.saved->target_symbols;
  Line written = read_line(target, symbols, run.saved->flags.model.max_len);
  require(!written.error || target.empty(), source,
          ": its translation: ", written.error.value_or(""));
  auto maps = alignments(run.translator->model(), read.tokens, written.tokens, true);
  return {source + " → " + target, rows_of(target, symbols.unit()),
          split(source, run.saved->source_symbols.unit()), maps};
}

std::vector<apps::AttentionExample> alignments_of(const ReportedRun& run, const ReportFlags& flags,
                                                  int64_t most) {
  std::vector<apps::AttentionExample> all;
  for (const std::string& source : sources_of(*run.saved, flags))
    all.push_back(alignment_of(run, source, most));
  return all;
}

/// Returns what the loss in a checkpoint was measured on.
std::string scored_in_training(const shiftgrad::PairTrainerConfig& config) {
  if (config.eval_pairs == 0) return "all validation pairs, in training";
  return shiftgrad::text("at most --eval_pairs ", config.eval_pairs, " pairs, in training");
}

/// While a training goes on, few sources are translated.
FullReport report_of(const ReportedRun& run, const ReportFlags& flags, int64_t most,
                     bool is_trained) {
  const SavedRun& saved = *run.saved;
  const size_t sources = is_trained ? 20 : 200;
  return {{.name = run.name,
           .checkpoint = saved.source,
           .state = saved.state,
           .flags = Json::parse(saved.flags.to_json()),
           .defaults = apps::default_flags(saved.flags, {"max_iters"}),
           .tensors = apps::shapes_of(run.translator->model()),
           .validation_loss = saved.state.validation_loss,
           .scored = saved.state.validation_loss ? scored_in_training(saved.flags.trainer) : "",
           .course = apps::part([&] { return apps::read_course(run.folder); }),
           .attention = apps::part([&] { return alignments_of(run, flags, most); })},
          apps::part([&] { return translations_of(saved, *run.translator, sources); })};
}

ReportedRun read_run(const std::string& name, const std::string& run, const ReportFlags& flags) {
  auto saved = std::make_shared<SavedRun>(load_run(run, flags.checkpoint_in(run)));
  apps::read_course(run);
  return {name, run, saved, std::make_shared<Translator>(*saved, flags.decoding)};
}

void write(const std::vector<FullReport>& reports, const ReportFlags& flags, Moment moment) {
  std::vector<apps::RunInReport> all(reports.begin(), reports.end());
  const char* unit = "nats per token";
  apps::write_report(
      flags.out, "seq2seq", apps::run_names(flags.runs),
      {summary_section(all, unit), training_section(all, unit), translation_section(reports),
       observed_section(all), attention_section(all), flags_section(all), parameters_section(all)},
      moment);
}

Command::Work prepare(const ReportFlags& flags) {
  constexpr int64_t sources = 4;
  if (flags.follow) apps::await_metrics(flags.runs);
  std::vector<std::string> names = apps::run_names(flags.runs);
  std::vector<ReportedRun> runs;
  int64_t maps = 0;
  for (size_t n = 0; n < names.size(); ++n) {
    runs.push_back(read_run(names[n], flags.runs[n], flags));
    const auto& model = runs.back().saved->model;
    maps += sources * model.n_decoder_layer * model.n_head;
  }
  apps::check_picture_path(flags.out);
  return [=] {
    auto make = [&](size_t n, Moment moment) {
      ReportedRun run = flags.follow ? read_run(names[n], flags.runs[n], flags) : runs[n];
      return report_of(run, flags, apps::tokens_to_show(maps), moment == Moment::training);
    };
    apps::write_reports<FullReport>(
        flags, make, [&](const auto& reports, Moment moment) { write(reports, flags, moment); });
  };
}

}  // namespace

Command report_command(CLI::App& program) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App& app = apps::add_report_command(
      program, "loss curves, translations with what they attend to, flags and parameters", *flags);
  add_flag(app, "source", flags->source, "LINE",
           "source to translate and to show (default: the first four of the validation rows)");
  apps::add_report_place(app, *flags);
  return {.flags = &app, .prepare = [flags] { return prepare(*flags); }, .outlives_readers = true};
}

}  // namespace seq2seq
