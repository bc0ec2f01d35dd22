#pragma once

#include <iostream>
#include <string>

#include "picture.h"

namespace char_lm {

/// Draws the picture, whose path this is, and says where it is.
inline void draw(const Picture& picture, const std::string& path) {
  picture.draw();
  std::cout << "drawn in " << path << std::endl;
}

}  // namespace char_lm
