#pragma once

// Reports of runs: pages for a browser that need nothing else, made of the book's components.
// `page/run_report.js` draws what a report holds:
//
//     program    the name of the program that writes it
//     unit       of losses, such as "nats per character"
//     runs       a list of runs: name, checkpoint, step, validation_loss, flags, tensors {name,
//                shape}, loss {batches, validation}, and as far as the program has them sample
//                {prompt, text, settings}, attention, distances and context. A part that cannot be
//                shown has the reason in its place: {"nothing": "…"}.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "attention_map.h"
#include "loss_curve.h"
#include "shiftgrad/nn/module.h"

namespace common {

/// The book's modules, and its style sheet, which are built into the program.
extern const std::string_view report_script, report_style;

/// Returns the report as a page. Throws when it would have 3 MB or more.
std::string report_page(const nlohmann::ordered_json& report);

/// Returns what all runs of a report have, from the name of the run, its parameters, and the
/// folder or file that was asked for. The loss curve has at most some hundred points.
nlohmann::ordered_json report_of_run(const std::string& name, const std::string& checkpoint,
                                     const shiftgrad::Module& model, const std::string& run);

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
