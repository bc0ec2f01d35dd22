#pragma once

#include <string>
#include <string_view>

#include "shiftgrad/core/errors.h"

namespace char_lm {

/// In pixels, from the top left corner of a picture.
struct Box {
  int left = 0, top = 0, width = 0, height = 0;
};

/// An SVG file that gnuplot shall draw.
class Picture {
 public:
  /// Throws one line where gnuplot is missing, and where --out is no place for a file.
  Picture(const std::string& path, int width, int height);

  /// A line of gnuplot's script.
  template <class... Parts>
  void add(const Parts&... parts) {
    script_ += shiftgrad::text(parts..., '\n');
  }

  /// What is plotted from now on has its axes around this.
  void place(const Box& box);

  /// The axis y or y2 shows all between the two, and a little more.
  void range(const char* axis, double low, double high);

  /// Puts the whole picture where there was none, or an older one. Throws when gnuplot fails.
  void draw() const;

 private:
  std::string path_, script_;
  int width_, height_;
};

/// The text as a constant of gnuplot's, whatever is in it: one line, as printable() has it.
std::string gnuplot_string(std::string_view text);

/// One of eight colours that the colour-blind can tell apart too (Okabe and Ito 2008), from 0 on,
/// as 'rgb' wants it; `transparency` in percent.
std::string colour(size_t number, int transparency = 0);

}  // namespace char_lm
