#pragma once

// Pictures: files of SVG with drawings in them, in the reader's light or dark colours, with a title
// and a description for those who cannot see them.

#include <string>
#include <vector>

#include "chart.h"
#include "heat_map.h"

namespace apps {

/// Returns a picture with rows of charts, and a legend of their lines and of `notes` beside them.
std::string picture_of_charts(const std::string& title, const std::string& description,
                              const std::vector<std::vector<Chart>>& rows, const ChartSize& size,
                              const std::vector<std::string>& notes = {});

/// Returns a picture with lines of maps side by side, on one scale of colours.
std::string picture_of_maps(const std::string& title,
                            const std::vector<std::vector<AttentionMap>>& lines,
                            const MapAxis& rows, const MapAxis& columns);

/// Throws a line unless the picture for --out can be a file with this path.
void check_picture_path(const std::string& path);

/// Writes the picture whole, in the place of an older one, and prints its path.
void write_picture(const std::string& path, const std::string& svg);

}  // namespace apps
