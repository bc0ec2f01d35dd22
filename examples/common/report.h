#pragma once

// Reports of runs: pages for a browser that need nothing else, made of the book's components.
// `page/run_report.js` draws what a report holds:
//
//     program    the name of the program that writes it
//     unit       of losses, such as "nats per character"
//     runs       a list of runs: name, checkpoint, step, validation_loss, scored (what that loss
//                is of, if it is known), flags, tensors {name, shape}, loss {batches, validation},
//                and as far as the program has them sample {prompt, text, settings}, attention,
//                distances and context. A part that cannot be shown has the reason in its place:
//                {"nothing": "…"}.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_map.h"
#include "flags.h"
#include "loss_curve.h"
#include "nn/models/run_file.h"
#include "nn/module.h"

namespace common {

/// The flags of the command `report` that all programs have.
struct ReportFlags {
  std::vector<std::string> runs;
  std::string checkpoint = "best";
  std::string out = "report.html";
};

/// Adds the command, and its argument RUN and --checkpoint. `shows` says what the page has of a
/// run.
CLI::App& add_report_command(CLI::App& program, const std::string& shows, ReportFlags& flags);
/// Adds --out, which comes after the flags of the program's own.
void add_report_place(CLI::App& app, ReportFlags& flags);

/// The book's modules, and its style sheet, which are built into the program.
extern const std::string_view report_script, report_style;

/// Writes the report of `runs` runs to a file. `report_of` makes that of the n-th. Throws when the
/// page would have 3 MB or more.
void write_report(const std::string& file, const std::string& program, const std::string& unit,
                  size_t runs, const std::function<nlohmann::ordered_json(size_t n)>& report_of);

/// A run of a report, as its checkpoint has it.
struct RunInReport {
  std::string name, checkpoint;  ///< the checkpoint is a file
  std::vector<std::pair<std::string, shiftgrad::Dims>> tensors;
  const shiftgrad::RunState& state;
  std::string flags;  ///< in JSON
};

/// Returns the names and shapes of a model's parameters.
std::vector<std::pair<std::string, shiftgrad::Dims>> shapes_of(const shiftgrad::Module& model);

/// Returns what all runs of a report have, but for the loss curve.
nlohmann::ordered_json report_of_run(const RunInReport& run);

/// Returns the loss curve of a run's folder, of at most some hundred points. Throws as
/// read_loss_curve does.
nlohmann::ordered_json loss_part(const std::string& run);

/// Returns a part of a report, or the reason why it cannot be made.
nlohmann::ordered_json part(const std::function<nlohmann::ordered_json()>& make);

/// Returns what some queries attend to among some keys, as run_report.js draws it. Weights are in
/// thousandths.
nlohmann::ordered_json attention_part(const std::string& title,
                                      const std::vector<std::string>& queries,
                                      const std::vector<std::string>& keys,
                                      const std::vector<std::vector<AttentionMap>>& layers);

/// Returns the largest number of tokens, at most 48, for which the attention of `maps` heads, in
/// all runs together, leaves room for the rest of a report.
int64_t tokens_to_show(int64_t maps);

}  // namespace common
