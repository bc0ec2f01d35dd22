#include "svg.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <span>

#include "core/io/atomic_file.h"
#include "printable.h"

namespace common {

using shiftgrad::require;

namespace {

constexpr const char* style = R"(<style>
svg { color-scheme: light dark; --paper: #fff; --ink: #1b1d20; --faint: #5a5f66; --line: #d5d8dc; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #16181c; --ink: #e2e4e8; --faint: #a3a9b3; --line: #434955; }
}
text { font: 12px system-ui, 'DejaVu Sans', Arial, sans-serif; fill: var(--ink); white-space: pre; }
.title { font-size: 14px; font-weight: 600; }
.faint { fill: var(--faint); }
.paper { fill: var(--paper); }
.grid { stroke: var(--line); }
.axis { stroke: var(--faint); }
.mark { stroke: var(--faint); stroke-dasharray: 4 3; }
.c0 { --c: #2978d6 } .c1 { --c: #d95f02 } .c2 { --c: #12967a } .c3 { --c: #a855c8 }
.c4 { --c: #8a8412 } .c5 { --c: #d63a7a } .c6 { --c: #6b7280 } .c7 { --c: #a5641e }
.curve { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
.pale { stroke-width: 0.8; opacity: 0.4; }
.dashed { stroke-dasharray: 7 3; }
.dot { fill: var(--c); }
.cell { fill: #2978d6; }
.frame { fill: none; stroke: var(--line); }
</style>
)";

/// Rounds to a hundredth of a pixel.
double rounded(double pixels) { return std::round(pixels * 100) / 100; }

}  // namespace

std::string xml(std::string_view text) {
  std::string result;
  for (char character : printable(text)) switch (character) {
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

double width_of(std::string_view text, double size) {
  auto begins = [](char byte) { return (byte & 0xC0) != 0x80; };
  return 0.62 * size * static_cast<double>(std::ranges::count_if(text, begins));
}

std::string colour_class(size_t number) {
  return shiftgrad::text('c', number % 8, number >= 8 ? " dashed" : "");
}

void Svg::words(const Place& place, std::string_view text, std::string_view attributes) {
  add("<text x=\"", rounded(place.x), "\" y=\"", rounded(place.y), "\"",
      attributes.empty() ? "" : " ", attributes, ">", xml(text), "</text>");
}

void Svg::line(const Place& from, const Place& to, std::string_view kind) {
  add("<path class=\"", kind, "\" d=\"M", rounded(from.x), ' ', rounded(from.y), 'L', rounded(to.x),
      ' ', rounded(to.y), "\"/>");
}

std::string Svg::str(double width, double height, const std::string& title,
                     const std::string& description) const {
  Svg heading;
  heading.words({width / 2, 22}, title, "class=\"title\" text-anchor=\"middle\"");
  return shiftgrad::text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height,
      "\" viewBox=\"0 0 ", width, ' ', height,
      "\" role=\"img\" aria-labelledby=\"title description\">\n<title id=\"title\">", xml(title),
      "</title>\n<desc id=\"description\">", xml(description), "</desc>\n", style,
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", heading.content_, content_,
      "</svg>\n");
}

void check_picture_path(const std::string& path) {
  std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  require(!path.empty() && !std::filesystem::is_directory(path), "--out ", path,
          ": expected the name of a file");
  require(std::filesystem::is_directory(folder), "--out ", path, ": there is no folder ",
          folder.string());
  require(::access(folder.c_str(), W_OK) == 0, "--out ", path, ": ", std::strerror(errno));
}

void write_picture(const std::string& path, const std::string& svg) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(svg));
  shiftgrad::write_file_atomically(path, std::span(&bytes, 1));
  std::cout << "wrote " << path << std::endl;
}

}  // namespace common
