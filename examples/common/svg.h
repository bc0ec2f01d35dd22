#pragma once

// SVG pictures: text that any program draws without help, in the reader's light or dark colours,
// with a title and a description for those who cannot see it.

#include <string>
#include <string_view>

#include "core/errors.h"

namespace common {

/// A place in a picture, in pixels from its top left corner.
struct Place {
  double x = 0, y = 0;
};

/// A rectangle of a picture.
struct Box {
  double left = 0, top = 0, width = 0, height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

/// Returns the text as XML: one line, as printable() makes it.
std::string xml(std::string_view text);

/// The width of a text of this size, as far as one can tell without the font.
double width_of(std::string_view text, double size = 12);

/// Returns the class of line `number`: one of eight colours that can be told apart on white and on
/// black, also by those who do not see red and green. From 8 on the lines are dashed.
std::string colour_class(size_t number);

class Svg {
 public:
  /// Adds an element, or several, as they are.
  template <class... Parts>
  void add(const Parts&... parts) {
    content_ += shiftgrad::text(parts..., '\n');
  }
  /// Adds words from a place on. `attributes` may anchor, turn or colour them.
  void words(const Place& place, std::string_view text, std::string_view attributes = "");
  /// Adds a straight line. The class is `grid`, `axis` or `mark`.
  void line(const Place& from, const Place& to, std::string_view kind);

  /// Returns the whole picture. The title is above what was added, which begins below `title_room`.
  std::string str(double width, double height, const std::string& title,
                  const std::string& description) const;
  static constexpr double title_room = 36;

 private:
  std::string content_;
};

/// Throws a line unless the picture for --out can be a file with this path.
void check_picture_path(const std::string& path);

/// Writes the picture whole, in the place of an older one, and prints its path.
void write_picture(const std::string& path, const std::string& svg);

}  // namespace common
