#pragma once

// Elements of SVG: text that any browser draws without help. Charts and heat maps are drawn with
// them, once for files and for pages. drawn.css has their looks.

#include <string>
#include <string_view>

#include "core/errors.h"

namespace apps {

/// Returns the text as XML: one line, as printable() makes it.
std::string xml(std::string_view text);

/// Returns the same, with its lines and tabs.
std::string xml_lines(std::string_view text);

/// Returns name="value", with a space before it.
std::string attribute(std::string_view name, std::string_view value);

/// Returns a part of a width or of a height, such as "12.5%".
std::string percent(double share);

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
    content += shiftgrad::text(parts..., '\n');
  }
  /// Adds words. The attributes place them.
  void words(std::string_view attributes, std::string_view text);

  std::string content;
};

/// A chart or a heat map, ready to stand in a picture or in a page.
struct Drawing {
  enum class Kind {
    chart,  // of any width: places are in percent, texts keep their size
    map     // scaled as a whole
  };
  Kind kind = Kind::chart;
  double width = 0, height = 0;
  /// The room that texts need beside it.
  double left = 0, right = 0;
  /// The title, which is not drawn: words wrap in a page, and not in a picture.
  std::string title{};
  std::string content;
  /// What a screen reader says of it after the title.
  std::string label;
  /// What the colours mean, as HTML.
  std::string legend{};
  /// More attributes of the element.
  std::string attributes{};
};

/// Returns the drawing as an element, without the room beside it. The style is CSS.
std::string element(const Drawing& drawing, const std::string& style = "");

/// Returns the drawing as an element of a page, <drawn-figure>, in which cursor and arrow keys read
/// values (page/drawn_figure.js).
std::string in_page(const Drawing& drawing);

}  // namespace apps
