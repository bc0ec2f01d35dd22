#pragma once

// Heat maps: matrices as colours, with a bar that says what these mean.

#include <cstdint>
#include <string>
#include <vector>

#include "attention_map.h"
#include "color_scale.h"
#include "svg.h"

namespace apps {

/// The meaning of the rows or the columns of a map. Without symbols they have no names.
struct MapAxis {
  std::string name;
  std::vector<std::string> symbols;
};

struct HeatMap {
  std::string title;
  MapAxis rows, columns;
  /// Rows of values; those that are not finite are hidden.
  std::vector<double> values;
  int64_t column_count = 0;
  /// The value of full colour.
  double limit = 1;
  /// The number of columns that a line divides from the rest.
  int64_t memory = 0;
  /// Whether the colours are those of signed values even where nothing is negative.
  bool is_signed = false;
  /// Whether a bar below tells what the colours mean.
  bool has_bar = true;
  /// The name of its cells in a page that shows them twice.
  std::string id{};
};

/// Returns what some queries attend to among some keys.
HeatMap heat_map(const AttentionMap& map, const MapAxis& queries, const MapAxis& keys);

/// The size of a cell with which a map is at most that wide.
double cell_within(const HeatMap& map, double width);

/// Draws a map whose cells are squares. Small values are many and matter together, so the colour
/// grows with the root of a value. Hidden cells are blank, with a thin stroke through them.
/// <metadata> has the values in thousandths of the limit, and the names, so that a page reads them
/// there.
Drawing drawn(const HeatMap& map, double cell);

/// Returns a small picture of the cells of a map that was drawn with cells of this size, in a page
/// that has it under its id.
std::string cells_again(const HeatMap& map, double cell);

/// Draws what hidden cells look like, with its name beside it, at a place.
void add_hidden_swatch(Svg& svg, double x, double y);

/// Returns symbols as one can see them: blanks by symbols, bytes that are no text by their numbers.
std::vector<std::string> visible_symbols(const std::vector<std::string>& symbols);

/// Returns the strength of a value's colour, 0 to 1.
double strength(double value, double limit);

}  // namespace apps
