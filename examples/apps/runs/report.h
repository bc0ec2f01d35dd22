#pragma once

// Reports of runs: pages for a browser that need nothing else. Their figures are drawn when they
// are written; the book's modules let one choose among them and read their values.

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "examples/apps/draw/attention_map.h"
#include "nn/models/run_file.h"
#include "nn/module.h"
#include "run_course.h"

namespace apps {

/// A part of a report, or the reason why there is none.
template <class Value>
struct Part {
  std::optional<Value> value{};
  std::string nothing{};
};

/// Returns what is made, or the reason why it cannot be made.
template <class Make>
auto part(const Make& make) -> Part<decltype(make())> try {
  return {make(), ""};
} catch (const shiftgrad::Error& error) {
  return {std::nullopt, error.what()};
}

/// What some queries attend to among some keys, by layers and heads.
struct AttentionExample {
  std::string title;
  std::vector<std::string> queries, keys;
  std::vector<std::vector<AttentionMap>> layers;
};

/// What all reports have of a run.
struct RunInReport {
  std::string name, checkpoint;  ///< the checkpoint is a file
  shiftgrad::RunState state;
  nlohmann::ordered_json flags{};
  /// The flags' defaults, if they are known.
  nlohmann::ordered_json defaults{};
  std::vector<std::pair<std::string, shiftgrad::Dims>> tensors{};
  /// The loss, and what it was measured on, if that is known.
  std::optional<double> validation_loss{};
  std::string scored{};
  Part<RunCourse> course{};
  Part<std::vector<AttentionExample>> attention{};
  /// When the checkpoint was written.
  std::filesystem::file_time_type written{};
};

/// Returns the names and shapes of a model's parameters.
std::vector<std::pair<std::string, shiftgrad::Dims>> shapes_of(const shiftgrad::Module& model);

/// A section of a report.
struct Section {
  std::string title, html;
};

/// Returns the runs that have a part, in their order, with it.
template <class Run, class Value>
std::vector<std::pair<const Run*, const Value*>> having(const std::vector<Run>& runs,
                                                        Part<Value> Run::*part) {
  std::vector<std::pair<const Run*, const Value*>> able;
  for (const Run& run : runs)
    if ((run.*part).value) able.emplace_back(&run, &*(run.*part).value);
  return able;
}

/// Returns a sentence about a run that cannot show something.
std::string reason(const std::string& run, const std::string& nothing);

/// Returns the sentences about the runs that have no such part.
template <class Run, class Value>
std::string reasons(const std::vector<Run>& runs, Part<Value> Run::*part) {
  std::string sentences;
  for (const Run& run : runs)
    if (!(run.*part).nothing.empty()) sentences += reason(run.name, (run.*part).nothing);
  return sentences;
}

/// The sections that all reports have. `unit` is that of losses, such as "nats per character".
Section summary_section(const std::vector<RunInReport>& runs, const std::string& unit);
Section training_section(const std::vector<RunInReport>& runs, const std::string& unit);
/// What was observed at evaluations, on a slider over their steps. Empty if nothing was.
Section observed_section(const std::vector<RunInReport>& runs);
Section attention_section(const std::vector<RunInReport>& runs);
Section flags_section(const std::vector<RunInReport>& runs);
Section parameters_section(const std::vector<RunInReport>& runs);

/// Returns the step where the shortest run ends, if others go on.
std::optional<double> end_of_shortest(const std::vector<RunInReport>& runs);

/// The time after which a page is written and read anew while a training goes on.
constexpr int seconds_between_pages = 3;

/// When a report is written: while a training of its runs goes on; once more as it is, because the
/// reader stops the program; or when the trainings have ended, if there were any.
enum class Moment { training, stopped, ended };

/// Writes the report of a program to a file, whole, in the place of an older one, without the
/// sections that are empty. While a training goes on, a browser reads the page anew at intervals.
/// Throws when the page would have 3 MB or more.
void write_report(const std::string& file, const std::string& program,
                  const std::vector<std::string>& names, const std::vector<Section>& sections,
                  Moment moment);

/// Returns "0", "1", … up to a number.
std::vector<std::string> numbers_below(size_t count);

/// Returns the largest number of tokens, at most 48, for which the attention of `maps` heads, in
/// all runs together, leaves room for the rest of a report.
int64_t tokens_to_show(int64_t maps);

}  // namespace apps
