#include "svg.h"

#include <algorithm>
#include <cmath>

#include "printable.h"

namespace apps {

using shiftgrad::text;

namespace {

std::string as_xml(std::string_view text) {
  std::string result;
  for (char character : text) switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += character;
    }
  return result;
}

}  // namespace

std::string xml(std::string_view text) { return as_xml(printable(text)); }
std::string xml_lines(std::string_view text) { return as_xml(printable_lines(text)); }

std::string attribute(std::string_view name, std::string_view value) {
  std::string quoted;
  for (char character : xml(value))
    quoted += character == '"' ? "&quot;" : std::string(1, character);
  return text(' ', name, "=\"", quoted, '"');
}

std::string percent(double share) { return text(std::round(share * 1e4) / 100 + 0.0, '%'); }

double width_of(std::string_view text, double size) {
  auto begins = [](char byte) { return (byte & 0xC0) != 0x80; };
  return 0.62 * size * static_cast<double>(std::ranges::count_if(text, begins));
}

std::string colour_class(size_t number) {
  return text('c', number % 8, number >= 8 ? " dashed" : "");
}

void Svg::words(std::string_view attributes, std::string_view text) {
  add("<text ", attributes, ">", xml(text), "</text>");
}

std::string element(const Drawing& drawing, const std::string& style) {
  bool map = drawing.kind == Drawing::Kind::map;
  return text("<svg class=\"drawn ", map ? "map" : "chart", "\" width=\"", drawing.width,
              "\" height=\"", drawing.height, '"',
              map ? text(" viewBox=\"0 0 ", drawing.width, ' ', drawing.height, '"') : "",
              style.empty() ? "" : attribute("style", style), drawing.attributes, ">\n",
              drawing.content, "</svg>\n");
}

std::string in_page(const Drawing& drawing) {
  bool map = drawing.kind == Drawing::Kind::map;
  std::string style = map ? text("--natural:", drawing.width, "px")
                          : text("padding:0 ", drawing.right, "px 0 ", drawing.left, "px");
  return text("<drawn-figure><div class=\"title\">", xml(drawing.title),
              "</div><div tabindex=\"0\" role=\"application\" aria-roledescription=\"",
              map ? "heat map" : "line chart", '"',
              attribute("aria-label", text(drawing.title, drawing.title.empty() ? "" : ". ",
                                           drawing.label, " The arrow keys read values",
                                           map ? "." : ", + and - zoom, 0 shows all of it.")),
              ">\n", element(drawing, style), "</div><output>", drawing.legend,
              "</output></drawn-figure>\n");
}

}  // namespace apps
