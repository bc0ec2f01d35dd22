#pragma once

#include <iostream>
#include <string>

#include "picture.h"

namespace char_lm {

/// Draws the picture to the file at `path`, and prints the path.
inline void draw(const Picture& picture, const std::string& path) {
  picture.draw();
  std::cout << "drawn in " << path << std::endl;
}

}  // namespace char_lm
