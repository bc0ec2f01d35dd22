#pragma once

#include <iostream>
#include <string>

#include "picture.h"
#include "status_line.h"

namespace common {

/// Draws the picture, which is to be the file at `path`, and prints the path.
inline void draw(const Picture& picture, const std::string& path) {
  StatusLine status(stderr);
  status.draw("drawing");
  picture.draw();
  status.erase();
  std::cout << "wrote " << path << std::endl;
}

}  // namespace common
