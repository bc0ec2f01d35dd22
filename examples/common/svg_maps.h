#pragma once

#include <string>
#include <vector>

#include "attention_map.h"

namespace common {

/// The meaning of the rows or the columns of all maps of a picture.
struct MapAxis {
  std::string name;
  std::vector<std::string> symbols;
};

/// Returns a picture with lines of maps side by side, on one scale of colours. The cells are square
/// and have room for a one-character symbol each. Spaces, line ends and other control characters
/// are shown by visible symbols.
std::string picture_of_maps(const std::string& title,
                            const std::vector<std::vector<AttentionMap>>& lines,
                            const MapAxis& rows, const MapAxis& columns);

}  // namespace common
