#pragma once

// What the pictures of runs show, as JSON: --json prints it, and a report holds it.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "attention_maps.h"
#include "context_curves.h"
#include "distance_tables.h"
#include "examples/apps/runs/run_course.h"
#include "run_folder.h"

namespace char_lm {

/// {"runs": [{"name", "batches": {"steps", "losses"}, "validation": {"steps", "losses"}}]}, in
/// nats.
nlohmann::json loss_figure(const std::vector<std::string>& names,
                           const std::vector<apps::RunCourse>& curves);

/// {"characters": […], "layers": [[{"title", "weights": rows of queries}]]}.
nlohmann::json attention_figure(const std::vector<std::string>& characters,
                                const std::vector<std::vector<AttentionMap>>& layers);

/// {"trained": the longest distance in training, "layers": [[{"title", "first": a distance,
/// "heads": values from there on}]]}.
nlohmann::json distance_figure(const std::vector<std::vector<DistanceTable>>& layers,
                               int64_t trained);

/// {"lengths": […], "runs": [{"name", "trained": its block, "characters": how many were scored,
/// "bits", "errors": their standard errors}]}. A run's bits end with the lengths that it can read.
nlohmann::json context_figure(const std::vector<int64_t>& lengths,
                              const std::vector<ContextCurve>& curves);

/// Returns the characters of tokens, one by one.
std::vector<std::string> characters_of(const std::vector<int32_t>& tokens,
                                       const Vocabulary& vocabulary);

/// Returns the number of distances that a run met in training. Throws when they are too many to
/// draw.
int64_t trained_distances(const SavedRun& run);

}  // namespace char_lm
