#pragma once

#include <string>
#include <vector>

#include "picture.h"

namespace char_lm {

/// What the rows, or the columns, of all maps of a picture stand for.
struct MapAxis {
  std::string name;
  std::vector<std::string> symbols;
};

/// How much each of the rows' symbols looks at each of the columns', from 0 to 1.
struct MapPanel {
  std::string title;
  std::vector<double> weights;  // [rows, columns]
};

/// Lines of maps side by side, with one scale of colours. The cells are square and leave room for a
/// symbol of a character each; that of a space, an end of a line or another control character is
/// one that can be seen.
Picture picture_of_maps(const std::string& path, const std::string& title,
                        const std::vector<std::vector<MapPanel>>& lines, const MapAxis& rows,
                        const MapAxis& columns);

}  // namespace char_lm
