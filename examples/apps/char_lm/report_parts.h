#pragma once

// What a report of char_lm has of a run beside what all reports have, and its sections.

#include <cstdint>
#include <string>
#include <vector>

#include "context_curves.h"
#include "distance_tables.h"
#include "examples/apps/runs/report.h"

namespace char_lm {

using apps::Part;

struct Sample {
  std::string prompt, text, settings;
};

/// The tables of distances of each layer, and the longest distance in training.
struct Distances {
  std::vector<std::vector<DistanceTable>> layers;
  int64_t trained;
};

/// The losses after some lengths of what the model reads.
struct ContextPart {
  std::vector<int64_t> lengths;
  ContextCurve curve;
};

/// What this program's reports have of a run.
struct FullReport : apps::RunInReport {
  Part<Sample> sample{};
  Part<Distances> distances{};
  Part<ContextPart> context{};
};

apps::Section sample_section(const std::vector<FullReport>& runs);
apps::Section distance_section(const std::vector<FullReport>& runs);
apps::Section context_section(const std::vector<FullReport>& runs);

}  // namespace char_lm
