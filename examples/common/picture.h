#pragma once

#include <string>
#include <string_view>

#include "shiftgrad/core/errors.h"

namespace common {

/// A rectangle in pixels, from the top left corner of a picture.
struct Box {
  int left = 0, top = 0, width = 0, height = 0;
};

/// An SVG file for gnuplot to draw.
class Picture {
 public:
  /// Starts a picture. Throws one line when gnuplot is missing, and when --out cannot be a file.
  Picture(const std::string& path, int width, int height);

  /// Adds a line to gnuplot's script.
  template <class... Parts>
  void add(const Parts&... parts) {
    script_ += shiftgrad::text(parts..., '\n');
  }

  /// Puts the axes of all later plots around this box.
  void place(const Box& box);

  /// Makes the axis y or y2 show everything between the two values, and a little more.
  void range(const char* axis, double low, double high);

  /// Writes the whole picture, and replaces an older one. Throws when gnuplot fails.
  void draw() const;

 private:
  std::string path_, script_;
  int width_, height_;
};

/// Returns any text as a gnuplot string constant: one line, as printable() makes it.
std::string gnuplot_string(std::string_view text);

/// Returns one of eight colours that colour-blind people can tell apart too (Okabe and Ito 2008),
/// in the form that gnuplot expects. Numbers start at 0; `transparency` is in percent.
std::string colour(size_t number, int transparency = 0);

}  // namespace common
