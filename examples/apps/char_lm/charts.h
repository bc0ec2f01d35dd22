#pragma once

// The charts of runs that commands write as pictures and reports have in a page.

#include <cstdint>
#include <string>
#include <vector>

#include "context_curves.h"
#include "distance_tables.h"
#include "examples/apps/draw/chart.h"

namespace char_lm {

/// Returns a chart with a line for each head, of at most some hundred points, and a mark at the
/// longest distance in training.
apps::Chart distance_chart(const std::string& title, const DistanceTable& table, int64_t trained);

/// Returns a chart of the losses for some lengths, on bands of a standard error, with a mark at
/// each length of a block in training.
apps::Chart context_chart(const std::vector<ContextCurve>& curves,
                          const std::vector<int64_t>& lengths, const std::string& x_title);

/// Returns how many characters its losses are means over, in words.
std::string scored_characters(const std::vector<ContextCurve>& curves);

}  // namespace char_lm
