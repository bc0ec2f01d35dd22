#include "picture.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>

#include "gnuplot.h"
#include "printable.h"
#include "shiftgrad/core/io/atomic_file.h"

namespace common {

using shiftgrad::require;

namespace {

void check_place(const std::string& path) {
  std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  require(!path.empty() && !std::filesystem::is_directory(path), "--out ", path,
          ": expected the name of a file");
  require(std::filesystem::is_directory(folder), "--out ", path, ": there is no folder ",
          folder.string());
  require(::access(folder.c_str(), W_OK) == 0, "--out ", path, ": ", std::strerror(errno));
}

}  // namespace

Picture::Picture(const std::string& path, int width, int height)
    : path_(path), width_(width), height_(height) {
  check_place(path);
  require(has_gnuplot(), "gnuplot: not installed, but needed to draw ", path);
}

void Picture::place(const Box& box) {
  auto share = [](int pixels, int all) { return static_cast<double>(pixels) / all; };
  add("set lmargin at screen ", share(box.left, width_));
  add("set rmargin at screen ", share(box.left + box.width, width_));
  add("set tmargin at screen ", 1 - share(box.top, height_));
  add("set bmargin at screen ", 1 - share(box.top + box.height, height_));
}

void Picture::range(const char* axis, double low, double high) {
  if (!(low <= high)) low = high = 0;
  double room = high > low ? (high - low) / 20 : high != 0 ? std::abs(high) / 20 : 1;
  add("set ", axis, "range [", low - room, ':', high + room, ']');
}

// A file name can be a command to gnuplot, so it never gets one.
void Picture::draw() const {
  std::string svg = gnuplot(shiftgrad::text(
      "set terminal svg size ", width_, ",", height_,
      " font 'DejaVu Sans,Arial,sans-serif,12' background 'white' noenhanced\nset encoding utf8\n",
      script_, "unset output\n"));
  require(svg.find("</svg>") != std::string::npos, path_, ": gnuplot did not draw a whole picture");
  std::span<const std::byte> bytes = std::as_bytes(std::span(svg));
  shiftgrad::write_file_atomically(path_, std::span(&bytes, 1));
}

std::string gnuplot_string(std::string_view text) {
  std::string result = "\"";
  for (char character : printable(text)) {
    bool special = std::strchr("\"\\`", character);
    char octal[8];
    std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned char>(character));
    result += special ? octal : std::string(1, character);
  }
  return result + '"';
}

std::string colour(size_t number, int transparency) {
  constexpr const char* colours[] = {"0072B2", "D55E00", "009E73", "CC79A7",
                                     "E69F00", "56B4E9", "000000", "8C6D31"};
  char alpha[8];
  std::snprintf(alpha, sizeof alpha, "%02X", transparency * 255 / 100);
  return shiftgrad::text("rgb '#", alpha, colours[number % std::size(colours)], "'");
}

}  // namespace common
