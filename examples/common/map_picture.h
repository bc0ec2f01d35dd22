#pragma once

#include <string>
#include <vector>

#include "picture.h"

namespace common {

/// The meaning of the rows or the columns of all maps of a picture.
struct MapAxis {
  std::string name;
  std::vector<std::string> symbols;
};

/// A map of how much each row's symbol attends to each column's, from 0 to 1.
struct MapPanel {
  std::string title;
  std::vector<double> weights;  // [rows, columns]
};

/// Returns a picture with lines of maps side by side, on one colour scale. The cells are square and
/// have room for a one-character symbol each. Spaces, line ends and other control characters are
/// shown by visible symbols.
Picture picture_of_maps(const std::string& path, const std::string& title,
                        const std::vector<std::vector<MapPanel>>& lines, const MapAxis& rows,
                        const MapAxis& columns);

}  // namespace common
